#pragma once
// Recycles the objects of every call (future states, tasks) instead of returning them to malloc.

#include <cstddef>

namespace towline::detail {

/// At least `size` bytes aligned to 16, from the calling thread's free lists; larger than 1 KiB from operator new.
[[nodiscard]] void* pool_allocate(std::size_t size);
/// Frees a block of any thread; `size` is the requested size.
void pool_free(void* block, std::size_t size) noexcept;

/// Base of recycled classes: `new` and `delete` go to the pool. Derived classes that are deleted through a base need a virtual destructor.
struct pooled {
    static void* operator new(std::size_t size) { return pool_allocate(size); }
    static void operator delete(void* block, std::size_t size) noexcept { pool_free(block, size); }
};

} // namespace towline::detail
