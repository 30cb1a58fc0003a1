#pragma once
// The exact sum of doubles, rounded once: the same for every order and every grouping. A fixed-point number wide enough for any double
// (a superaccumulator; Kulisch, "Computer Arithmetic and Validity", 2008).

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

namespace blast {

class exact_sum {
public:
    static constexpr std::size_t words = 68; ///< of 32 bits each, in 64: room for 2^31 additions

    /// What is not finite makes the sum not a number.
    void add(double x) { accumulate(x, 1); }
    void subtract(double x) { accumulate(x, -1); }

    exact_sum& operator+=(exact_sum const& other)
    {
        for (std::size_t i = 0; i < words; ++i)
            limbs_[i] += other.limbs_[i];
        finite_ = finite_ && other.finite_;
        return *this;
    }

    exact_sum& operator-=(exact_sum const& other)
    {
        for (std::size_t i = 0; i < words; ++i)
            limbs_[i] -= other.limbs_[i];
        finite_ = finite_ && other.finite_;
        return *this;
    }

    /// The sum, rounded to the nearest double; not a number if something that is not finite was added.
    double value() const
    {
        if (!finite_)
            return std::nan("");
        std::array<std::int64_t, words> limbs = limbs_;
        bool negative = carry(limbs) < 0;
        if (negative) {
            for (std::int64_t& limb : limbs)
                limb = -limb;
            carry(limbs);
        }
        std::size_t top = words;
        while (top > 0 && limbs[top - 1] == 0)
            --top;
        if (top == 0)
            return 0;
        // The three highest limbs hold at least 65 bits: 64 for the conversion to round, whose last says whether anything follows.
        std::size_t low = top < 3 ? 0 : top - 3;
        std::uint64_t high = 0;
        int dropped = 0;
        bool more = false;
        for (std::size_t i = top; i-- > low;) {
            auto limb = static_cast<std::uint64_t>(limbs[i]);
            int room = dropped > 0 ? 0 : std::min(64 - static_cast<int>(std::bit_width(high)), 32);
            if (room > 0)
                high = (high << room) | (limb >> (32 - room));
            more = more || (limb & ((std::uint64_t{1} << (32 - room)) - 1)) != 0;
            dropped += 32 - room;
        }
        for (std::size_t i = 0; i < low; ++i)
            more = more || limbs[i] != 0;
        if (more)
            high |= 1;
        double size = std::ldexp(static_cast<double>(high), static_cast<int>(32 * low) + dropped - 1074);
        return negative ? -size : size;
    }

    void write(std::uint64_t* to) const
    {
        for (std::size_t i = 0; i < words; ++i)
            to[i] = static_cast<std::uint64_t>(limbs_[i]);
        to[words] = finite_;
    }

    void read(std::uint64_t const* from)
    {
        for (std::size_t i = 0; i < words; ++i)
            limbs_[i] = static_cast<std::int64_t>(from[i]);
        finite_ = from[words] != 0;
    }

    static constexpr std::size_t written = words + 1; ///< what write stores and read takes

private:
    void accumulate(double x, std::int64_t sign)
    {
        auto bits = std::bit_cast<std::uint64_t>(x);
        auto exponent = static_cast<unsigned>(bits >> 52 & 0x7ff);
        std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
        if (exponent == 0x7ff) {
            finite_ = false;
            return;
        }
        if (exponent != 0) {
            fraction |= std::uint64_t{1} << 52;
            --exponent;
        }
        if (bits >> 63 != 0)
            sign = -sign;
        std::size_t at = exponent / 32;
        unsigned shift = exponent % 32;
        std::uint64_t low = fraction << shift;
        std::uint64_t high = shift == 0 ? 0 : fraction >> (64 - shift);
        limbs_[at] += sign * static_cast<std::int64_t>(low & 0xffffffff);
        limbs_[at + 1] += sign * static_cast<std::int64_t>(low >> 32);
        limbs_[at + 2] += sign * static_cast<std::int64_t>(high);
    }

    /// Brings all limbs but the highest into 0 ... 2^32 - 1; returns the highest.
    static std::int64_t carry(std::array<std::int64_t, words>& limbs)
    {
        for (std::size_t i = 0; i + 1 < words; ++i) {
            std::int64_t over = limbs[i] >> 32;
            limbs[i] -= over * (std::int64_t{1} << 32);
            limbs[i + 1] += over;
        }
        return limbs[words - 1];
    }

    std::array<std::int64_t, words> limbs_{};
    bool finite_ = true;
};

} // namespace blast
