#pragma once
// What the processor can do.

#include <cstdint>

namespace towline::base {

enum class instructions : std::uint8_t { sse4_2, f16c, avx2, avx512f };

/// The processor has them, and the operating system saves their registers. False on other architectures than x86-64. Any thread.
[[nodiscard]] bool has(instructions) noexcept;
/// The time-stamp counter of x86-64 ticks at one rate, whatever the processor does.
[[nodiscard]] bool has_invariant_tsc() noexcept;

} // namespace towline::base
