#pragma once
// The naive model that datatypes are compared with: the type map of the standard, written out, one entry per basic element.

#include "layout/datatype.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace model {

using towline::layout::kind;
using i64 = std::int64_t;

struct entry {
    i64 displacement;
    kind unit;
};

struct type {
    std::vector<entry> map;
    std::vector<i64> lb_marks, ub_marks;
    std::vector<i64> rounded_ends{};  ///< of inner types without marks

    [[nodiscard]] i64 size() const
    {
        i64 sum = 0;
        for (entry const& e : map)
            sum += info(e.unit).size;
        return sum;
    }
    [[nodiscard]] i64 true_lb() const
    {
        i64 from = map.empty() ? 0 : INT64_MAX;
        for (entry const& e : map)
            from = std::min(from, e.displacement);
        return from;
    }
    [[nodiscard]] i64 true_ub() const
    {
        i64 to = map.empty() ? 0 : INT64_MIN;
        for (entry const& e : map)
            to = std::max(to, e.displacement + info(e.unit).size);
        return to;
    }
    [[nodiscard]] i64 lb() const { return lb_marks.empty() ? true_lb() : *std::min_element(lb_marks.begin(), lb_marks.end()); }
    [[nodiscard]] i64 ub() const
    {
        if (!ub_marks.empty())
            return *std::max_element(ub_marks.begin(), ub_marks.end());
        i64 alignment = 1;
        for (entry const& e : map)
            alignment = std::max<i64>(alignment, info(e.unit).alignment);
        i64 extent = true_ub() - true_lb();
        for (i64 const end : rounded_ends)
            extent = std::max(extent, end - true_lb());
        while (extent % alignment != 0)
            ++extent;
        return true_lb() + extent;
    }
    [[nodiscard]] i64 extent() const { return ub() - lb(); }

    void put(type const& other, i64 displacement)
    {
        for (entry const& e : other.map)
            map.push_back({e.displacement + displacement, e.unit});
        if (other.ub_marks.empty() && !other.map.empty())
            rounded_ends.push_back(other.ub() + displacement);
        for (i64 const m : other.lb_marks)
            lb_marks.push_back(m + displacement);
        for (i64 const m : other.ub_marks)
            ub_marks.push_back(m + displacement);
    }
    /// Packs `count` elements byte by byte.
    [[nodiscard]] std::vector<std::byte> pack(std::byte const* buffer, i64 count) const
    {
        std::vector<std::byte> out;
        for (i64 i = 0; i < count; ++i)
            for (entry const& e : map)
                for (i64 b = 0; b < info(e.unit).size; ++b)
                    out.push_back(buffer[i * extent() + e.displacement + b]);
        return out;
    }
    void unpack(std::byte* buffer, i64 count, std::byte const* from) const
    {
        for (i64 i = 0; i < count; ++i)
            for (entry const& e : map)
                for (i64 b = 0; b < info(e.unit).size; ++b)
                    buffer[i * extent() + e.displacement + b] = *from++;
    }
};

inline type of(kind k)
{
    auto const& i = info(k);
    if (i.form != towline::layout::number::pair)
        return {{{0, k}}, {}, {}};
    auto const halves = towline::layout::pair_parts(k);
    return {{{0, halves.value}, {halves.index_offset, halves.index}}, {}, {}};
}

inline type hindexed(std::span<i64 const> lengths, std::span<i64 const> displacements, type const& old)
{
    type made;
    for (std::size_t i = 0; i < lengths.size(); ++i)
        for (i64 k = 0; k < lengths[i]; ++k)
            made.put(old, displacements[i] + k * old.extent());
    return made;
}

inline type hvector(i64 count, i64 blocklength, i64 stride, type const& old)
{
    std::vector<i64> lengths(static_cast<std::size_t>(count), blocklength), displacements;
    for (i64 i = 0; i < count; ++i)
        displacements.push_back(i * stride);
    return hindexed(lengths, displacements, old);
}

inline type structure(std::span<i64 const> lengths, std::span<i64 const> displacements, std::span<type const> types)
{
    type made;
    for (std::size_t i = 0; i < lengths.size(); ++i)
        for (i64 k = 0; k < lengths[i]; ++k)
            made.put(types[i], displacements[i] + k * types[i].extent());
    return made;
}

inline type resized(type old, i64 lb, i64 extent)
{
    old.lb_marks = {lb};
    old.ub_marks = {lb + extent};
    return old;
}

/// Elements of an array, chosen by a predicate on their indices, in the order of memory.
template <class Chosen>
type of_array(std::vector<i64> const& sizes, bool c_order, type const& old, Chosen chosen)
{
    type made;
    i64 all = 1;
    for (i64 const s : sizes)
        all *= s;
    for (i64 n = 0; n < all; ++n) {
        std::vector<i64> at(sizes.size());
        i64 rest = n;
        for (std::size_t k = 0; k < sizes.size(); ++k) {
            std::size_t const d = c_order ? sizes.size() - 1 - k : k;
            at[d] = rest % sizes[d];
            rest /= sizes[d];
        }
        if (chosen(at))
            made.put(old, n * old.extent());
    }
    made.lb_marks = {0};
    made.ub_marks = {all * old.extent()};
    return made;
}

} // namespace model
