#pragma once
// An allocator over the shared heap, which every process of the job on this node can read.

#include <cstddef>
#include <limits>
#include <new>

namespace towline {

namespace detail {
/// `bytes` from this process's arena, aligned to 64 at least; content undefined. Throws std::bad_alloc.
[[nodiscard]] void* rma_allocate(std::size_t bytes, std::size_t alignment);
/// Called by the process that owns the block now; the block returns to the arena that it came from.
void rma_deallocate(void* block) noexcept;
} // namespace detail

/// For standard containers: `std::vector<T, rma_allocator<T>>`. Every process of the job can read their memory. Lent to a call (borrow, or
/// a move) it is copied once into a container of the callee, and not copied if the callee takes a std::span<T const>. To hand memory over,
/// use rma_vector. allocate takes a number of T, and throws std::bad_alloc if this process's arena is full (what() says how full and which
/// setting enlarges it). Any process that owns memory may free it. Thread-safe. The first use in a process joins the job, and throws what
/// joining throws.
template <class T>
class rma_allocator {
public:
    using value_type = T;
    rma_allocator() noexcept = default;
    template <class U>
    rma_allocator(rma_allocator<U> const&) noexcept
    {
    }
    [[nodiscard]] T* allocate(std::size_t n)
    {
        if (n > std::numeric_limits<std::size_t>::max() / 2 / sizeof(T))
            throw std::bad_array_new_length();
        return static_cast<T*>(detail::rma_allocate(n * sizeof(T), alignof(T)));
    }
    void deallocate(T* p, std::size_t) noexcept { detail::rma_deallocate(p); }
    template <class U>
    friend bool operator==(rma_allocator const&, rma_allocator<U> const&) noexcept
    {
        return true;
    }
};

} // namespace towline
