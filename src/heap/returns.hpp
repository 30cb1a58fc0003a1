#pragma once
// How a process gives blocks back to the arena that they came from: a few slots in one cache line, and behind them a list that is
// linked through the blocks themselves. Anybody pushes, only the owner takes; taking is an exchange, so there is no ABA.
// Lives in the arena's first page, zero at first. Peers may write anything here: the owner checks every offset.

#include "base/prefetch.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace towline::heap {

/// Offsets count from the start of the segment; 0 is nothing.
struct alignas(64) return_box {
    std::atomic<std::uint64_t> list;
    std::array<std::atomic<std::uint64_t>, 7> slots;

    /// Puts a block in. `link` is the block's first word (free for use, in whichever process's mapping). Lock-free.
    void push(std::uint64_t offset, std::uint64_t* link, unsigned preferred_slot) noexcept
    {
        for (unsigned i = 0; i < 2; ++i) {
            std::uint64_t nothing = 0;
            auto& slot = slots[(preferred_slot + i) % slots.size()];
            // No load before the exchange: it would fetch the line twice, first shared, then exclusive.
            if (slot.compare_exchange_strong(nothing, offset, std::memory_order_acq_rel, std::memory_order_relaxed))
                return;
        }
        std::uint64_t head = list.load(std::memory_order_relaxed);
        do
            std::atomic_ref(*link).store(head, std::memory_order_relaxed);
        while (!list.compare_exchange_weak(head, offset, std::memory_order_acq_rel, std::memory_order_relaxed));
    }

    /// Prefetches the line for ownership, for an owner that expects to find something.
    void expect() noexcept { base::prefetch_to_write(&list); }

    /// True if a take would find something; plain loads of one line.
    [[nodiscard]] bool any() const noexcept
    {
        std::uint64_t all = list.load(std::memory_order_relaxed);
        for (auto const& slot : slots)
            all |= slot.load(std::memory_order_relaxed);
        return all != 0;
    }

    /// Takes everything: calls `give(offset)` for each block, and before that `link_of(offset)` for the word that holds the next offset
    /// of the list, null where the offset is impossible (the rest of the list is lost). The number of blocks given.
    template <class LinkOf, class Give>
    std::size_t take(LinkOf&& link_of, Give&& give)
    {
        std::size_t number = 0;
        for (auto& slot : slots)
            if (slot.load(std::memory_order_relaxed) != 0)
                if (std::uint64_t const offset = slot.exchange(0, std::memory_order_acq_rel); offset != 0 && link_of(offset) != nullptr) {
                    give(offset);
                    ++number;
                }
        if (list.load(std::memory_order_relaxed) == 0)
            return number;
        // A circular list ends, too: a block that was given is free, so that `link_of` refuses it the second time.
        for (std::uint64_t offset = list.exchange(0, std::memory_order_acq_rel); offset != 0;) {
            std::uint64_t* const link = link_of(offset);
            if (link == nullptr)
                break;
            std::uint64_t const next = std::atomic_ref(*link).load(std::memory_order_relaxed);
            give(offset);
            ++number;
            offset = next;
        }
        return number;
    }
};
static_assert(sizeof(return_box) == 64);

} // namespace towline::heap
