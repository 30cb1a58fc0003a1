#pragma once
// Whether a program looks at what was copied for it soon after. Where it does, the copy belongs in the caches; where it does not, it need
// not pass through them.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace towline::base {

/// Learned by trials: one block goes past the caches; a little later, somebody has read it if it is in a cache all the same. It takes two
/// trials to begin with that, one to stop, and trials are rare where blocks are read: who reads loses next to nothing. Any thread.
class reading_habit {
public:
    enum class outcome : std::uint8_t { unknown, read, unread };
    /// Has somebody read the block? It may be gone by now, its memory even unmapped.
    using look = outcome (*)(std::byte const* block, std::size_t bytes) noexcept;

    /// A trial is looked at after `soon` more bytes were moved; the next begins `often` bytes later where blocks go past the caches,
    /// `seldom` where they do not.
    constexpr reading_habit(std::uint64_t soon, std::uint64_t often, std::uint64_t seldom, look how) noexcept
        : soon_(soon), often_(often), seldom_(seldom), look_(how)
    {
    }

    /// Whether a block that lies in no cache is of any interest, `moved` bytes since the process began.
    [[nodiscard]] bool asks(std::uint64_t moved) const noexcept
    {
        return passes_.load(std::memory_order_relaxed) || moved >= next_.load(std::memory_order_relaxed);
    }
    /// Whether this block, which lies in no cache, is to go past the caches.
    [[nodiscard]] bool passes(std::byte const* block, std::size_t bytes, std::uint64_t moved) noexcept;

private:
    void judge(outcome, std::uint64_t moved) noexcept;

    std::uint64_t const soon_, often_, seldom_;
    look const look_;
    std::atomic<bool> passes_{false};
    std::atomic<std::uint64_t> next_{0};  ///< bytes moved when there is something to do: a trial begins, or is looked at
    // Of who has the flag.
    std::atomic_flag busy_{};
    std::byte const* trial_ = nullptr;
    std::size_t trial_bytes_ = 0;
    int unread_ = 0;  ///< outcomes in a row, while blocks do not go past the caches
};

/// The look that asks the kernel to read some lines of the block, for it is not known whether it is there, and looks at the clock. 5 us.
/// Unknown where the kernel does not, where nothing is there, and where there is no clock to look at.
[[nodiscard]] reading_habit::outcome look_for_readers(std::byte const* block, std::size_t bytes) noexcept;

} // namespace towline::base
