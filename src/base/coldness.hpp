#pragma once
// Whether memory lies in a cache that this core reaches: found by reading a few of its lines and looking at the clock.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace towline::base {

/// Blocks that something was copied to lately: within the last `span` bytes of copies. They lie in the caches, or would, had the copy not
/// gone past them. A hint: blocks can take each other's place, and what two threads note at once may be lost. Any thread.
class recent_blocks {
public:
    explicit constexpr recent_blocks(std::uint64_t span) noexcept : span_(span / unit) {}

    /// Whether the block that begins here was copied to lately; now it is, with so many bytes.
    [[nodiscard]] bool again(void const* block, std::uint64_t bytes) noexcept
    {
        std::uint64_t const now = copied_.load(std::memory_order_relaxed) + (bytes + unit - 1) / unit;
        copied_.store(now, std::memory_order_relaxed);
        std::uint64_t const page = reinterpret_cast<std::uintptr_t>(block) / unit;
        auto& set = noted_[page * 0x9e3779b97f4a7c15 >> 56];
        auto const age = [now](std::uint64_t word) { return word == 0 ? ~std::uint64_t{0} : (now - word) & 0xffffffff; };
        std::atomic<std::uint64_t>* mine = &set[0];
        std::uint64_t oldest = 0;
        bool lately = false;
        for (auto& place : set) {
            std::uint64_t const word = place.load(std::memory_order_relaxed);
            if (word >> 32 == (page & 0xffffffff)) {
                mine = &place;
                lately = age(word) <= span_;
                break;
            }
            if (age(word) >= oldest) {
                oldest = age(word);
                mine = &place;
            }
        }
        mine->store(page << 32 | (now & 0xffffffff), std::memory_order_relaxed);
        return lately;
    }
    /// Bytes so far.
    [[nodiscard]] std::uint64_t copied() const noexcept { return copied_.load(std::memory_order_relaxed) * unit; }

private:
    static constexpr std::uint64_t unit = 4096;
    static constexpr std::size_t sets = 256;
    static constexpr std::size_t ways = 4;
    static_assert(sets == 1 << (64 - 56));

    std::uint64_t const span_;              ///< in units
    std::atomic<std::uint64_t> copied_{0};  ///< units so far
    /// Page of the block (32 bits), units copied then (32); 0: none.
    std::array<std::array<std::atomic<std::uint64_t>, ways>, sets> noted_{};
};

/// Blocks of fewer bytes are not looked at.
inline constexpr std::size_t least_seen = 8192;

/// Where a block lies, as far as its lines are all alike: this core's own caches; the last cache, or another core's; memory, or a cache
/// that is as far away.
enum class whereabouts : unsigned char { own_cache, other_cache, memory };

/// By how long a few lines take to come; those that seem to come from memory are looked at twice. Costs 30 ns for a warm block, twice a
/// memory latency for a cold one, and the faults of two pages that nobody has touched. Always its own cache where there is no clock to look
/// at, and for blocks below `least_seen`.
[[nodiscard]] whereabouts look_for(void const* block, std::size_t bytes) noexcept;
/// Whether they come from memory.
[[nodiscard]] bool looks_cold(void const* block, std::size_t bytes) noexcept;

/// Ticks (clock.hpp) that a line takes longer from memory than from the first cache, measured at the first call (10 us); 0 where the clock
/// does not tell.
[[nodiscard]] std::uint64_t ticks_of_memory() noexcept;

} // namespace towline::base
