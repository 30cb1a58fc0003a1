#pragma once
// Whether plain memory that peers lend again and again changes in between: what was brought is compared with what was brought last.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace towline::engine {

/// A hint about blocks, by a number for each. Blocks can take each other's place, and what two threads note at once may be lost. Any
/// thread.
class lent_habit {
public:
    /// The block came at least twice, and was another one the last time.
    [[nodiscard]] bool is_rewritten(std::uint64_t block) const noexcept
    {
        place const& p = place_of(block);
        return p.block.load(std::memory_order_relaxed) == block && (p.note.load(std::memory_order_relaxed) & changed) != 0;
    }
    /// It came, and this is a sample of its bytes (base::sample).
    void note(std::uint64_t block, std::uint64_t sample) noexcept
    {
        place& p = place_of(block);
        sample &= ~changed;
        bool const is_known = p.block.load(std::memory_order_relaxed) == block;
        bool const is_same = (p.note.load(std::memory_order_relaxed) & ~changed) == sample;
        p.block.store(block, std::memory_order_relaxed);
        p.note.store(sample | (is_known && !is_same ? changed : 0), std::memory_order_relaxed);
    }

private:
    static constexpr std::uint64_t changed = 1;
    struct place {
        std::atomic<std::uint64_t> block{0};
        std::atomic<std::uint64_t> note{0};
    };
    [[nodiscard]] place& place_of(std::uint64_t block) const noexcept { return places_[block * 0x9e3779b97f4a7c15 >> 56]; }
    mutable std::array<place, 256> places_{};
};

} // namespace towline::engine
