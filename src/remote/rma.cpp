// The allocator of rma_vector and rma_allocator: blocks of the heap.

#include <towline/rma_allocator.hpp>

#include "heap/heap.hpp"

#include <algorithm>

namespace towline::detail {

void* rma_allocate(std::size_t bytes, std::size_t alignment)
{
    return heap::allocate(std::max<std::size_t>(bytes, 1), std::max<std::size_t>(alignment, 64));
}

void rma_deallocate(void* block) noexcept
{
    heap::deallocate(block);
}

} // namespace towline::detail
