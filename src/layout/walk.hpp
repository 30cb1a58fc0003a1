#pragma once
// Walks a tree in the order of the stream and tells a sink what lies where. Places are addresses as integers: buffers may be null with
// absolute displacements (MPI_BOTTOM), and arithmetic on them wraps as the processor's does.
//
// A sink has
//   block(at, bytes, unit)                          bytes in a row
//   strided(at, stride, n, bytes, unit)             n such blocks
//   listed(at, displacements, n, bytes, unit)       the same at displacements
// and, if it likes,
//   nested(at, outer, m, stride, n, bytes, unit)    m times strided(), `outer` bytes apart
//   records(at, places, n, pieces)                  n times the few blocks of a node of pieces
// A part of the stream is found by arithmetic and binary search, so beginning anywhere costs O(depth).

#include "layout/node.hpp"
#include "layout/rows.hpp"

#include <algorithm>
#include <cstdint>

namespace towline::layout {

using place_t = std::uintptr_t;

[[nodiscard]] inline place_t moved(place_t at, std::int64_t by) noexcept
{
    return at + static_cast<place_t>(by);
}
/// The i-th of places `stride` bytes apart.
[[nodiscard]] inline place_t moved(place_t at, std::int64_t i, std::int64_t stride) noexcept
{
    return at + static_cast<place_t>(i) * static_cast<place_t>(stride);
}

template <class Sink>
void walk_all(node const& n, place_t at, Sink& sink);

/// A few blocks: a struct with holes.
[[nodiscard]] inline bool is_record(node const& n) noexcept
{
    constexpr std::int64_t few = 16;
    return n.what == form::pieces && n.count <= few;
}

/// `count` times a node, `stride` bytes apart.
template <class Sink>
void walk_row(node const& child, place_t at, std::int64_t stride, std::int64_t count, Sink& sink)
{
    if (child.what == form::block) {
        sink.strided(at, stride, count, child.size, child.unit);
        return;
    }
    if constexpr (requires { sink.nested(at, stride, count, stride, count, stride, kind::byte); })
        if (child.what == form::loop && child.child->what == form::block) {
            sink.nested(at, stride, count, child.stride, child.count, child.child->size, child.child->unit);
            return;
        }
    if constexpr (requires { sink.records(at, places{}, count, child); })
        if (is_record(child)) {
            sink.records(at, {nullptr, stride}, count, child);
            return;
        }
    for (; count > 0; --count, at = moved(at, stride))
        walk_all(child, at, sink);
}

/// A node at each of `count` displacements.
template <class Sink>
void walk_list(node const& child, place_t at, std::int64_t const* displacements, std::int64_t count, Sink& sink)
{
    if (child.what == form::block) {
        sink.listed(at, displacements, count, child.size, child.unit);
        return;
    }
    if constexpr (requires { sink.records(at, places{}, count, child); })
        if (is_record(child)) {
            sink.records(at, {displacements, 0}, count, child);
            return;
        }
    for (; count > 0; --count, ++displacements)
        walk_all(child, moved(at, *displacements), sink);
}

/// All of a node.
template <class Sink>
void walk_all(node const& n, place_t at, Sink& sink)
{
    switch (n.what) {
    case form::block: sink.block(at, n.size, n.unit); break;
    case form::loop: walk_row(*n.child, at, n.stride, n.count, sink); break;
    case form::list: walk_list(*n.child, at, n.displacements.data(), n.count, sink); break;
    case form::pieces: {
        std::int64_t const* const starts = n.starts.data();
        std::int64_t const* const displacements = n.displacements.data();
        for (std::int64_t i = 0; i < n.count; ++i)
            sink.block(moved(at, displacements[i]), starts[i + 1] - starts[i], n.unit);
        break;
    }
    case form::sequence:
        for (std::size_t i = 0; i < n.children.size(); ++i)
            walk_all(*n.children[i], moved(at, n.displacements[i]), sink);
        break;
    }
}

template <class Sink>
void walk_part(node const& n, place_t at, std::int64_t first, std::int64_t last, Sink& sink);

/// The bytes [first, last) of copies of `child`, the i-th at where(i); whole ones in the middle go to whole(i, how many).
template <class Where, class Whole, class Sink>
void walk_copies(node const& child, std::int64_t first, std::int64_t last, Where where, Whole whole, Sink& sink)
{
    std::int64_t i = 0;
    if (first != 0) {
        i = first / child.size;
        std::int64_t const begin = i * child.size;
        if (first != begin) {
            walk_part(child, where(i), first - begin, std::min(child.size, last - begin), sink);
            if (last - begin <= child.size)
                return;
            ++i;
        }
    }
    std::int64_t const end = last / child.size;
    if (end > i)
        whole(i, end - i);
    if (std::int64_t const rest = last - end * child.size; rest != 0)
        walk_part(child, where(end), 0, rest, sink);
}

/// The bytes [first, last) of any number of copies, `stride` bytes apart.
template <class Sink>
void walk_loop(node const& child, std::int64_t stride, place_t at, std::int64_t first, std::int64_t last, Sink& sink)
{
    walk_copies(
        child, first, last, [&](std::int64_t i) { return moved(at, i, stride); },
        [&](std::int64_t i, std::int64_t n) { walk_row(child, moved(at, i, stride), stride, n, sink); }, sink);
}

/// The bytes [first, last) of a node; 0 <= first < last <= size.
template <class Sink>
void walk_part(node const& n, place_t at, std::int64_t first, std::int64_t last, Sink& sink)
{
    if (last - first == n.size) {
        walk_all(n, at, sink);
        return;
    }
    switch (n.what) {
    case form::block: sink.block(moved(at, first), last - first, n.unit); break;
    case form::loop: walk_loop(*n.child, n.stride, at, first, last, sink); break;
    case form::list: {
        node const& child = *n.child;
        std::int64_t const* const displacements = n.displacements.data();
        walk_copies(
            child, first, last, [&](std::int64_t i) { return moved(at, displacements[i]); },
            [&](std::int64_t i, std::int64_t many) { walk_list(child, at, displacements + i, many, sink); }, sink);
        break;
    }
    case form::pieces:
    case form::sequence: {
        auto const& starts = n.starts;
        auto i = static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), first) - starts.begin() - 1);
        for (; first < last; first = starts[++i]) {
            std::int64_t const from = first - starts[i], to = std::min(last, starts[i + 1]) - starts[i];
            place_t const here = moved(at, n.displacements[i]);
            if (n.what == form::pieces)
                sink.block(moved(here, from), to - from, n.unit);
            else
                walk_part(*n.children[i], here, from, to, sink);
        }
        break;
    }
    }
}

} // namespace towline::layout
