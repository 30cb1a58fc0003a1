#pragma once
// Whether memory is in a cache that this core reaches: found by timing the reads of a few of its lines.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace towline::base {

/// Blocks that were used within the last `span` bytes of such use. They are cached, or would be if the use had not gone past the caches.
/// A hint: a block can evict another one's note, and of the notes of two racing threads one may be lost. Any thread.
class recent_blocks {
public:
    explicit constexpr recent_blocks(std::uint64_t span) noexcept : span_(span / unit) {}

    /// How the note of the block's last use compares with the present one.
    enum class sight : unsigned char { none, same, another };

    /// Notes a use of the block that begins here, of so many bytes. Returns whether it was used recently, and with the same note.
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
    /// Bytes used so far.
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

/// looks_cold does not look at blocks of fewer bytes.
inline constexpr std::size_t least_seen = 8192;

/// True if two reads of a few lines of the block took as long as from memory. A line that is dirty in a cache just as far away counts as
/// cold. Costs 30 ns for a warm block, two memory latencies for a cold one, and two page faults if the pages were never touched.
/// Always false without a time-stamp counter, and for blocks below `least_seen`.
[[nodiscard]] bool looks_cold(void const* block, std::size_t bytes) noexcept;

/// Ticks (clock.hpp) by which a line takes longer from memory than from the first-level cache, measured by the first call (10 us); 0 where
/// the clock cannot tell.
[[nodiscard]] std::uint64_t ticks_of_memory() noexcept;

} // namespace towline::base
