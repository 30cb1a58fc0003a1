// Making copy plans.

#include "layout/copy_steps.hpp"
#include "layout/identity.hpp"
#include "layout/walk.hpp"

#include <towline/error.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace towline::layout {
namespace {

constexpr std::int64_t most_pieces = 4096;  ///< of both sides, that become one list

using step = copy_plan::step;

[[nodiscard]] node_pointer row(std::int64_t bytes)
{
    return make_block(kind::byte, bytes).tree;
}

[[nodiscard]] step_pointer loop_of(std::int64_t count, std::int64_t to_stride, std::int64_t from_stride, step_pointer child)
{
    if (count == 1)
        return child;
    auto made = std::make_shared<step>();
    made->what = motion::loop;
    made->size = child->size * count;
    made->count = count;
    made->to_stride = to_stride;
    made->from_stride = from_stride;
    made->child = std::move(child);
    return made;
}

[[nodiscard]] step_pointer by_walking(motion what, node_pointer to, node_pointer from)
{
    auto made = std::make_shared<step>();
    made->what = what;
    made->size = to ? to->size : from->size;
    made->to = std::move(to);
    made->from = std::move(from);
    return made;
}

/// Blocks of a tree, or of a part of it; stops to count at `most`.
[[nodiscard]] std::int64_t blocks_in(node const& n, std::int64_t most) noexcept
{
    std::int64_t all = 0;
    switch (n.what) {
    case form::block: return 1;
    case form::loop:
    case form::list: return __builtin_mul_overflow(blocks_in(*n.child, most), n.count, &all) ? most : std::min(all, most);
    case form::pieces: return std::min(n.count, most);
    case form::sequence:
        for (auto const& child : n.children)
            if ((all += blocks_in(*child, most - all)) >= most)
                break;
        return all;
    }
    return all;
}

/// Rows that a walk finds, about.
[[nodiscard]] std::int64_t rows_in(node const& n, std::int64_t most) noexcept
{
    if ((n.what == form::loop || n.what == form::list) && n.child->what == form::block)
        return 1;
    std::int64_t all = 0;
    if (n.what == form::loop || n.what == form::list)
        return __builtin_mul_overflow(rows_in(*n.child, most), n.count, &all) ? most : std::min(all, most);
    if (n.what == form::sequence) {
        for (auto const& child : n.children)
            if ((all += rows_in(*child, most - all)) >= most)
                break;
        return all;
    }
    return blocks_in(n, most);
}

/// Writes blocks down.
struct collector {
    std::vector<std::int64_t> at, ends;

    void block(place_t where, std::int64_t bytes, kind)
    {
        at.push_back(static_cast<std::int64_t>(where));
        ends.push_back((ends.empty() ? 0 : ends.back()) + bytes);
    }
    void strided(place_t where, std::int64_t stride, std::int64_t n, std::int64_t bytes, kind unit)
    {
        for (std::int64_t i = 0; i < n; ++i)
            block(moved(where, i, stride), bytes, unit);
    }
    void listed(place_t where, std::int64_t const* displacements, std::int64_t n, std::int64_t bytes, kind unit)
    {
        for (std::int64_t i = 0; i < n; ++i)
            block(moved(where, displacements[i]), bytes, unit);
    }
};

[[nodiscard]] step_pointer pieces_of(node const& to, node const& from)
{
    collector t, f;
    walk_all(to, 0, t);
    walk_all(from, 0, f);
    auto made = std::make_shared<step>();
    made->what = motion::pieces;
    made->size = to.size;
    std::size_t i = 0, k = 0;
    for (std::int64_t at = 0; at < to.size;) {
        made->starts.push_back(at);
        made->to_at.push_back(t.at[i] + at - (i == 0 ? 0 : t.ends[i - 1]));
        made->from_at.push_back(f.at[k] + at - (k == 0 ? 0 : f.ends[k - 1]));
        at = std::min(t.ends[i], f.ends[k]);
        i += t.ends[i] == at;
        k += f.ends[k] == at;
    }
    made->starts.push_back(to.size);
    made->count = static_cast<std::int64_t>(made->to_at.size());
    return made;
}

[[nodiscard]] step_pointer merged(node_pointer const& to, node_pointer const& from)
{
    if (blocks_in(*to, most_pieces) + blocks_in(*from, most_pieces) <= most_pieces)
        return pieces_of(*to, *from);
    auto made = std::make_shared<step>();
    made->what = motion::merge;
    made->size = to->size;
    constexpr std::int64_t compared = 1 << 20;
    made->to_is_outer = rows_in(*to, compared) <= rows_in(*from, compared);
    made->to = to;
    made->from = from;
    return made;
}

/// A part of a loop: as many copies.
[[nodiscard]] node_pointer copies_of(node const& loop, std::int64_t count)
{
    return repeat({0, loop.child}, count, loop.stride).tree;
}

[[nodiscard]] bool is_list(node const& n) noexcept
{
    return n.what == form::list;
}
[[nodiscard]] bool is_loop(node const& n) noexcept
{
    return n.what == form::loop;
}

} // namespace

step_pointer join(node_pointer const& to, node_pointer const& from)
{
    if (to->what == form::block && from->what == form::block) {
        auto made = std::make_shared<step>();
        made->size = to->size;
        return made;
    }
    if (to->what == form::block)
        return is_loop(*from) ? loop_of(from->count, from->child->size, from->stride, join(row(from->child->size), from->child))
                              : by_walking(motion::pack, nullptr, from);
    if (from->what == form::block)
        return is_loop(*to) ? loop_of(to->count, to->stride, to->child->size, join(to->child, row(to->child->size)))
                            : by_walking(motion::unpack, to, nullptr);
    if (alike(*to, *from))
        return by_walking(motion::mirror, nullptr, from);
    if (is_loop(*to) && is_loop(*from)) {
        std::int64_t const rounds = std::gcd(to->count, from->count);
        if (rounds == 1)
            return merged(to, from);
        std::int64_t const t = to->count / rounds, f = from->count / rounds;
        return loop_of(rounds, to->stride * t, from->stride * f, join(copies_of(*to, t), copies_of(*from, f)));
    }
    if ((is_list(*to) || is_list(*from)) && (is_list(*to) || is_loop(*to)) && (is_list(*from) || is_loop(*from)) &&
        to->count == from->count) {
        auto made = std::make_shared<step>();
        made->what = motion::list;
        made->size = to->size;
        made->count = to->count;
        made->to_stride = to->stride;
        made->from_stride = from->stride;
        made->child = join(to->child, from->child);
        made->to = is_list(*to) ? to : nullptr;
        made->from = is_list(*from) ? from : nullptr;
        return made;
    }
    return merged(to, from);
}

placed first_bytes(placed const& all, std::int64_t bytes)
{
    if (bytes >= all.size())
        return all;
    if (bytes <= 0)
        return {};
    node const& n = *all.tree;
    gatherer part;
    part.forget_units();
    auto const add = [&](std::int64_t at, node_pointer const& child, std::int64_t begin) {
        part.add(all.displacement + at, first_bytes({0, child}, bytes - begin));
    };
    switch (n.what) {
    case form::block: return {all.displacement, make_block(n.unit, bytes).tree};
    case form::loop: {
        std::int64_t const whole = bytes / n.child->size;
        part.add(all.displacement, repeat({0, n.child}, whole, n.stride));
        if (bytes != whole * n.child->size)
            add(whole * n.stride, n.child, whole * n.child->size);
        break;
    }
    case form::list:
        for (std::int64_t i = 0; i * n.child->size < bytes; ++i)
            add(n.displacements[static_cast<std::size_t>(i)], n.child, i * n.child->size);
        break;
    case form::pieces:
    case form::sequence:
        for (std::size_t i = 0; n.starts[i] < bytes; ++i)
            if (n.what == form::pieces)
                part.add_block(all.displacement + n.displacements[i], n.unit, std::min(bytes, n.starts[i + 1]) - n.starts[i]);
            else
                add(n.displacements[i], n.children[i], n.starts[i]);
        break;
    }
    return part.finish();
}

} // namespace towline::layout
