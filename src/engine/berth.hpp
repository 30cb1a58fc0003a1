#pragma once
// A berth: where one thread sleeps until the operation that it waits for has ended, and nothing else wakes it. A thread has one, of its own
// process; its memory is never freed, so that a wake-up that comes late does no harm: it wakes a thread that looks and sleeps again.

#include <atomic>
#include <chrono>
#include <cstdint>

namespace towline::engine {

class berth {
public:
    /// That of the calling thread; its first call counts the thread in.
    [[nodiscard]] static berth& mine();
    /// Threads of this process that have called `mine`, and live.
    [[nodiscard]] static std::uint32_t threads() noexcept { return threads_.load(std::memory_order_relaxed); }

    /// Forgets earlier wake-ups. The calling thread's own, before it says that it is to be woken.
    void prepare() noexcept { word_.store(waits, std::memory_order_relaxed); }
    /// Sleeps until a wake-up after `prepare`; false if it timed out.
    bool sleep(std::chrono::nanoseconds limit) noexcept;
    /// Any thread. One system call, or none where the thread was woken already.
    void wake() noexcept;

private:
    friend struct berth_of_thread;
    static constexpr std::uint32_t waits = 0, woken = 1;
    static inline std::atomic<std::uint32_t> threads_{0};

    alignas(64) std::atomic<std::uint32_t> word_{woken};
    berth* next_free_ = nullptr;
};

} // namespace towline::engine
