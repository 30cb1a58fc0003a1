#pragma once
// Whether memory lies in a cache that this core reaches: found by reading a few of its lines and looking at the clock.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace towline::base {

/// Blocks that something was done with lately: within the last `span` bytes of such blocks. They lie in the caches, or would, had what was
/// done not gone past them. A hint: blocks can take each other's place, and what two threads note at once may be lost. Any thread.
class recent_blocks {
public:
    explicit constexpr recent_blocks(std::uint64_t span) noexcept : span_(span / unit) {}

    /// What was noted of the block when it came last.
    enum class sight : unsigned char { none, same, another };

    /// Whether the block that begins here came lately, and with the same note; now it has come, with so many bytes.
    [[nodiscard]] sight see(void const* block, std::uint64_t bytes, std::uint64_t note) noexcept
    {
        std::uint64_t const now = passed_.load(std::memory_order_relaxed) + (bytes + unit - 1) / unit;
        passed_.store(now, std::memory_order_relaxed);
        std::uint64_t const name = reinterpret_cast<std::uintptr_t>(block) / line;
        auto& set = places_[name * 0x9e3779b97f4a7c15 >> 56];
        auto const age = [now](std::uint64_t word) { return word == 0 ? ~std::uint64_t{0} : (now - word) & 0xffffffff; };
        place* mine = &set[0];
        std::uint64_t oldest = 0;
        sight seen = sight::none;
        for (auto& p : set) {
            std::uint64_t const word = p.block.load(std::memory_order_relaxed);
            if (word >> 32 == (name & 0xffffffff)) {
                mine = &p;
                if (age(word) <= span_)
                    seen = p.note.load(std::memory_order_relaxed) == note ? sight::same : sight::another;
                break;
            }
            if (age(word) >= oldest) {
                oldest = age(word);
                mine = &p;
            }
        }
        mine->block.store(name << 32 | (now & 0xffffffff), std::memory_order_relaxed);
        mine->note.store(note, std::memory_order_relaxed);
        return seen;
    }
    [[nodiscard]] bool again(void const* block, std::uint64_t bytes) noexcept { return see(block, bytes, 0) != sight::none; }
    /// Bytes so far.
    [[nodiscard]] std::uint64_t passed() const noexcept { return passed_.load(std::memory_order_relaxed) * unit; }

private:
    static constexpr std::uint64_t unit = 4096;
    static constexpr std::uint64_t line = 64;
    static constexpr std::size_t sets = 256;
    static constexpr std::size_t ways = 4;
    static_assert(sets == 1 << (64 - 56));

    struct place {
        std::atomic<std::uint64_t> block{0};  ///< its first line (32 bits), units passed then (32); 0: none
        std::atomic<std::uint64_t> note{0};
    };

    std::uint64_t const span_;              ///< in units
    std::atomic<std::uint64_t> passed_{0};  ///< units so far
    std::array<std::array<place, ways>, sets> places_{};
};

/// Blocks of fewer bytes are not looked at.
inline constexpr std::size_t least_seen = 8192;

/// True if some lines of the block, looked at twice, came as slowly as from memory. What is dirty in a cache that is as far away counts
/// as cold. Costs 30 ns for a warm block, twice a memory latency for a cold one, and the faults of two pages that nobody has touched.
/// Always false where there is no clock to look at, and for blocks below `least_seen`.
[[nodiscard]] bool looks_cold(void const* block, std::size_t bytes) noexcept;

/// Ticks (clock.hpp) that a line takes longer from memory than from the first cache, measured at the first call (10 us); 0 where the clock
/// does not tell.
[[nodiscard]] std::uint64_t ticks_of_memory() noexcept;

} // namespace towline::base
