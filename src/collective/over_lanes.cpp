#include "collective/over_lanes.hpp"

#include "collective/lane_builder.hpp"

#include <algorithm>

namespace towline::collective::over_lanes {
namespace {

/// Up to so many ranks each combine all of what is before them.
constexpr int most_that_scan = 8;

/// Where the part of a rank begins that does its share of so many elements: whole lines, so that no line is written by two.
[[nodiscard]] std::uint64_t share(std::uint64_t bytes, std::uint64_t element, int rank, int ranks) noexcept
{
    std::uint64_t const grain = element * std::max<std::uint64_t>(64 / element, 1);
    std::uint64_t const grains = (bytes + grain - 1) / grain;
    auto const p = static_cast<std::uint64_t>(ranks);
    auto const i = static_cast<std::uint64_t>(rank);
    return std::min(bytes, (grains / p * i + grains % p * i / p) * grain);
}

} // namespace

bool barrier(schedule& s, bool crowded)
{
    lane_builder b(s);
    if (looks_around(b.size(), crowded)) {
        b.mark(1);
        b.meet_all(1);
    } else if (b.rank() == 0) {
        b.meet_all(1);
        b.mark(2);
    } else {
        b.mark(1, 0);
        b.meet(0, 2);
    }
    return true;
}

bool bcast(schedule& s, void* data, std::uint64_t bytes, int root)
{
    lane_builder b(s, true);
    if (bytes == 0)
        return b.tell_nothing(), true;
    bool const is_root = b.rank() == root;
    if (b.shows(bytes)) {
        if (is_root) {
            b.show(data, bytes, bytes);
            return b.stays(), true;
        }
        b.meet(root);
        b.take(root, data, 0, bytes, bytes);
        return b.has_read(bytes, root), true;
    }
    std::uint64_t const half = b.size() == 2 ? share(bytes, 1, 1, 2) : bytes;  // of two, both move a part
    if (is_root) {
        b.lend(data, bytes, nullptr, 0);
        if (half != bytes) {
            b.meet(1 - root);
            b.push(1 - root, static_cast<std::byte const*>(data) + half, half, bytes - half);
        }
        b.finish();
        return true;
    }
    if (half != bytes)
        b.lend(nullptr, 0, data, bytes);
    b.meet(root);
    b.take(root, half != bytes ? b.landing() : data, 0, half, bytes);
    half != bytes ? b.finish() : b.finish_with(root);
    return true;
}

bool gather(schedule& s, void const* send, void* receive, std::uint64_t bytes, int root)
{
    lane_builder b(s, true);
    if (bytes == 0)
        return b.tell_nothing(), true;
    auto const p = static_cast<std::uint64_t>(b.size());
    bool const is_root = b.rank() == root;
    std::uint64_t const mine = bytes * static_cast<std::uint64_t>(b.rank());
    auto* const all = static_cast<std::byte*>(receive);
    if (b.shows(bytes)) {
        if (!is_root) {
            b.show(send, bytes, bytes, root);
            return b.stays(root), true;
        }
        if (send != in_place)
            b.copy(all + mine, send, bytes);
        for (int i = 1; i < b.size(); ++i) {
            int const r = (root + i) % b.size();
            b.meet(r);
            b.take(r, all + bytes * static_cast<std::uint64_t>(r), 0, bytes, bytes);
        }
        return b.has_read(bytes), true;
    }
    bool const both_move = b.size() == 2;  // the root what the other has not moved when its own block is in place
    if (is_root) {
        b.lend(nullptr, 0, receive, bytes * p);
        b.copy(b.landing() + mine, send == in_place ? all + mine : send, bytes);
        if (int const other = 1 - root; both_move) {
            b.meet(other);
            b.take_shared(other, b.landing() + bytes * static_cast<std::uint64_t>(other), 0, bytes, bytes);
            b.finish();
        } else {
            b.finish_written(bytes);
        }
        return true;
    }
    if (!both_move) {
        b.meet(root);
        b.push(root, send, mine, bytes);
        b.tell(root, bytes);
        return true;
    }
    b.lend(send, bytes, nullptr, 0);
    b.meet(root);
    b.push_shared(root, send, mine, bytes);
    b.finish();
    return true;
}

bool scatter(schedule& s, void const* send, void* receive, std::uint64_t bytes, int root)
{
    lane_builder b(s, true);
    if (bytes == 0)
        return b.tell_nothing(), true;
    auto const p = static_cast<std::uint64_t>(b.size());
    bool const is_root = b.rank() == root;
    std::uint64_t const all = bytes * p;
    std::uint64_t const mine = bytes * static_cast<std::uint64_t>(b.rank());
    auto const* const blocks = static_cast<std::byte const*>(send);
    if (b.shows(all)) {
        if (is_root) {
            b.show(send, all, all);
            if (receive != in_place)
                b.copy(receive, blocks + mine, bytes);
            return b.stays(), true;
        }
        b.meet(root);
        b.take(root, receive, mine, bytes, all);
        return b.has_read(all, root), true;
    }
    bool const both_move = b.size() == 2;  // as in gather
    if (is_root) {
        b.lend(send, all, nullptr, 0);
        if (receive != in_place)
            b.copy(receive, blocks + mine, bytes);
        if (int const other = 1 - root; both_move) {
            b.meet(other);
            b.push_shared(other, blocks + bytes * static_cast<std::uint64_t>(other), 0, bytes);
        }
        b.finish();
        return true;
    }
    if (!both_move) {
        b.meet(root);
        b.take(root, receive, mine, bytes, all);
        return b.finish_with(root), true;
    }
    b.lend(nullptr, 0, receive, bytes);
    b.meet(root);
    b.take_shared(root, b.landing(), mine, bytes, all);
    b.finish();
    return true;
}

bool allgather(schedule& s, void const* send, void* receive, layout_of_blocks const& blocks)
{
    lane_builder b(s);
    std::uint64_t largest = 0;
    for (int r = 0; r < b.size(); ++r)
        largest = std::max(largest, blocks.size(r));
    if (largest == 0)
        return b.tell_nothing(), true;
    std::uint64_t const mine = blocks.size(b.rank());
    std::byte* const own = blocks.at(receive, b.rank());
    void const* const data = send == in_place ? own : send;
    bool const shows = b.shows(largest);
    if (shows)
        b.show(data, mine, largest);
    else
        b.lend(data, mine, nullptr, 0);
    b.copy(own, data, mine);
    for (int i = 1; i < b.size(); ++i) {
        int const r = (b.rank() + i) % b.size();
        b.meet(r);
        b.take(r, blocks.at(receive, r), 0, blocks.size(r), blocks.size(r));
    }
    if (!shows)
        return b.finish(), true;
    b.has_read(largest);
    return b.stays(), true;
}

bool alltoall(schedule& s, void const* send, void* receive, std::uint64_t bytes)
{
    lane_builder b(s);
    if (bytes == 0)
        return b.tell_nothing(), true;
    std::uint64_t const all = bytes * static_cast<std::uint64_t>(b.size());
    std::uint64_t const mine = bytes * static_cast<std::uint64_t>(b.rank());
    auto* const to = static_cast<std::byte*>(receive);
    bool const shows = b.shows(all);
    if (shows) {
        b.show(send == in_place ? receive : send, all, all, all_ranks, send != in_place);
    } else if (send == in_place) {
        // What others are to read is overwritten here.
        std::byte* const kept = s.scratch(all);
        b.copy(kept, receive, all);
        b.lend(kept, all, nullptr, 0);
        b.meet_all();  // a rank that retreats is found before anything is overwritten
    } else {
        b.lend(send, all, nullptr, 0);
    }
    if (send != in_place)
        b.copy(to + mine, static_cast<std::byte const*>(send) + mine, bytes);
    for (int i = 1; i < b.size(); ++i) {
        int const r = (b.rank() + i) % b.size();
        b.meet(r);
        b.take(r, to + bytes * static_cast<std::uint64_t>(r), mine, bytes, all);
    }
    if (!shows)
        return b.finish(), true;
    b.has_read(all);
    return b.stays(), true;
}

bool reduce(schedule& s, void const* send, void* receive, std::uint64_t count, combination const& r, int root)
{
    std::uint64_t const bytes = count * r.element;
    lane_builder b(s, true);
    if (bytes == 0)
        return b.tell_nothing(), true;
    bool const is_root = b.rank() == root;
    void const* const own = send == in_place ? receive : send;
    if (b.shows(bytes)) {
        b.show(own, bytes, bytes, root, own != receive);
        if (!is_root)
            return b.stays(root), true;
        b.meet_all();
        b.fold(r, b.size() - 1, receive, 0, bytes, bytes);
        return b.has_read(bytes), true;
    }
    b.lend(own, bytes, is_root ? receive : nullptr, is_root ? bytes : 0);
    b.meet_all();
    std::uint64_t const first = share(bytes, r.element, b.rank(), b.size());
    b.fold_push(r, root, first, share(bytes, r.element, b.rank() + 1, b.size()) - first, bytes);
    b.finish();
    return true;
}

bool allreduce(schedule& s, void const* send, void* receive, std::uint64_t count, combination const& r, bool crowded)
{
    std::uint64_t const bytes = count * r.element;
    lane_builder b(s);
    if (bytes == 0)
        return b.tell_nothing(), true;
    void const* const own = send == in_place ? receive : send;
    if (b.shows(bytes)) {
        if (looks_around(b.size(), crowded)) {
            b.show(own, bytes, bytes, all_ranks, own != receive);
            b.meet_all();
            b.fold(r, b.size() - 1, receive, 0, bytes, bytes);
            b.has_read(bytes);
            b.stays();
        } else if (b.rank() == 0) {
            b.post(own, bytes, 0);
            b.meet_all();
            b.fold(r, b.size() - 1, receive, 0, bytes, bytes);
            b.post(receive, bytes, all_ranks, 2);
        } else {
            b.post(own, bytes, 0);
            b.meet(0, 2);
            b.take(0, receive, 0, bytes, bytes);
        }
        return true;
    }
    b.lend(own, bytes, receive, bytes);
    b.meet_all();
    std::uint64_t const first = share(bytes, r.element, b.rank(), b.size());
    b.fold_push(r, all_ranks, first, share(bytes, r.element, b.rank() + 1, b.size()) - first, bytes);
    b.finish();
    return true;
}

bool reduce_scatter(schedule& s, void const* send, void* receive, layout_of_blocks const& blocks, std::uint64_t total,
                    combination const& r)
{
    std::uint64_t const bytes = total * r.element;
    lane_builder b(s);
    if (bytes == 0)
        return b.tell_nothing(), true;
    void const* const own = send == in_place ? receive : send;
    std::uint64_t const first = blocks.offset(b.rank()) * r.element;
    std::uint64_t const mine = blocks.size(b.rank()) * r.element;
    if (b.shows(bytes)) {
        b.show(own, bytes, bytes, all_ranks, own != receive);
        b.meet_all();
        if (mine != 0)
            b.fold(r, b.size() - 1, receive, first, mine, bytes);
        b.has_read(bytes);
        return b.stays(), true;
    }
    b.lend(own, bytes, nullptr, 0);
    b.meet_all();
    // In place, the result goes where others still read.
    void* const sum = send == in_place && mine != 0 ? s.scratch(mine) : receive;
    if (mine != 0)
        b.fold(r, b.size() - 1, sum, first, mine, bytes);
    b.finish();
    if (mine != 0)
        b.copy(receive, sum, mine);
    return true;
}

namespace {

/// Over the ranks before this one, and this one where it counts, too.
bool prefix(schedule& s, void const* send, void* receive, std::uint64_t count, combination const& r, bool inclusive)
{
    std::uint64_t const bytes = count * r.element;
    lane_builder b(s, true);
    if (bytes == 0)
        return b.tell_nothing(), true;
    bool const shows = b.shows(bytes);
    if (!shows && b.size() > most_that_scan)
        return false;
    void const* const own = send == in_place ? receive : send;
    bool const is_read = b.rank() + 1 != b.size();  // by others
    if (shows)
        b.show(own, bytes, bytes, all_ranks, own != receive);
    else
        b.lend(is_read || inclusive ? own : nullptr, is_read || inclusive ? bytes : 0, nullptr, 0);
    for (int i = 0; i < b.rank(); ++i)
        b.meet(i);
    int const last = inclusive ? b.rank() : b.rank() - 1;
    // In place, the result goes where others still read.
    void* const sum = !shows && send == in_place && last >= 0 ? s.scratch(bytes) : receive;
    if (last >= 0)
        b.fold(r, last, sum, 0, bytes, bytes);
    if (shows) {
        b.has_read(bytes);
        if (is_read)
            b.stays();
        return true;
    }
    b.finish();
    if (last >= 0)
        b.copy(receive, sum, bytes);
    return true;
}

} // namespace

bool scan(schedule& s, void const* send, void* receive, std::uint64_t count, combination const& r)
{
    return prefix(s, send, receive, count, r, true);
}

bool exscan(schedule& s, void const* send, void* receive, std::uint64_t count, combination const& r)
{
    return prefix(s, send, receive, count, r, false);
}

} // namespace towline::collective::over_lanes
