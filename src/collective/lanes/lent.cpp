// Programs over lanes for bytes that are lent.

#include "collective/lanes/lent.hpp"
#include "collective/share.hpp"
#include "collective/thresholds.hpp"

#include <algorithm>

namespace towline::collective::lent {
namespace {

/// Every rank combines its share for `whom`, who lent where the result belongs. Of what this rank gives it alone reads its own share.
void fold_shares(lane_builder& b, combination const& r, int whom, void const* own, void* receive, std::uint64_t bytes)
{
    std::uint64_t const first = share(bytes, r.element, b.rank(), b.size());
    std::uint64_t const size = share(bytes, r.element, b.rank() + 1, b.size()) - first;
    b.lend(own, bytes, receive, receive == nullptr ? 0 : bytes, all_ranks, {first, size});
    b.meet_all();
    b.fold_push(r, whom, static_cast<std::byte const*>(own) + first, first, size, bytes);
    b.finish();
}

void bcast(lane_builder& b, void* data, std::uint64_t bytes, int root)
{
    std::uint64_t const half = b.size() == 2 ? share(bytes, 1, 1, 2) : bytes;  // of two, both move a part
    if (b.rank() == root) {
        b.lend(data, bytes, nullptr, 0, all_ranks, {half, bytes - half});
        if (half != bytes) {
            b.meet(1 - root);
            b.push(1 - root, static_cast<std::byte const*>(data) + half, half, bytes - half);
        }
        return b.finish();
    }
    if (half != bytes)
        b.lend(nullptr, 0, data, bytes);
    b.meet(root);
    b.take(root, data, 0, half, bytes);
    half != bytes ? b.finish({0, half}) : b.finish_with(root);
}

void gather(lane_builder& b, void const* send, void* receive, std::uint64_t bytes, int root)
{
    std::uint64_t const mine = bytes * static_cast<std::uint64_t>(b.rank());
    bool const both_move = b.size() == 2;  // the root what the other has not moved when its own block is in place
    if (b.rank() == root) {
        b.lend(nullptr, 0, receive, bytes * static_cast<std::uint64_t>(b.size()));
        // Nobody else writes the root's block: it goes where it belongs.
        if (send != in_place)
            b.copy(static_cast<std::byte*>(receive) + mine, send, bytes);
        if (!both_move)
            return b.finish_written(bytes, {mine, bytes});
        int const other = 1 - root;
        b.meet(other);
        b.take_shared(other, b.landing() + bytes * static_cast<std::uint64_t>(other), 0, bytes, bytes);
        return b.finish({mine, bytes});
    }
    if (!both_move) {
        b.meet(root);
        b.push(root, send, mine, bytes);
        return b.tell(root, bytes);
    }
    b.lend(send, bytes, nullptr, 0);
    b.meet(root);
    b.push_shared(root, send, mine, bytes);
    b.finish();
}

void scatter(lane_builder& b, void const* send, void* receive, std::uint64_t bytes, int root)
{
    std::uint64_t const all = bytes * static_cast<std::uint64_t>(b.size());
    std::uint64_t const mine = bytes * static_cast<std::uint64_t>(b.rank());
    auto const* const blocks = static_cast<std::byte const*>(send);
    bool const both_move = b.size() == 2;  // as in gather
    if (b.rank() == root) {
        b.lend(send, all, nullptr, 0, all_ranks, {mine, bytes});
        if (receive != in_place)
            b.copy(receive, blocks + mine, bytes);
        if (int const other = 1 - root; both_move) {
            b.meet(other);
            b.push_shared(other, blocks + bytes * static_cast<std::uint64_t>(other), 0, bytes);
        }
        return b.finish();
    }
    if (!both_move) {
        b.meet(root);
        b.take(root, receive, mine, bytes, all);
        return b.finish_with(root);
    }
    b.lend(nullptr, 0, receive, bytes);
    b.meet(root);
    b.take_shared(root, b.landing(), mine, bytes, all);
    b.finish();
}

void allgather(lane_builder& b, void const* send, void* receive, layout_of_blocks const& blocks)
{
    std::uint64_t const mine = blocks.size(b.rank());
    std::byte* const own = blocks.at(receive, b.rank());
    void const* const data = send == in_place ? own : send;
    b.lend(data, mine, nullptr, 0);
    b.copy(own, data, mine);
    for (int i = 1; i < b.size(); ++i) {
        int const r = (b.rank() + i) % b.size();
        b.meet(r);
        b.take(r, blocks.at(receive, r), 0, blocks.size(r), blocks.size(r));
    }
    b.finish();
}

void alltoall(lane_builder& b, void const* send, void* receive, std::uint64_t bytes)
{
    std::uint64_t const all = bytes * static_cast<std::uint64_t>(b.size());
    std::uint64_t const mine = bytes * static_cast<std::uint64_t>(b.rank());
    auto* const to = static_cast<std::byte*>(receive);
    if (send == receive) {
        // What others are to read is overwritten here.
        std::byte* const kept = b.any_room(all);
        b.copy(kept, receive, all);
        b.lend(kept, all, nullptr, 0);
        b.meet_all();  // a rank that retreats is found before anything is overwritten
    } else {
        b.lend(send, all, nullptr, 0, all_ranks, {mine, bytes});
        b.copy(to + mine, static_cast<std::byte const*>(send) + mine, bytes);
    }
    for (int i = 1; i < b.size(); ++i) {
        int const r = (b.rank() + i) % b.size();
        b.meet(r);
        b.take(r, to + bytes * static_cast<std::uint64_t>(r), mine, bytes, all);
    }
    b.finish();
}

/// Combines `count` elements at `first` bytes of what ranks 0 to `last` contribute. In place, the result goes where others still read: then
/// it comes there when nobody does any more.
void fold_here(lane_builder& b, combination const& r, int last, void const* own, void* receive, std::uint64_t first, std::uint64_t count,
               std::uint64_t all)
{
    std::uint64_t const bytes = count * r.element;
    void* const sum = own == receive && bytes != 0 ? b.any_room(bytes) : receive;
    if (bytes != 0)
        b.fold(r, last, static_cast<std::byte const*>(own) + first, sum, first, count, all);
    b.finish();
    if (bytes != 0)
        b.copy(receive, sum, bytes);
}

void scan(lane_builder& b, void const* own, void* receive, std::uint64_t count, combination const& r, bool inclusive)
{
    std::uint64_t const bytes = count * r.element;
    bool const is_read = b.rank() + 1 != b.size();
    b.lend(is_read ? own : nullptr, is_read ? bytes : 0, nullptr, 0);
    for (int i = 0; i < b.rank(); ++i)
        b.meet(i);
    int const last = inclusive ? b.rank() : b.rank() - 1;
    fold_here(b, r, last, own, receive, 0, last >= 0 ? count : 0, bytes);
}

/// What this rank gives has been lent to be read, or where it takes: each moves its part.
void finish_parts(lane_builder& b)
{
    b.mark(2);
    b.stay(1 - b.rank());
}

} // namespace

void perform(lane_builder& b, call const& c, std::uint64_t most)
{
    void const* const own = c.send == in_place ? c.receive : c.send;
    switch (c.what) {
    case routine::bcast: return bcast(b, c.receive, most, c.root);
    case routine::gather: return gather(b, c.send, c.receive, c.bytes, c.root);
    case routine::scatter: return scatter(b, c.send, c.receive, c.bytes, c.root);
    case routine::allgather:
    case routine::allgatherv: return allgather(b, c.send, c.receive, c.receiving);
    case routine::alltoall: return alltoall(b, own, c.receive, c.receiving.size(0));
    case routine::reduce: return fold_shares(b, c.how, c.root, own, b.rank() == c.root ? c.receive : nullptr, most);
    case routine::allreduce: return fold_shares(b, c.how, all_ranks, own, c.receive, most);
    case routine::reduce_scatter: {
        std::uint64_t const first = c.receiving.total(b.rank()) * c.how.element, count = c.receiving.size(b.rank());
        b.lend(own, most, nullptr, 0, all_ranks, {first, count * c.how.element});
        b.meet_all();
        return fold_here(b, c.how, b.size() - 1, own, c.receive, first, count, most);
    }
    case routine::scan: return scan(b, own, c.receive, c.bytes, c.how, true);
    case routine::exscan: return scan(b, own, c.receive, c.bytes, c.how, false);
    default: return;  // has tables, or no bytes
    }
}

bool is_moved_by_both(lane_builder const& b, std::uint64_t bytes) noexcept
{
    return b.size() == 2 && !b.shows(bytes);
}

void give_parts(lane_builder& b, void* own_to, void const* own_from, std::uint64_t mine, void const* from, std::uint64_t bytes)
{
    int const other = 1 - b.rank();
    b.lend(from, bytes, nullptr, 0, other);
    b.copy(own_to, own_from, mine);
    b.meet(other);
    b.push_shared(other, from, 0, bytes);
    finish_parts(b);
}

void take_parts(lane_builder& b, void* own_to, void const* own_from, std::uint64_t mine, void* to, std::uint64_t bytes)
{
    int const other = 1 - b.rank();
    b.lend(nullptr, 0, to, bytes, other);
    b.copy(own_to, own_from, mine);
    b.meet(other);
    b.take_shared(other, b.landing(), 0, bytes, bytes);
    finish_parts(b);
    b.copy(to, b.landing(), bytes, true);
}

void give_block(lane_builder& b, void const* own, std::uint64_t bytes, int root)
{
    if (is_moved_by_both(b, bytes))
        return give_parts(b, nullptr, nullptr, 0, own, bytes);
    b.agree_without_offer();
    b.meet(root);
    b.push_block(root, own, bytes);
    b.tell(root, bytes);
}

} // namespace towline::collective::lent
