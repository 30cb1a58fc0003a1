#pragma once
// Small objects that come and go with every call (future states, tasks) are recycled instead of returned to malloc.

#include <cstddef>

namespace towline::detail {

/// At least `size` bytes aligned to 16, from the calling thread's free lists; larger than 1 KiB from operator new.
[[nodiscard]] void* pool_allocate(std::size_t size);
/// Any thread may give back what another allocated; `size` is the one that was asked for.
void pool_free(void* block, std::size_t size) noexcept;

/// Base of recycled classes: `new` and `delete` go to the pool. Derived classes that are deleted through a base need a virtual destructor.
struct pooled {
    static void* operator new(std::size_t size) { return pool_allocate(size); }
    static void operator delete(void* block, std::size_t size) noexcept { pool_free(block, size); }
};

} // namespace towline::detail
