#pragma once
// Blocks of peers' arenas that are owned by objects of this process which know nothing of the heap, like a std::vector. Only the owner of
// an arena knows the sizes of its blocks; fork, malloc_usable_size and realloc need those of these blocks here.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace towline::heap {

/// Thread-safe; constant-initialized, never destroyed, and allocates from the kernel only: free() needs it.
class foreign_blocks {
public:
    constexpr foreign_blocks() = default;
    foreign_blocks(foreign_blocks const&) = delete;
    foreign_blocks& operator=(foreign_blocks const&) = delete;

    /// Notes a block, or its new size. The note is lost if there is no memory for it.
    void add(void const* block, std::size_t bytes) noexcept;
    /// Forgets a block, if it was noted. One load while no block is noted.
    void remove(void const* block) noexcept
    {
        if (count_.load(std::memory_order_relaxed) != 0)
            remove_noted(block);
    }
    /// The noted size; 0 if the block was not noted.
    [[nodiscard]] std::size_t bytes_of(void const* block) const noexcept;
    [[nodiscard]] std::size_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
    /// Calls f(begin, bytes) for every block. Under the lock, or in a child that has it to itself.
    template <class F>
    void for_each(F&& f) const
    {
        for (std::size_t i = 0; i < size_; ++i)
            if (table_[i].block != 0)
                f(reinterpret_cast<std::byte*>(table_[i].block), table_[i].bytes);
    }

    /// For fork: no thread changes anything between the two.
    void lock() { mutex_.lock(); }
    void unlock() { mutex_.unlock(); }

private:
    struct note {
        std::uintptr_t block;  ///< 0: empty
        std::size_t bytes;
    };
    [[nodiscard]] std::size_t home(std::uintptr_t block) const noexcept
    {
        return static_cast<std::size_t>((block >> 6) * 0x9e3779b97f4a7c15 >> 20) & (size_ - 1);
    }
    [[nodiscard]] std::size_t place(std::uintptr_t block) const noexcept;
    bool grow() noexcept;
    void remove_noted(void const* block) noexcept;

    mutable std::mutex mutex_;
    std::atomic<std::size_t> count_{0};
    std::size_t size_ = 0;   ///< of the table, a power of two; linear probing, at most half full
    note* table_ = nullptr;
};

} // namespace towline::heap
