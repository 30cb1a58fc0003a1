#pragma once
// Counters that other threads and processes read.

#include <atomic>
#include <cstdint>

namespace towline::base {

/// `alone`: no other thread adds to it at the same time, so that no locked instruction is needed.
inline void add(std::atomic<std::uint64_t>& counter, std::uint64_t amount, bool alone,
                std::memory_order order = std::memory_order_relaxed) noexcept
{
    if (alone) [[likely]]
        counter.store(counter.load(std::memory_order_relaxed) + amount, order);
    else
        counter.fetch_add(amount, order);
}

} // namespace towline::base
