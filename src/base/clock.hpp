#pragma once
// Time for measuring short intervals and giving up: the processor's time-stamp counter where it is invariant (11 ns a stamp),
// else CLOCK_MONOTONIC (25 ns). Ticks compare only within one boot of one machine.

#include <chrono>
#include <cstdint>

namespace towline::base {

/// Raw ticks; never goes back on one core.
[[nodiscard]] std::uint64_t ticks() noexcept;
/// Ticks in a nanosecond. The first call of the process calibrates against CLOCK_MONOTONIC, about 0.3 ms; accurate to 0.1 %.
[[nodiscard]] double ticks_per_ns() noexcept;
[[nodiscard]] std::uint64_t to_ticks(std::chrono::nanoseconds) noexcept;
[[nodiscard]] std::chrono::nanoseconds to_ns(std::uint64_t ticks) noexcept;
/// True where `ticks` reads the time-stamp counter.
[[nodiscard]] bool ticks_are_tsc() noexcept;

/// CLOCK_MONOTONIC in nanoseconds: the same for all processes of the machine.
[[nodiscard]] std::int64_t monotonic_ns() noexcept;

/// A moment after which to give up. `nanoseconds::max()` is never.
class deadline {
public:
    explicit deadline(std::chrono::nanoseconds from_now) noexcept;
    /// Zero once passed; nanoseconds::max() for a deadline that never comes.
    [[nodiscard]] std::chrono::nanoseconds left() const noexcept;
    [[nodiscard]] bool passed() const noexcept { return left().count() == 0; }

private:
    std::int64_t at_;
};

} // namespace towline::base
