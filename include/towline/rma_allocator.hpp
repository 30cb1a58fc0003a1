#pragma once
// A standard allocator over the shared heap: what a container keeps there crosses to a process on the same machine without being copied.
//     std::vector<double, towline::rma_allocator<double>> field(n);

#include <cstddef>
#include <limits>
#include <new>
#include <type_traits>

namespace towline {

namespace heap {
[[nodiscard]] void* allocate(std::size_t size, std::size_t alignment);
void deallocate(void* block) noexcept;
} // namespace heap

/// Memory of this process's arena, aligned to 64 bytes or more. Stateless: all are equal, whatever process a block came from, so containers move and
/// swap freely. Thread-safe. Throws std::bad_alloc where the arena is full (what() says how to enlarge it), and what joining the job throws.
template <class T>
class rma_allocator {
public:
    using value_type = T;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;
    using is_always_equal = std::true_type;

    constexpr rma_allocator() noexcept = default;
    template <class U>
    constexpr rma_allocator(rma_allocator<U> const&) noexcept
    {
    }

    [[nodiscard]] T* allocate(std::size_t n)
    {
        if (n > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / sizeof(T))
            throw std::bad_array_new_length();
        return static_cast<T*>(heap::allocate(n * sizeof(T), alignof(T) > 64 ? alignof(T) : 64));
    }
    void deallocate(T* block, std::size_t) noexcept { heap::deallocate(block); }

    template <class U>
    friend constexpr bool operator==(rma_allocator const&, rma_allocator<U> const&) noexcept
    {
        return true;
    }
};

} // namespace towline
