#pragma once
// Copies between blocks of arrays that both sides know by extents and steps: what a copy plan would be, without a tree. Nothing is
// allocated.

#include <cstdint>
#include <span>

namespace towline::layout {

/// One dimension of a block of elements. Steps are bytes, from one element to the next; they may be negative, or 0 where it is read.
struct strided_dimension {
    std::int64_t extent = 0;
    std::int64_t to_step = 0, from_step = 0;
};

/// Copies the elements, of `bytes` (1 or more) each, from where `from` is the first one to where `to` is. Both sides fit their memory;
/// elements that are written overlap neither each other nor what is read. `dimensions` are brought into the order that suits the caches,
/// and are of no more use. Any thread.
void copy_strided(void* to, void const* from, std::span<strided_dimension> dimensions, std::int64_t bytes) noexcept;

} // namespace towline::layout
