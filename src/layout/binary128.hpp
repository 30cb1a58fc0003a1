#pragma once
// IEEE binary128 and the x87 extended format, by their bits: both have a sign, 15 bits of exponent with bias 16383, and 112 or 64 bits of
// significand; the latter's leading bit is written out. Sources: IEEE 754-2019, section 3.4; Intel SDM volume 1, section 4.2.

#include <cstdint>

namespace towline::layout {

/// high: sign, exponent, and the first 48 bits of the fraction; low: the other 64.
struct binary128 {
    std::uint64_t high = 0, low = 0;
    friend bool operator==(binary128 const&, binary128 const&) = default;
};

struct extended80 {
    std::uint16_t sign_exponent = 0;
    std::uint64_t significand = 0;
    friend bool operator==(extended80 const&, extended80 const&) = default;
};

/// Exact. A number the processor itself refuses (the leading bit is missing) becomes a NaN; NaNs keep their payload.
[[nodiscard]] binary128 widen(extended80) noexcept;
/// To nearest, ties to even; too big becomes infinity, NaNs keep the front of their payload and stay NaNs.
[[nodiscard]] extended80 narrow(binary128) noexcept;

} // namespace towline::layout
