#pragma once
// The matcher's lock: held for a few loads and stores, never while anything else is called that could wait or poll.

#include "base/idle.hpp"

#include <atomic>
#include <cstdint>
#include <sched.h>

namespace towline::matching {

/// A spin lock that yields, or nothing where one thread at a time calls.
class queue_lock {
public:
    explicit queue_lock(bool threaded) noexcept : threaded_(threaded) {}
    void lock() noexcept
    {
        if (threaded_ && word_.exchange(1, std::memory_order_acquire) != 0) [[unlikely]]
            lock_slow();
    }
    void unlock() noexcept
    {
        if (threaded_)
            word_.store(0, std::memory_order_release);
    }

private:
    void lock_slow() noexcept
    {
        for (std::uint32_t round = 0;; ++round) {
            if (word_.load(std::memory_order_relaxed) == 0 && word_.exchange(1, std::memory_order_acquire) == 0)
                return;
            // The holder may have lost its core to us.
            if (round < 64)
                base::cpu_relax();
            else
                ::sched_yield();
        }
    }
    alignas(64) std::atomic<std::uint32_t> word_{0};
    bool const threaded_;
};

} // namespace towline::matching
