// Strided views: copies elements between memory and messages.

#include "heap/heap.hpp"
#include "layout/strided.hpp"

#include <towline/detail/strided_api.hpp>
#include <towline/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace towline::detail {
namespace {

[[nodiscard]] std::int64_t bytes_of(std::ptrdiff_t stride, std::size_t size) noexcept
{
    return static_cast<std::int64_t>(stride) * static_cast<std::int64_t>(size);
}

} // namespace

void check_writable(strided_shape const& to)
{
    std::span const extents(to.extents, to.rank);
    if (std::ranges::find(extents, std::size_t{0}) != extents.end())
        return;
    for (std::size_t i = 0; to.strides != nullptr && i < to.rank; ++i)
        if (to.extents[i] > 1 && to.strides[i] == 0)
            throw usage_error(fmt::format("a strided_view whose stride in dimension {} is 0 has {} elements in one place there: it can be "
                                          "read, and not be written to",
                                          i, to.extents[i]));
}

void copy_strided(void* to, std::ptrdiff_t const* to_strides, void const* from, strided_shape const& shape, std::size_t size)
{
    check_writable({shape.rank, shape.extents, to_strides});
    std::array<layout::strided_dimension, most_dimensions> dimensions;
    std::int64_t row = static_cast<std::int64_t>(size);  // bytes of all dimensions behind this one
    for (std::size_t i = shape.rank; i-- > 0;) {
        auto const extent = static_cast<std::int64_t>(shape.extents[i]);
        dimensions[i] = {extent, to_strides != nullptr ? bytes_of(to_strides[i], size) : row,
                         shape.strides != nullptr ? bytes_of(shape.strides[i], size) : row};
        row *= extent;
    }
    layout::copy_strided(to, from, std::span(dimensions).first(shape.rank), static_cast<std::int64_t>(size));
}

void* pack_shared(void const* from, strided_shape const& shape, std::size_t size, std::size_t bytes) noexcept
{
    void* const block = heap::try_allocate(bytes);
    if (block != nullptr)
        copy_strided(block, nullptr, from, shape, size);
    return block;
}

bool peers_reach(void const* memory, std::size_t bytes) noexcept
{
    return heap::find(memory, bytes).has_value();
}

void throw_too_many_elements(std::size_t size)
{
    throw usage_error(fmt::format("a strided_view has more elements of {} bytes than there can be in memory", size));
}

void throw_bad_subview(std::size_t dimension, std::size_t offset, std::size_t extent, std::size_t of)
{
    throw usage_error(fmt::format("a part of a strided_view has {} elements from {} on in dimension {}, where there are {}", extent, offset,
                                  dimension, of));
}

void throw_bad_extents(std::size_t dimension, std::size_t to, std::size_t from)
{
    throw usage_error(fmt::format("{} elements cannot be copied to {}: the extents of dimension {} of both strided_views must be the same",
                                  from, to, dimension));
}

void throw_bad_row(std::size_t row, std::size_t elements)
{
    throw usage_error(fmt::format("a strided_view of {} elements and a row of {} cannot be copied to each other", elements, row));
}

} // namespace towline::detail
