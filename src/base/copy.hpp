#pragma once
// Copying a big block from memory of one process into memory of another, or so that another can read it.

#include <cstddef>

namespace towline::base {

namespace copy_ways {
enum class way : unsigned char;
}

/// memcpy, for blocks of many KiB: the ranges do not overlap, any alignment, both may be null with 0 bytes. When it returns, whoever sees a
/// later store of this thread sees the copy. Any thread.
void copy_block(void* to, void const* from, std::size_t bytes) noexcept;

/// How a block of `whole` bytes is copied the fastest that goes to `to`, by its size and by whether what is there lies in a cache. The
/// caller will copy `bytes` of it from `at` on first; other parts may be others' to copy. May read there, and writes nothing.
[[nodiscard]] copy_ways::way way_of_copy(std::byte const* to, std::size_t whole, std::size_t at, std::size_t bytes) noexcept;
/// The same by the size alone.
[[nodiscard]] copy_ways::way way_of_copy(std::size_t whole) noexcept;
/// copy_block for a part of such a block.
void copy_part(void* to, void const* from, std::size_t bytes, copy_ways::way) noexcept;

} // namespace towline::base
