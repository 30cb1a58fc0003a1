#pragma once
// What to do while nothing happens: spin, then yield, then say that it is time to sleep.

#include <cstdint>
#include <sched.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace towline::base {

/// Tells the processor that this is a spin.
inline void cpu_relax() noexcept
{
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// One per wait. Not thread-safe; costs nothing to make.
class idle_strategy {
public:
    struct limits {
        std::uint32_t spins;   ///< pauses of the processor, about 40 ns each
        std::uint32_t yields;  ///< sched_yield, 0.5 to 2 us each
    };
    /// A core for every rank: a sleeper takes 7 to 19 us to wake, so spin about that long before.
    static constexpr limits free_cores{600, 0};
    /// More ranks than cores: a spin of more than a moment steals the time of the one waited for.
    static constexpr limits shared_cores{50, 20};

    explicit constexpr idle_strategy(limits l) noexcept : limits_(l) {}
    explicit constexpr idle_strategy(bool oversubscribed) noexcept : limits_(oversubscribed ? shared_cores : free_cores) {}

    /// Passes a moment; true when the caller should sleep on its event count now.
    [[nodiscard]] bool idle() noexcept
    {
        if (count_ < limits_.spins) {
            ++count_;
            cpu_relax();
            return false;
        }
        if (count_ < limits_.spins + limits_.yields) {
            ++count_;
            sched_yield();
            return false;
        }
        return true;
    }
    /// Something happened: begin again.
    void reset() noexcept { count_ = 0; }

private:
    limits limits_;
    std::uint32_t count_ = 0;
};

} // namespace towline::base
