// Operations over lanes whose blocks are of any size, which only the two ranks of a block know. Each rank says in its slot what it offers,
// if only that it is nothing, so that whoever expects something finds out; and it does nothing about blocks of no bytes.

#include "collective/block_table.hpp"
#include "collective/operations.hpp"
#include "collective/over_lanes.hpp"

#include <algorithm>

namespace towline::collective::over_lanes {
namespace {

/// A big block of two ranks: the root moves what the other has not moved when its own block is in place.
[[nodiscard]] bool is_moved_by_both(lane_builder const& b, std::uint64_t bytes) noexcept
{
    return b.size() == 2 && !b.shows(bytes);
}

/// When this rank has lent it to be read.
void give_parts(lane_builder& b, void const* from, std::uint64_t bytes)
{
    int const other = 1 - b.rank();
    b.meet(other);
    b.push_shared(other, from, 0, bytes);
    b.mark(2);
    b.stay(other);
}

/// When this rank has lent where it belongs.
void take_parts(lane_builder& b, void* to, std::uint64_t bytes)
{
    int const other = 1 - b.rank();
    b.meet(other);
    b.take_shared(other, b.landing(), 0, bytes, bytes);
    b.mark(2);
    b.stay(other);
    b.copy(to, b.landing(), bytes);
}

} // namespace

bool gatherv(schedule& s, void const* send, std::uint64_t bytes, void* receive, layout_of_blocks const& blocks, int root)
{
    lane_builder b(s, true);
    if (b.rank() != root) {
        if (b.shows(bytes)) {
            b.show(send, bytes, bytes, b.told(root));
            b.agree();
            if (b.is_lent())
                b.stay(root);
        } else if (is_moved_by_both(b, bytes)) {
            b.lend(send, bytes, nullptr, 0, root);
            give_parts(b, send, bytes);
        } else {
            b.agree_without_offer();
            b.meet(root);
            b.push_block(root, send, bytes);
            b.tell(root, bytes);
        }
        return true;
    }
    auto const copy_own = [&] {
        if (send != in_place)
            b.copy(blocks.at(receive, root), send, std::min(bytes, blocks.size(root)));
    };
    if (int const other = 1 - root; b.size() == 2 && !b.shows(blocks.size(other))) {
        b.lend(nullptr, 0, blocks.at(receive, other), blocks.size(other));
        copy_own();
        return take_parts(b, blocks.at(receive, other), blocks.size(other)), true;
    }
    // Big blocks are written by those whose they are, all at once.
    block_table big(s, b, static_cast<std::size_t>(b.size()));
    for (int r = 0; r < b.size(); ++r)
        if (r != root && !b.shows(blocks.size(r)))
            big.want(r, blocks.at(receive, r), blocks.size(r));
    big.offer();
    b.agree();
    copy_own();
    for (int i = 1; i < b.size(); ++i) {
        int const r = (root + i) % b.size();
        if (std::uint64_t const size = blocks.size(r); size != 0 && b.shows(size)) {
            b.meet(r);
            b.take(r, blocks.at(receive, r), 0, size, size);
        }
    }
    big.finish();
    return true;
}

bool scatterv(schedule& s, void const* send, layout_of_blocks const& blocks, void* receive, std::uint64_t bytes, int root)
{
    lane_builder b(s, true);
    if (b.rank() != root) {
        if (bytes == 0) {
            b.tell(b.told(root), 0);
            b.agree();
        } else if (is_moved_by_both(b, bytes)) {
            b.lend(nullptr, 0, receive, bytes, root);
            take_parts(b, receive, bytes);
        } else {
            b.agree_without_offer();
            b.meet(root);
            b.take_block(root, 0, receive, bytes);
        }
        return true;
    }
    auto const copy_own = [&] {
        if (receive != in_place)
            b.copy(receive, blocks.at(send, root), std::min(bytes, blocks.size(root)));
    };
    if (int const other = 1 - root; b.size() == 2 && !b.shows(blocks.size(other))) {
        b.lend(blocks.at(send, other), blocks.size(other), nullptr, 0);
        copy_own();
        return give_parts(b, blocks.at(send, other), blocks.size(other)), true;
    }
    block_table given(s, b, static_cast<std::size_t>(b.size()));
    for (int r = 0; r < b.size(); ++r)
        if (r != root && blocks.size(r) != 0)
            given.give(r, blocks.at(send, r), blocks.size(r));
    given.offer();
    b.agree();
    copy_own();
    given.finish();
    return true;
}

bool alltoallv(schedule& s, void const* send, layout_of_blocks const& sending, void* receive, layout_of_blocks const& receiving)
{
    lane_builder b(s);
    bool const in_its_place = send == in_place;
    layout_of_blocks const& out = in_its_place ? receiving : sending;
    void const* const from = in_its_place ? receive : send;
    int const me = b.rank();
    block_table given(s, b, static_cast<std::size_t>(b.size()));
    for (int r = 0; r < b.size(); ++r)
        if (r != me && out.size(r) != 0)
            given.give(r, out.at(from, r), out.size(r));
    given.offer(!in_its_place);
    b.agree();
    if (!in_its_place)
        b.copy(receiving.at(receive, me), sending.at(send, me), std::min(sending.size(me), receiving.size(me)));
    for (int i = 1; i < b.size(); ++i) {
        int const r = (me + i) % b.size();
        if (receiving.size(r) == 0)
            continue;
        b.meet(r);
        b.take_block(r, 0, receiving.at(receive, r), receiving.size(r));
    }
    given.finish();
    return true;
}

namespace {

/// A block that comes in: the order of those from one rank counts.
struct incoming {
    int from;
    int order;
    int at;  ///< in the list of sources
};

[[nodiscard]] bool comes_before(incoming const& a, incoming const& b) noexcept
{
    return a.from != b.from ? a.from < b.from : a.order < b.order;
}

/// Those from everybody, in the order of ranks.
[[nodiscard]] std::span<incoming> incoming_of(schedule& s, neighbourhood const& n)
{
    auto* const all = reinterpret_cast<incoming*>(s.own_scratch(std::max<std::size_t>(n.sources.size(), 1) * sizeof(incoming)));
    std::size_t count = 0;
    for (std::size_t i = 0; i < n.sources.size(); ++i) {
        int const at = n.receive_order.empty() ? static_cast<int>(i) : n.receive_order[i];
        if (int const from = n.sources[static_cast<std::size_t>(at)]; from >= 0)
            all[count++] = {from, static_cast<int>(i), at};
    }
    std::span<incoming> const found{all, count};
    std::ranges::sort(found, comes_before);
    return found;
}

} // namespace

bool exchange(schedule& s, neighbourhood const& n, void const* send, layout_of_blocks const& sending, void* receive,
              layout_of_blocks const& receiving)
{
    lane_builder b(s);
    int const me = b.rank();
    block_table given(s, b, n.destinations.size());
    for (std::size_t i = 0; i < n.destinations.size(); ++i)
        if (int const at = static_cast<int>(i), to = n.destinations[i]; to >= 0 && to != me)
            given.give(to, sending.at(send, at), sending.size(at));
    given.offer();
    b.agree();
    auto const in = incoming_of(s, n);
    // What this rank sends itself. No table has a block for its owner, so that taking one fails.
    auto const [own, own_end] = std::ranges::equal_range(in, me, {}, &incoming::from);
    auto mine = own;
    bool fits = true;
    for (std::size_t i = 0; i < n.destinations.size() && fits; ++i) {
        int const at = static_cast<int>(i);
        if (n.destinations[i] != me)
            continue;
        fits = mine != own_end && receiving.size(mine->at) == sending.size(at);
        if (fits)
            b.copy(receiving.at(receive, mine++->at), sending.at(send, at), sending.size(at));
    }
    if (!fits || mine != own_end)
        b.take_block(me, 0, nullptr, 0);
    // Each rank begins with another: those behind it, then those before.
    auto const take = [&](auto first, auto last) {
        std::uint64_t nth = 0;
        for (auto i = first; i != last; ++i) {
            nth = i != first && i->from == std::prev(i)->from ? nth + 1 : 0;
            std::uint64_t const size = receiving.size(i->at);
            if (size == 0)
                continue;
            b.meet(i->from);
            b.take_block(i->from, nth, receiving.at(receive, i->at), size);
        }
    };
    take(own_end, in.end());
    take(in.begin(), own);
    given.finish();
    return true;
}

} // namespace towline::collective::over_lanes
