#pragma once
// A message that its sender copies into a block of its own arena while its receiver copies out of it: two copies, but at the same time, and
// no line of the sender's buffer crosses to the other core and back. Between cores that share no cache this is up to twice as fast as
// reading in place what its sender writes each time anew (64 KiB, raw ping-pong 144 ns: 7.65 and 13.6 us; 260 ns, with stores past the
// caches: 4.7 and 11.9), and the send ends with the sender's copy.
//
// The sender has up to eight blocks for each peer, two for large messages, and uses one again when the receiver has freed it. It tells of
// the message when the first piece is there, and of each piece after that in `filled`. A receiver that has begun waits for the next piece
// until it is there or the sender has ended: a sender that is stopped in the middle of its copy (SIGSTOP) holds it.

#include "matching/ways.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace towline::matching {

/// The head of a block; the bytes follow.
struct relay_block {
    /// Number of the use << 32 | bytes that are there (release, after them). The sender's.
    std::atomic<std::uint64_t> filled{0};
    /// The number of the last use that the receiver is done with. The receiver's.
    alignas(64) std::atomic<std::uint32_t> freed{0};

    static constexpr std::uint64_t least = 2048;                  ///< bytes of a message that goes this way
    static constexpr std::uint64_t most = std::uint64_t{1} << 20;
    static constexpr std::uint64_t most_laid = std::uint64_t{8} << 20;  ///< the same of data that do not lie in a row
    static constexpr std::uint64_t most_of_many = std::uint64_t{256} << 10;  ///< up to so many bytes more than two are on their way
    static constexpr std::uint64_t most_of_all = std::uint64_t{64} << 20;  ///< of a process's blocks for all its peers

    [[nodiscard]] static constexpr std::uint64_t word(std::uint32_t number, std::uint64_t bytes) noexcept
    {
        return std::uint64_t{number} << 32 | bytes;
    }
    /// Of the use of that number; 0 of another one.
    [[nodiscard]] std::uint64_t bytes_there(std::uint32_t number) const noexcept
    {
        std::uint64_t const w = filled.load(std::memory_order_acquire);
        return w >> 32 == number ? w & 0xffffffff : 0;
    }
};
static_assert(sizeof(relay_block) == 128);

/// What a sender has for one peer. One thread at a time, which has set `busy`.
struct relay_path {
    struct place {
        relay_block* block = nullptr;
        std::uint64_t where = 0;  ///< as engine::share tells it
        std::uint64_t room = 0;   ///< bytes
        std::uint32_t number = 0; ///< of the last use
        [[nodiscard]] bool is_free() const noexcept { return number == 0 || block->freed.load(std::memory_order_acquire) == number; }
    };
    std::array<place, 8> places;
    unsigned next = 0;  ///< 0 or 1: of the first two, which serve alone while messages come one at a time
    std::atomic<bool> busy{false};
    /// The last message has not been taken yet. (A look at a line that its receiver may write just now.)
    [[nodiscard]] bool is_under_way() const noexcept { return !places[next ^ 1].is_free(); }
    way_table ways;
    laid_way_table laid_ways;
};

/// What a receiver is told of a relayed message.
struct relayed {
    std::uint64_t where = 0;
    std::uint64_t bytes = 0;
    std::uint64_t ready = 0;   ///< bytes that are there in any case
    std::uint32_t number = 0;  ///< 0: nothing was told
    bool past_caches = false;  ///< the sender stores past the caches
};

} // namespace towline::matching
