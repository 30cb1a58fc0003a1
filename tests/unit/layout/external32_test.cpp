// external32: bytes worked out by hand from the standard's tables and from IEEE 754.

#include "layout/binary128.hpp"
#include "layout/external32.hpp"

#include <towline/error.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace {

using namespace towline;
using namespace towline::layout;
using i64 = std::int64_t;

std::string hex(std::vector<std::byte> const& bytes)
{
    std::string text;
    for (std::byte const b : bytes) {
        constexpr char digits[] = "0123456789abcdef";
        text += {digits[std::to_integer<int>(b) >> 4], digits[std::to_integer<int>(b) & 15]};
    }
    return text;
}

template <class T>
std::string packed(kind k, std::vector<T> const& values, i64 lost = 0)
{
    datatype const t = datatype::of(k);
    auto const n = static_cast<i64>(values.size());
    std::vector<std::byte> out(static_cast<std::size_t>(external32_size(t, n)));
    EXPECT_EQ(pack_external32(t, n, values.data(), out.data()), lost);
    if (lost == 0) {
        std::vector<T> back(values.size());
        unpack_external32(t, n, back.data(), out.data());
        std::vector<std::byte> again(out.size());
        EXPECT_EQ(pack_external32(t, n, back.data(), again.data()), 0);
        EXPECT_EQ(again, out);
        if constexpr (std::is_integral_v<T> || std::is_same_v<T, double> || std::is_same_v<T, std::complex<float>>) {
            EXPECT_EQ(back, values);
        }
    }
    return hex(out);
}

TEST(external32, integers)
{
    EXPECT_EQ(packed<signed char>(kind::signed_char_c, {1, -2}), "01fe");
    EXPECT_EQ(packed<short>(kind::short_c, {0x1234, -2}), "1234fffe");
    EXPECT_EQ(packed<int>(kind::int_c, {0x12345678, -2}), "12345678fffffffe");
    EXPECT_EQ(packed<long>(kind::long_c, {0x12345678, -2}), "12345678fffffffe");
    EXPECT_EQ(packed<unsigned long>(kind::unsigned_long_c, {0xfedcba98}), "fedcba98");
    EXPECT_EQ(packed<long long>(kind::long_long_c, {0x0102030405060708, -2}), "0102030405060708fffffffffffffffe");
    EXPECT_EQ(packed<i64>(kind::int64, {0x0102030405060708}), "0102030405060708");
    EXPECT_EQ(packed<i64>(kind::aint, {0x0102030405060708}), "0102030405060708");
    EXPECT_EQ(packed<wchar_t>(kind::wide_char_c, {L'A', wchar_t{0x20ac}}), "004120ac");
    EXPECT_EQ(packed<int>(kind::logical, {1, 0}), "0000000100000000");
    EXPECT_EQ(packed<char>(kind::bool_c, {1, 0}), "0100");
    EXPECT_EQ((packed<std::array<std::uint64_t, 2>>(kind::integer16, {{0x08090a0b0c0d0e0f, 0x0001020304050607}})),
              "000102030405060708090a0b0c0d0e0f");
}

TEST(external32, what_does_not_fit_is_counted)
{
    EXPECT_EQ(packed<long>(kind::long_c, {0x123456789, 1, -0x80000000l, -0x80000001l}, 2), "2345678900000001800000007fffffff");
    EXPECT_EQ(packed<unsigned long>(kind::unsigned_long_c, {0x100000000, ~0ul}, 2), "00000000ffffffff");
    EXPECT_EQ(packed<wchar_t>(kind::wide_char_c, {wchar_t{0x1f600}}, 1), "f600");
}

TEST(external32, a_bool_is_0_or_1_whatever_comes)
{
    std::byte const from[3] = {std::byte{0}, std::byte{0x80}, std::byte{1}};
    bool got[3];
    unpack_external32(datatype::of(kind::bool_cxx), 3, got, from);
    EXPECT_FALSE(got[0]);
    EXPECT_TRUE(got[1]);
    EXPECT_TRUE(got[2]);
}

TEST(external32, floating_point)
{
    EXPECT_EQ(packed<float>(kind::float_c, {1.0f, -2.5f}), "3f800000c0200000");
    EXPECT_EQ(packed<double>(kind::double_c, {1.0, -2.5}), "3ff0000000000000c004000000000000");
    EXPECT_EQ(packed<std::uint16_t>(kind::real2, {0x3c00}), "3c00");
    EXPECT_EQ(packed<std::complex<float>>(kind::float_complex_c, {{1, -2.5}}), "3f800000c0200000");
    EXPECT_EQ(packed<std::complex<double>>(kind::double_complex, {{1, -2.5}}), "3ff0000000000000c004000000000000");
}

using limits = std::numeric_limits<long double>;

TEST(external32, long_double_is_binary128)
{
    // 1, -2.5, the largest odd significand, infinities, zeros
    EXPECT_EQ(packed<long double>(kind::long_double_c, {1.0L}), "3fff0000000000000000000000000000");
    EXPECT_EQ(packed<long double>(kind::long_double_c, {-2.5L}), "c0004000000000000000000000000000");
    EXPECT_EQ(packed<long double>(kind::long_double_c, {limits::infinity()}), "7fff0000000000000000000000000000");
    EXPECT_EQ(packed<long double>(kind::long_double_c, {-limits::infinity()}), "ffff0000000000000000000000000000");
    EXPECT_EQ(packed<long double>(kind::long_double_c, {0.0L}), "00000000000000000000000000000000");
    EXPECT_EQ(packed<long double>(kind::long_double_c, {-0.0L}), "80000000000000000000000000000000");
    EXPECT_EQ(packed<long double>(kind::long_double_c, {limits::quiet_NaN()}), "7fff8000000000000000000000000000");
    if (limits::digits == 64) {
        EXPECT_EQ(packed<long double>(kind::long_double_c, {1.0L / 3}), "3ffd5555555555555556000000000000");
        EXPECT_EQ(packed<long double>(kind::long_double_c, {limits::max()}), "7ffefffffffffffffffe000000000000");
        EXPECT_EQ(packed<long double>(kind::long_double_c, {limits::min()}), "00010000000000000000000000000000");
        EXPECT_EQ(packed<long double>(kind::long_double_c, {limits::denorm_min()}), "00000000000000000002000000000000");
    }
    EXPECT_EQ(packed<std::complex<long double>>(kind::long_double_complex_c, {{1.0L, -2.5L}}),
              "3fff0000000000000000000000000000c0004000000000000000000000000000");
}

TEST(external32, long_double_comes_back)
{
    std::mt19937_64 random(20260101);
    std::vector<long double> values{limits::max(), limits::min(), limits::denorm_min(), limits::min() - limits::denorm_min(), 0.0L, -1.0L / 3};
    for (int i = 0; i < 1000; ++i)
        values.push_back(std::ldexp(static_cast<long double>(random()), static_cast<int>(random() % 32000) - 16500));
    datatype const t = datatype::of(kind::long_double_c);
    auto const n = static_cast<i64>(values.size());
    std::vector<std::byte> out(static_cast<std::size_t>(external32_size(t, n)));
    std::vector<long double> back(values.size());
    EXPECT_EQ(pack_external32(t, n, values.data(), out.data()), 0);
    unpack_external32(t, n, back.data(), out.data());
    EXPECT_EQ(back, values);
}

TEST(binary128, rounds_to_nearest_even)
{
    constexpr std::uint64_t one = std::uint64_t{0x3fff} << 48, half = std::uint64_t{1} << 48, lowest_kept = std::uint64_t{1} << 49;
    EXPECT_EQ(narrow({one, half}), (extended80{0x3fff, 0x8000000000000000}));               // a tie, to even
    EXPECT_EQ(narrow({one, half + 1}), (extended80{0x3fff, 0x8000000000000001}));           // above it
    EXPECT_EQ(narrow({one, lowest_kept + half}), (extended80{0x3fff, 0x8000000000000002})); // a tie, to even, up
    EXPECT_EQ(narrow({one, lowest_kept + half - 1}), (extended80{0x3fff, 0x8000000000000001}));
    constexpr std::uint64_t all = (std::uint64_t{1} << 48) - 1;
    EXPECT_EQ(narrow({one | all, ~std::uint64_t{0}}), (extended80{0x4000, 0x8000000000000000}));             // carries into the exponent
    constexpr std::uint64_t largest = std::uint64_t{0x7ffe} << 48 | all;
    EXPECT_EQ(narrow({largest, ~std::uint64_t{0}}), (extended80{0x7fff, 0x8000000000000000})); // to infinity
    EXPECT_EQ(narrow({all, ~std::uint64_t{0}}), (extended80{1, 0x8000000000000000}));      // a denormal becomes normal
    EXPECT_EQ(narrow({0, 1}), (extended80{0, 0}));
    EXPECT_EQ(narrow({0, half + 1}), (extended80{0, 1}));
}

TEST(binary128, nans_stay_nans)
{
    constexpr std::uint64_t nan = std::uint64_t{0x7fff} << 48;
    EXPECT_EQ(narrow({nan, 1}), (extended80{0x7fff, 0xc000000000000000})) << "the payload was beyond what fits";
    EXPECT_EQ(narrow({nan | std::uint64_t{1} << 47 | 5, 0}), (extended80{0x7fff, 0xc000000000028000}));
    EXPECT_EQ(widen({0x7fff, 0xc000000000028000}), (binary128{nan | std::uint64_t{1} << 47 | 5, 0}));
    // invalid operands of the x87
    EXPECT_EQ(widen({0x7fff, 0}), (binary128{nan | std::uint64_t{1} << 47, 0}));
    EXPECT_EQ(widen({0x3fff, 0x4000000000000000}), (binary128{nan | std::uint64_t{1} << 47, 0}));
    EXPECT_EQ(widen({0, 0x8000000000000000}), (binary128{std::uint64_t{1} << 48, 0})) << "a pseudo-denormal has a value";
}

#if defined(__x86_64__) && defined(__SIZEOF_FLOAT128__)
__extension__ using quad = __float128;

TEST(binary128, agrees_with_the_compiler)
{
    std::random_device device;
    unsigned const seed = device();
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    auto bits = [&] {
        // often near the edges: few bits set, or all but few
        std::uint64_t const r = random();
        switch (random() % 4) {
        case 0: return r;
        case 1: return r & random() & random() & random();
        case 2: return r | random() | random() | random();
        default: return std::uint64_t{1} << (r % 64);
        }
    };
    for (int i = 0; i < 200'000; ++i) {
        binary128 b{bits(), bits()};
        std::uint64_t const exponent = b.high >> 48 & 0x7fff;
        if (exponent == 0x7fff)
            continue;  // NaNs are compared above
        quad q;
        std::uint64_t const words[2] = {b.low, b.high};
        std::memcpy(&q, words, sizeof q);
        auto const expected = static_cast<long double>(q);
        extended80 want{};
        std::memcpy(&want.significand, &expected, 8);
        std::memcpy(&want.sign_exponent, reinterpret_cast<char const*>(&expected) + 8, 2);
        ASSERT_EQ(narrow(b), want) << std::hex << b.high << ' ' << b.low;

        auto const back = static_cast<quad>(expected);
        std::uint64_t wide[2];
        std::memcpy(wide, &back, sizeof wide);
        if ((want.sign_exponent & 0x7fff) != 0x7fff) {
            ASSERT_EQ(widen(want), (binary128{wide[1], wide[0]})) << std::hex << want.sign_exponent << ' ' << want.significand;
        }
    }
}
#endif

TEST(external32, sizes_are_checked)
{
    EXPECT_THROW(static_cast<void>(external32_size(datatype::of(kind::double_c), std::numeric_limits<i64>::max() / 4)), limit_error);
    EXPECT_THROW(static_cast<void>(external32_size(datatype::of(kind::double_c), -1)), usage_error);
    EXPECT_EQ(external32_size(datatype::of(kind::long_int), 3), 24);
}

TEST(external32, the_padding_of_pairs_is_left_out)
{
    struct pair {
        double value;
        int index, padding;
    };
    pair const here{1.0, 7, -1};
    std::vector<std::byte> out(12);
    EXPECT_EQ(pack_external32(datatype::of(kind::double_int), 1, &here, out.data()), 0);
    EXPECT_EQ(hex(out), "3ff000000000000000000007");
    pair back{0, 0, 99};
    unpack_external32(datatype::of(kind::double_int), 1, &back, out.data());
    EXPECT_EQ(back.value, 1.0);
    EXPECT_EQ(back.index, 7);
    EXPECT_EQ(back.padding, 99);
}

} // namespace
