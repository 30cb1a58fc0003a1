// Calibration of the time-stamp counter.

#include "base/clock.hpp"

#include "base/processor.hpp"

#include <algorithm>
#include <ctime>
#include <limits>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace towline::base {

namespace {

double calibrate() noexcept
{
    if (!ticks_are_tsc())
        return 1.0;
    // Each end is the tightest of a few brackets, so that a preemption between the two clock readings does no harm.
    auto stamp = [](std::uint64_t& tick, std::int64_t& ns) {
        std::uint64_t best = std::numeric_limits<std::uint64_t>::max();
        for (int i = 0; i < 5; ++i) {
            std::uint64_t const before = ticks();
            std::int64_t const now = monotonic_ns();
            std::uint64_t const after = ticks();
            if (after - before < best) {
                best = after - before;
                tick = before + best / 2;
                ns = now;
            }
        }
    };
    std::uint64_t first_tick = 0;
    std::uint64_t last_tick = 0;
    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
    stamp(first_tick, first_ns);
    while (monotonic_ns() - first_ns < 300'000) {
    }
    stamp(last_tick, last_ns);
    return static_cast<double>(last_tick - first_tick) / static_cast<double>(last_ns - first_ns);
}

} // namespace

bool ticks_are_tsc() noexcept
{
    static bool const yes = has_invariant_tsc();
    return yes;
}

std::uint64_t ticks() noexcept
{
#if defined(__x86_64__)
    if (ticks_are_tsc())
        return __rdtsc();
#endif
    return static_cast<std::uint64_t>(monotonic_ns());
}

double ticks_per_ns() noexcept
{
    static double const rate = calibrate();
    return rate;
}

std::uint64_t to_ticks(std::chrono::nanoseconds time) noexcept
{
    return static_cast<std::uint64_t>(static_cast<double>(std::max<std::int64_t>(time.count(), 0)) * ticks_per_ns());
}

std::chrono::nanoseconds to_ns(std::uint64_t ticks) noexcept
{
    return std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(ticks) / ticks_per_ns()));
}

std::int64_t monotonic_ns() noexcept
{
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

deadline::deadline(std::chrono::nanoseconds from_now) noexcept
{
    std::int64_t const now = monotonic_ns();
    std::int64_t const never = std::numeric_limits<std::int64_t>::max();
    at_ = from_now.count() >= never - now ? never : now + std::max<std::int64_t>(from_now.count(), 0);
}

std::chrono::nanoseconds deadline::left() const noexcept
{
    if (at_ == std::numeric_limits<std::int64_t>::max())
        return std::chrono::nanoseconds::max();
    return std::chrono::nanoseconds(std::max<std::int64_t>(at_ - monotonic_ns(), 0));
}

} // namespace towline::base
