// Every predefined operation on every kind that the standard allows it for, against plain formulas; and nothing on the others.

#include "collective/reductions/reduce_tables.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace towline::collective;
using towline::layout::info;
using towline::layout::kind;
using towline::layout::kind_class;
using op = operation;

__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;
#if defined(__SIZEOF_FLOAT128__)
__extension__ using quad = __float128;
#else
using quad = long double;
#endif
using half = _Float16;

struct named_table {
    char const* name;
    reduction_table const* table;
};

/// The tables that this processor can run.
std::vector<named_table> tables()
{
    std::vector<named_table> all{{"baseline", &baseline_reductions}};
#if defined(__x86_64__)
    if (runs_avx2_reductions())
        all.push_back({"avx2", &avx2_reductions});
#endif
    return all;
}

reduction in(named_table const& t, op o, kind k)
{
    return t.table->of[static_cast<std::size_t>(o)][static_cast<std::size_t>(k)];
}

/// The table of the standard ("Predefined Reduction Operations"); beyond it the logical operations on addresses, counts and offsets.
bool allowed(op o, kind_class c)
{
    bool const any_integer = c == kind_class::c_integer || c == kind_class::fortran_integer || c == kind_class::multi_language;
    switch (o) {
    case op::max:
    case op::min: return any_integer || c == kind_class::floating;
    case op::sum:
    case op::prod: return any_integer || c == kind_class::floating || c == kind_class::complex;
    case op::land:
    case op::lor:
    case op::lxor: return c == kind_class::c_integer || c == kind_class::multi_language || c == kind_class::logical;
    case op::band:
    case op::bor:
    case op::bxor: return any_integer || c == kind_class::byte;
    case op::maxloc:
    case op::minloc: return c == kind_class::pair;
    case op::replace:
    case op::no_op: return true;
    }
    return false;
}

TEST(reduce, what_the_standard_forbids_is_not_there)
{
    for (named_table const& t : tables())
        for (std::size_t o = 0; o < operations; ++o)
            for (std::size_t k = 0; k < towline::layout::kinds; ++k) {
                auto const which = static_cast<kind>(k);
                EXPECT_EQ(in(t, static_cast<op>(o), which) != nullptr, allowed(static_cast<op>(o), info(which).group))
                    << t.name << ", operation " << o << " on " << info(which).name;
            }
    EXPECT_EQ(find_reduction(op::sum, kind::int_c), in(tables().back(), op::sum, kind::int_c)) << "the best table is used";
    EXPECT_EQ(find_reduction(op::sum, kind::character_c), nullptr);
    EXPECT_EQ(find_reduction(op::maxloc, kind::int_c), nullptr);
}

unsigned seed()
{
    static unsigned const value = std::random_device{}();
    return value;
}

std::mt19937_64& random_bits()
{
    static std::mt19937_64 generator(seed());
    return generator;
}

template <class T>
constexpr bool is_float = std::is_same_v<T, half> || std::is_same_v<T, float> || std::is_same_v<T, double> ||
                          std::is_same_v<T, long double> || std::is_same_v<T, quad>;

/// Numbers of all magnitudes, often 0, 1, the ends of the range, NaN.
template <class T>
T number()
{
    auto& r = random_bits();
    if constexpr (is_float<T>) {
        switch (r() % 12) {
        case 0: return static_cast<T>(0.0f);
        case 1: return static_cast<T>(-0.0f);
        case 2: return static_cast<T>(std::numeric_limits<float>::infinity());
        case 3: return static_cast<T>(-std::numeric_limits<float>::infinity());
        case 4: return static_cast<T>(std::numeric_limits<float>::quiet_NaN());
        case 5: return static_cast<T>(1.0f);
        default: return static_cast<T>(static_cast<float>(static_cast<int>(r() % 4001) - 2000) / 64.0f);
        }
    } else {
        auto const bits = static_cast<T>(sizeof(T) > 8 ? static_cast<T>(static_cast<uint128>(r()) << 64 | r()) : static_cast<T>(r()));
        switch (r() % 6) {
        case 0: return T{0};
        case 1: return T{1};
        case 2: return static_cast<T>(~T{0});
        case 3: return static_cast<T>(uint128{1} << (8 * sizeof(T) - 1));
        case 4: return static_cast<T>(r() % 100);
        default: return bits;
        }
    }
}

template <class T>
bool nan(T v) { return v != v; }

/// Equal, both NaN, or zeros of whatever sign.
template <class T>
bool alike(T a, T b) { return a == b || (nan(a) && nan(b)); }

template <class T>
T expected(op o, T a, T b)
{
    if constexpr (is_float<T>) {
        switch (o) {
        case op::max:
            if (nan(a) || nan(b))
                return nan(a) ? a : b;
            return a < b ? b : a;
        case op::min:
            if (nan(a) || nan(b))
                return nan(a) ? a : b;
            return b < a ? b : a;
        case op::sum: return static_cast<T>(a + b);
        default: return static_cast<T>(a * b);
        }
    } else {
        switch (o) {
        case op::max: return a < b ? b : a;
        case op::min: return b < a ? b : a;
        case op::sum: return static_cast<T>(static_cast<uint128>(a) + static_cast<uint128>(b));
        case op::prod: return static_cast<T>(static_cast<uint128>(a) * static_cast<uint128>(b));
        case op::band: return static_cast<T>(a & b);
        case op::bor: return static_cast<T>(a | b);
        case op::bxor: return static_cast<T>(a ^ b);
        case op::land: return static_cast<T>(a != 0 && b != 0);
        case op::lor: return static_cast<T>(a != 0 || b != 0);
        default: return static_cast<T>((a != 0) != (b != 0));
        }
    }
}

/// Runs an operation on arrays of every length up to a few vectors and one long; check(got, a, b) for each element.
template <class T, class Make, class Check>
void run(op o, kind k, Make make, Check check)
{
    for (named_table const& t : tables()) {
        SCOPED_TRACE(std::string(t.name) + ", operation " + std::to_string(static_cast<int>(o)) + " on " + std::string(info(k).name) +
                     ", seed " + std::to_string(seed()));
        reduction const f = in(t, o, k);
        ASSERT_NE(f, nullptr);
        ASSERT_EQ(info(k).extent % sizeof(T), 0u);
        f(nullptr, nullptr, nullptr, 0);
        for (std::size_t n = 1; n < 600; n = n < 70 ? n + 1 : n * 2) {
            std::vector<T> a(n), b(n + 1);
            for (std::size_t i = 0; i < n; ++i) {
                a[i] = make();
                b[i] = make();
            }
            b[n] = make();
            auto const a_before = a, b_before = b;
            std::size_t const count = n * sizeof(T) / info(k).extent;
            auto c = b;
            f(a.data(), b.data(), c.data(), count);
            ASSERT_EQ(std::memcmp(static_cast<void*>(b.data()), b_before.data(), sizeof(T) * (n + 1)), 0) << "the second input changed";
            for (std::size_t i = 0; i < n; ++i)
                ASSERT_TRUE(check(c[i], a_before[i], b_before[i])) << "element " << i << " of " << n;
            ASSERT_EQ(std::memcmp(&c[n], &b_before[n], sizeof(T)), 0) << "written behind the end";
            f(a.data(), b.data(), b.data(), count);
            for (std::size_t i = 0; i < n; ++i)
                ASSERT_TRUE(check(b[i], a_before[i], b_before[i])) << "element " << i << " of " << n << ", in place";
            ASSERT_EQ(std::memcmp(&a[n - 1], &a_before[n - 1], sizeof(T)), 0) << "the input changed";
            ASSERT_EQ(std::memcmp(&b[n], &b_before[n], sizeof(T)), 0) << "written behind the end";
        }
    }
}

template <class T>
void plain(std::initializer_list<op> ops, std::initializer_list<kind> kinds)
{
    for (kind const k : kinds)
        for (op const o : ops)
            run<T>(o, k, number<T>, [o](T got, T a, T b) { return alike(got, expected(o, a, b)); });
}

constexpr auto arithmetic = {op::max, op::min, op::sum, op::prod};
constexpr auto bits = {op::max, op::min, op::sum, op::prod, op::band, op::bor, op::bxor};
constexpr auto all = {op::max, op::min, op::sum, op::prod, op::band, op::bor, op::bxor, op::land, op::lor, op::lxor};

TEST(reduce, c_integers)
{
    plain<signed char>(all, {kind::signed_char_c, kind::int8});
    plain<unsigned char>(all, {kind::unsigned_char_c, kind::uint8});
    plain<short>(all, {kind::short_c, kind::int16});
    plain<unsigned short>(all, {kind::unsigned_short_c, kind::uint16});
    plain<int>(all, {kind::int_c, kind::int32});
    plain<unsigned>(all, {kind::unsigned_c, kind::uint32});
    plain<long>(all, {kind::long_c, kind::int64});
    plain<unsigned long>(all, {kind::unsigned_long_c, kind::uint64});
    plain<long long>(all, {kind::long_long_c});
    plain<unsigned long long>(all, {kind::unsigned_long_long_c});
}

TEST(reduce, integers_of_fortran_and_of_all_languages)
{
    plain<std::int8_t>(bits, {kind::integer1});
    plain<std::int16_t>(bits, {kind::integer2});
    plain<std::int32_t>(bits, {kind::integer, kind::integer4});
    plain<std::int64_t>(bits, {kind::integer8, kind::aint, kind::count, kind::offset});
    plain<int128>(bits, {kind::integer16});
    plain<unsigned char>({op::band, op::bor, op::bxor}, {kind::byte});
}

TEST(reduce, floating_point)
{
    plain<half>(arithmetic, {kind::real2});
    plain<float>(arithmetic, {kind::float_c, kind::real, kind::real4});
    plain<double>(arithmetic, {kind::double_c, kind::double_precision, kind::real8});
    plain<long double>(arithmetic, {kind::long_double_c});
    plain<quad>(arithmetic, {kind::real16});
}

TEST(reduce, a_nan_is_never_lost)
{
    for (named_table const& t : tables())
        for (op const o : {op::max, op::min})
            for (bool const first : {true, false}) {
                std::vector<double> a(9, first ? std::nan("") : 1.0), b(9, first ? 1.0 : std::nan(""));
                in(t, o, kind::double_c)(a.data(), b.data(), b.data(), b.size());
                for (double const v : b)
                    EXPECT_TRUE(nan(v)) << t.name;
            }
}

template <class T>
struct complex_of {
    T re, im;
};

template <class T>
void complex_numbers(std::initializer_list<kind> kinds)
{
    using c = complex_of<T>;
    for (kind const k : kinds) {
        auto make = [] { return c{number<T>(), number<T>()}; };
        run<c>(op::sum, k, make, [](c got, c a, c b) {
            return alike(got.re, static_cast<T>(a.re + b.re)) && alike(got.im, static_cast<T>(a.im + b.im));
        });
        // half rounds after each operation or once: small integers, where that makes no difference
        auto small = [] {
            return c{static_cast<T>(static_cast<float>(random_bits()() % 20)), static_cast<T>(static_cast<float>(random_bits()() % 20))};
        };
        run<c>(op::prod, k, small, [](c got, c a, c b) {
            return got.re == static_cast<T>(a.re * b.re - a.im * b.im) && got.im == static_cast<T>(a.re * b.im + a.im * b.re);
        });
    }
}

TEST(reduce, complex_numbers)
{
    complex_numbers<half>({kind::complex4});
    complex_numbers<float>({kind::float_complex_c, kind::float_complex_cxx, kind::complex, kind::complex8});
    complex_numbers<double>({kind::double_complex_c, kind::double_complex_cxx, kind::double_complex, kind::complex16});
    complex_numbers<long double>({kind::long_double_complex_c, kind::long_double_complex_cxx});
    complex_numbers<quad>({kind::complex32});
}

/// Fortran's truth: the result is one of the operands, or 0.
template <class T>
void fortran_truth(std::initializer_list<kind> kinds)
{
    for (kind const k : kinds)
        for (op const o : {op::land, op::lor, op::lxor})
            run<T>(o, k, number<T>, [o](T got, T a, T b) {
                return (got != 0) == (expected(o, a, b) != 0) && (got == 0 || got == a || got == b);
            });
}

TEST(reduce, truth)
{
    fortran_truth<std::int8_t>({kind::logical1});
    fortran_truth<std::int16_t>({kind::logical2});
    fortran_truth<std::int32_t>({kind::logical, kind::logical4});
    fortran_truth<std::int64_t>({kind::logical8});
    fortran_truth<int128>({kind::logical16});
    for (kind const k : {kind::bool_c, kind::bool_cxx})
        for (op const o : {op::land, op::lor, op::lxor})
            run<std::uint8_t>(o, k, [] { return static_cast<std::uint8_t>(random_bits()() & 1); },
                              [o](std::uint8_t got, std::uint8_t a, std::uint8_t b) { return got == expected(o, a, b); });
}

template <class Value, class Index>
struct located {
    Value value;
    Index index;
};

template <class Value, class Index>
void locations(kind k)
{
    using p = located<Value, Index>;
    ASSERT_EQ(sizeof(p), info(k).extent);
    // few values, so that ties are frequent
    auto make = [] {
        Value v = number<Value>();
        if (random_bits()() % 2 == 0)
            v = static_cast<Value>(static_cast<float>(random_bits()() % 3));
        p one;
        std::memset(static_cast<void*>(&one), 0, sizeof one);
        one.value = v;
        one.index = static_cast<Index>(static_cast<int>(random_bits()() % 5));
        return one;
    };
    for (op const o : {op::maxloc, op::minloc})
        run<p>(o, k, make, [o](p got, p a, p b) {
            bool first = false;
            if (nan(a.value) || nan(b.value))
                first = nan(a.value) && (!nan(b.value) || a.index < b.index);
            else if (a.value == b.value)
                first = a.index < b.index;
            else
                first = (a.value > b.value) == (o == op::maxloc);
            p const& want = first ? a : b;
            return alike(got.value, want.value) && got.index == want.index;
        });
}

TEST(reduce, locations)
{
    locations<float, int>(kind::float_int);
    locations<double, int>(kind::double_int);
    locations<long, int>(kind::long_int);
    locations<int, int>(kind::two_int);
    locations<int, int>(kind::two_integer);
    locations<short, int>(kind::short_int);
    locations<long double, int>(kind::long_double_int);
    locations<float, float>(kind::two_real);
    locations<double, double>(kind::two_double_precision);
}

TEST(reduce, replace_and_no_op_take_every_kind)
{
    for (named_table const& t : tables())
        for (std::size_t k = 0; k < towline::layout::kinds; ++k) {
            std::size_t const n = 7, size = n * info(static_cast<kind>(k)).extent;
            alignas(32) unsigned char a[7 * 32], b[7 * 32 + 1];
            for (std::size_t i = 0; i < size; ++i)
                a[i] = static_cast<unsigned char>(random_bits()());
            std::memset(b, 0x5a, sizeof b);
            in(t, op::no_op, static_cast<kind>(k))(a, b, b, n);
            for (unsigned char const v : b)
                ASSERT_EQ(v, 0x5a);
            in(t, op::no_op, static_cast<kind>(k))(b, a, b, n);
            ASSERT_EQ(std::memcmp(a, b, size), 0) << info(static_cast<kind>(k)).name;
            std::memset(b, 0x5a, size);
            in(t, op::replace, static_cast<kind>(k))(a, b, b, n);
            ASSERT_EQ(std::memcmp(a, b, size), 0) << info(static_cast<kind>(k)).name;
            ASSERT_EQ(b[size], 0x5a);
        }
}

} // namespace
