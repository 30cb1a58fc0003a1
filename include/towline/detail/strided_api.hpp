#pragma once
// Functions of the library that the templates of strided_view.hpp call. Internal.

#include <cstddef>
#include <span>

namespace towline::detail {

inline constexpr std::size_t most_dimensions = 16;

/// The layout of an array without its types: extents, and distances in elements. No strides: contiguous, the last index changes fastest.
struct strided_shape {
    std::size_t rank = 0;
    std::size_t const* extents = nullptr;
    std::ptrdiff_t const* strides = nullptr;
};

/// Throws usage_error if several elements have one address.
void check_writable(strided_shape const&);
/// Copies elements of `size` bytes between arrays of the same extents that do not overlap. Throws what check_writable throws.
void copy_strided(void* to, std::ptrdiff_t const* to_strides, void const* from, strided_shape const&, std::size_t size);

/// A block of shared memory with the packed elements; null if there is no memory left.
[[nodiscard]] void* pack_shared(void const* from, strided_shape const&, std::size_t size, std::size_t bytes) noexcept;
/// True if other ranks can read this memory directly.
[[nodiscard]] bool peers_reach(void const* memory, std::size_t bytes) noexcept;

/// Throws usage_error: there are more elements of `size` bytes than memory has.
[[noreturn]] void throw_too_many_elements(std::size_t size);
[[noreturn]] void throw_bad_subview(std::size_t dimension, std::size_t offset, std::size_t extent, std::size_t of);
[[noreturn]] void throw_bad_extents(std::size_t dimension, std::size_t to, std::size_t from);
[[noreturn]] void throw_bad_row(std::size_t row, std::size_t elements);

template <class T>
constexpr T* checked_row(std::span<T> row, std::size_t elements)
{
    if (row.size() != elements)
        throw_bad_row(row.size(), elements);
    return row.data();
}

} // namespace towline::detail
