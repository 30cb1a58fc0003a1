#pragma once
// Whether a program reads what was copied for it soon after the copy. If it does, the copy belongs in the caches; if not, non-temporal
// stores are faster.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace towline::base {

/// Learned by trials: one block is written past the caches; if it is in a cache a little later, somebody has read it. Two unread trials
/// turn non-temporal stores on, one that was read turns them off. Trials are rare while blocks are read: a reader loses little. Any thread.
class reading_habit {
public:
    enum class outcome : std::uint8_t { unknown, read, unread };
    /// Has somebody read the block? It may have been evicted or freed by now, or even unmapped.
    using look = outcome (*)(std::byte const* block, std::size_t bytes) noexcept;

    /// A trial is judged after `soon` more bytes were moved. The next begins `often` bytes later while blocks go past the caches, `seldom`
    /// bytes later while they do not.
    constexpr reading_habit(std::uint64_t soon, std::uint64_t often, std::uint64_t seldom, look how) noexcept
        : soon_(soon), often_(often), seldom_(seldom), look_(how)
    {
    }

    /// Whether it matters now that a block is uncached; `moved` counts bytes since the process began.
    [[nodiscard]] bool asks(std::uint64_t moved) const noexcept
    {
        return passes_.load(std::memory_order_relaxed) || moved >= next_.load(std::memory_order_relaxed);
    }
    /// Whether this uncached block is to go past the caches.
    [[nodiscard]] bool passes(std::byte const* block, std::size_t bytes, std::uint64_t moved) noexcept;

private:
    void judge(outcome, std::uint64_t moved) noexcept;

    std::uint64_t const soon_, often_, seldom_;
    look const look_;
    std::atomic<bool> passes_{false};
    std::atomic<std::uint64_t> next_{0};  ///< bytes moved when there is something to do: a trial begins, or is looked at
    // Touched by the thread that has set `busy_`.
    std::atomic_flag busy_{};
    std::byte const* trial_ = nullptr;
    std::size_t trial_bytes_ = 0;
    int unread_ = 0;  ///< outcomes in a row, while blocks do not go past the caches
};

/// Times how fast the kernel reads some lines of the block (the kernel, because the memory may be unmapped); 5 us. Unknown if the kernel
/// refuses, if nothing is mapped there, and without a time-stamp counter.
[[nodiscard]] reading_habit::outcome look_for_readers(std::byte const* block, std::size_t bytes) noexcept;

} // namespace towline::base
