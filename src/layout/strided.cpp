#include "layout/strided.hpp"

#include "layout/copy_blocks.hpp"

#include <algorithm>
#include <cstddef>

namespace towline::layout {
namespace {

std::byte* moved_by(std::byte* p, std::int64_t by) noexcept
{
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(p) + static_cast<std::uintptr_t>(by));
}
std::byte const* moved_by(std::byte const* p, std::int64_t by) noexcept
{
    return moved_by(const_cast<std::byte*>(p), by);
}

std::int64_t distance(std::int64_t step) noexcept
{
    return step < 0 ? -step : step;
}

/// Neighbours along both sides become one dimension. Returns how many are left.
std::size_t merge(std::span<strided_dimension> all) noexcept
{
    std::size_t n = 0;
    for (strided_dimension const& inner : all) {
        if (n > 0) {
            strided_dimension& outer = all[n - 1];
            if (outer.to_step == inner.to_step * inner.extent && outer.from_step == inner.from_step * inner.extent) {
                outer = {outer.extent * inner.extent, inner.to_step, inner.from_step};
                continue;
            }
        }
        all[n++] = inner;
    }
    return n;
}

void copy_loops(std::byte* to, std::byte const* from, std::span<strided_dimension const> all, std::int64_t bytes) noexcept
{
    switch (all.size()) {
    case 0: copy_any(to, from, bytes); return;
    case 1:
        best_rows().of[size_class(bytes)].stepped(to, all[0].to_step, from, all[0].from_step, all[0].extent, bytes);
        return;
    case 2:
        copy_nest(to, from,
                  {all[0].extent, all[1].extent, bytes, all[0].to_step, all[1].to_step, all[0].from_step, all[1].from_step});
        return;
    default:
        for (std::int64_t i = 0; i < all[0].extent; ++i)
            copy_loops(moved_by(to, i * all[0].to_step), moved_by(from, i * all[0].from_step), all.subspan(1), bytes);
    }
}

} // namespace

void copy_strided(void* to, void const* from, std::span<strided_dimension> dimensions, std::int64_t bytes) noexcept
{
    auto* t = static_cast<std::byte*>(to);
    auto const* f = static_cast<std::byte const*>(from);
    std::size_t n = 0;
    for (strided_dimension d : dimensions) {
        if (d.extent == 0)
            return;
        if (d.extent == 1)
            continue;
        if (d.to_step < 0) {  // from its other end, on both sides
            t = moved_by(t, (d.extent - 1) * d.to_step);
            f = moved_by(f, (d.extent - 1) * d.from_step);
            d = {d.extent, -d.to_step, -d.from_step};
        }
        dimensions[n++] = d;
    }
    auto all = dimensions.first(n);
    // Along what is written; arrays in another order than that of their dimensions become rows again, too.
    std::ranges::stable_sort(all, [](strided_dimension const& a, strided_dimension const& b) {
        return a.to_step != b.to_step ? a.to_step > b.to_step : distance(a.from_step) > distance(b.from_step);
    });
    all = all.first(merge(all));
    if (!all.empty() && all.back().to_step == bytes && all.back().from_step == bytes) {
        bytes *= all.back().extent;
        all = all.first(all.size() - 1);
    }
    // Across what is read: the two innermost loops go in tiles then.
    if (all.size() > 2) {
        auto const outer = all.first(all.size() - 1);
        auto const along =
            std::ranges::min_element(outer, {}, [](strided_dimension const& d) { return distance(d.from_step); });
        if (distance(along->from_step) < distance(all.back().from_step))
            std::rotate(along, along + 1, outer.end());
    }
    copy_loops(t, f, all, bytes);
}

} // namespace towline::layout
