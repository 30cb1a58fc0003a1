#include "layout/binary128.hpp"

namespace towline::layout {
namespace {

constexpr std::uint64_t leading = std::uint64_t{1} << 63;        ///< the integer bit of the x87 significand
constexpr std::uint64_t quiet = std::uint64_t{1} << 62;          ///< below it: the first bit of the fraction
constexpr std::uint16_t all_exponent = 0x7fff, sign_bit = 0x8000;
constexpr int high_fraction = 48;                                ///< bits of the fraction in binary128::high
constexpr int dropped = 112 - 63;                                ///< bits of the fraction that x87 has no room for
constexpr std::uint64_t fraction_mask = (std::uint64_t{1} << high_fraction) - 1;

} // namespace

binary128 widen(extended80 x) noexcept
{
    std::uint64_t exponent = x.sign_exponent & all_exponent;
    std::uint64_t fraction = x.significand & ~leading;
    bool const integer_bit = (x.significand & leading) != 0;
    if (exponent == 0) {
        if (integer_bit)
            exponent = 1;  // a "pseudo-denormal": both exponents mean the same power
    } else if (!integer_bit) {
        exponent = all_exponent;  // "unnormal", "pseudo-infinity", "pseudo-NaN": invalid operands
        fraction |= quiet;
    }
    std::uint64_t const sign = x.sign_exponent & sign_bit;
    return {(sign | exponent) << high_fraction | fraction >> (63 - high_fraction), fraction << dropped};
}

extended80 narrow(binary128 q) noexcept
{
    auto const sign = static_cast<std::uint16_t>(q.high >> high_fraction & sign_bit);
    auto exponent = static_cast<std::uint16_t>(q.high >> high_fraction & all_exponent);
    std::uint64_t const fraction = (q.high & fraction_mask) << (63 - high_fraction) | q.low >> dropped;
    std::uint64_t const rest = q.low & ((std::uint64_t{1} << dropped) - 1);
    if (exponent == all_exponent) {
        bool const nan = fraction != 0 || rest != 0;
        bool const lost = nan && fraction == 0;
        return {static_cast<std::uint16_t>(sign | exponent), leading | fraction | (lost ? quiet : 0)};
    }
    std::uint64_t significand = fraction | (exponent != 0 ? leading : 0);
    constexpr std::uint64_t half = std::uint64_t{1} << (dropped - 1);
    if (rest > half || (rest == half && (significand & 1) != 0)) {
        if (++significand == 0) {  // carried out of the leading bit
            significand = leading;
            ++exponent;
        }
    }
    if (exponent == 0 && (significand & leading) != 0)
        exponent = 1;  // rounded up to the smallest normal number
    return {static_cast<std::uint16_t>(sign | exponent), significand};
}

} // namespace towline::layout
