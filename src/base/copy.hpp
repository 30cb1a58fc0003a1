#pragma once
// Copying a big block from memory of one process into memory of another, or so that another can read it.

#include <cstddef>

namespace towline::base {

/// memcpy, for blocks of many KiB: the ranges do not overlap, any alignment, both may be null with 0 bytes. When it returns, whoever sees a
/// later store of this thread sees the copy. Any thread.
void copy_block(void* to, void const* from, std::size_t bytes) noexcept;
/// The same for a part of a copy of `whole` bytes, which says what is the fastest way.
void copy_part(void* to, void const* from, std::size_t bytes, std::size_t whole) noexcept;

} // namespace towline::base
