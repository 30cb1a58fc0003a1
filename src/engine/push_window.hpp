#pragma once
// The window through which a sender pushes plain memory while its receiver copies it out: two copies, but at the same time, through lines
// that stay in the first-level cache, and no system call.
//
// The receiver, in a fetch, opens a window of its arena and calls the sender (wire::push). If the sender does not enter soon, the receiver
// closes the window and reads the bytes itself. `word` is the number of the window's use (upper 32 bits) and its state, so that a late
// sender finds the window closed, or another number. A sender that entered writes until it finds the window closed. A window that was
// closed on a sender at work is therefore used again only after that sender said that it is out (wire::pushed).

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace towline::engine {

struct alignas(64) push_window {
    static constexpr std::uint32_t piece_bytes = 4096;
    static constexpr std::uint32_t pieces = 4;
    enum state : std::uint32_t { closed = 0, open = 1, entered = 2 };

    std::atomic<std::uint64_t> word{0};
    alignas(64) std::atomic<std::uint32_t> filled{0};   ///< pieces so far (release, after the bytes); the sender's
    alignas(64) std::atomic<std::uint32_t> emptied{0};  ///< the receiver's
    alignas(64) std::byte piece[pieces][piece_bytes];

    [[nodiscard]] static constexpr std::uint64_t make(std::uint32_t number, state s) noexcept { return std::uint64_t{number} << 32 | s; }
    [[nodiscard]] static constexpr std::uint32_t pieces_of(std::uint64_t bytes) noexcept
    {
        return static_cast<std::uint32_t>((bytes + piece_bytes - 1) / piece_bytes);
    }
    [[nodiscard]] static constexpr std::size_t bytes_of_piece(std::uint64_t bytes, std::uint32_t i) noexcept
    {
        return static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes, bytes - std::uint64_t{i} * piece_bytes));
    }
    /// Of a block that is pushed; pieces are counted in 32 bits.
    static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;

    // The receiver.
    void begin(std::uint32_t number) noexcept
    {
        filled.store(0, std::memory_order_relaxed);
        emptied.store(0, std::memory_order_relaxed);
        word.store(make(number, open), std::memory_order_release);
    }
    [[nodiscard]] bool was_entered(std::uint32_t number) const noexcept
    {
        return word.load(std::memory_order_acquire) == make(number, entered);
    }
    /// True if no sender has entered, and none will.
    [[nodiscard]] bool close_unused(std::uint32_t number) noexcept
    {
        std::uint64_t expected = make(number, open);
        return word.compare_exchange_strong(expected, make(number, closed), std::memory_order_acq_rel);
    }
    /// On a sender at work. What it filled before it sees the window closed is visible in `filled` after this.
    void close(std::uint32_t number) noexcept { word.exchange(make(number, closed), std::memory_order_seq_cst); }

    // The sender.
    [[nodiscard]] bool enter(std::uint32_t number) noexcept
    {
        std::uint64_t expected = make(number, open);
        return word.compare_exchange_strong(expected, make(number, entered), std::memory_order_acq_rel);
    }
};
static_assert(sizeof(push_window) == 192 + push_window::pieces * push_window::piece_bytes);

} // namespace towline::engine
