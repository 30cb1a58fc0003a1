// The loops, for inclusion by one source file per set of instructions. Everything is in an unnamed namespace and calls nothing of the
// standard library, so that no function compiled for one processor is taken for another.

#include "collective/reductions/reduce_tables.hpp"

#include <cstddef>
#include <cstdint>

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace towline::collective {
namespace {

using layout::kind;

__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;
using half = _Float16;
#if defined(__SIZEOF_FLOAT128__)
__extension__ using quad = __float128;
#else
using quad = long double;
static_assert(sizeof(quad) == 16);
#endif

/// The unsigned type to calculate in, where overflow wraps; short ones are calculated in unsigned int.
template <class T> struct wrapping { using type = T; };
template <> struct wrapping<std::int8_t> { using type = unsigned; };
template <> struct wrapping<std::uint8_t> { using type = unsigned; };
template <> struct wrapping<std::int16_t> { using type = unsigned; };
template <> struct wrapping<std::uint16_t> { using type = unsigned; };
template <> struct wrapping<std::int32_t> { using type = std::uint32_t; };
template <> struct wrapping<std::int64_t> { using type = std::uint64_t; };
template <> struct wrapping<int128> { using type = uint128; };

struct sum {
    template <class T>
    static T of(T a, T b) noexcept
    {
        using w = typename wrapping<T>::type;
        return static_cast<T>(static_cast<w>(a) + static_cast<w>(b));
    }
};
struct prod {
    template <class T>
    static T of(T a, T b) noexcept
    {
        using w = typename wrapping<T>::type;
        return static_cast<T>(static_cast<w>(a) * static_cast<w>(b));
    }
};
// Without branches, for the vectorizer. a != a: a is a NaN.
struct max {
    template <class T>
    static T of(T a, T b) noexcept { return ((a > b) | (a != a)) ? a : b; }
    template <class T>
    static bool before(T a, T b) noexcept { return a > b; }
};
struct min {
    template <class T>
    static T of(T a, T b) noexcept { return ((a < b) | (a != a)) ? a : b; }
    template <class T>
    static bool before(T a, T b) noexcept { return a < b; }
};
struct land {
    template <class T>
    static T of(T a, T b) noexcept { return static_cast<T>((a != 0) & (b != 0)); }
};
struct lor {
    template <class T>
    static T of(T a, T b) noexcept { return static_cast<T>((a != 0) | (b != 0)); }
};
struct lxor {
    template <class T>
    static T of(T a, T b) noexcept { return static_cast<T>((a != 0) != (b != 0)); }
};
// Fortran: the result is an operand, or 0.
struct select_land {
    template <class T>
    static T of(T a, T b) noexcept { return a != 0 ? b : T{0}; }
};
struct select_lor {
    template <class T>
    static T of(T a, T b) noexcept { return a != 0 ? a : b; }
};
struct select_lxor {
    template <class T>
    static T of(T a, T b) noexcept { return (a != 0) != (b != 0) ? static_cast<T>(a | b) : T{0}; }
};
struct band {
    template <class T>
    static T of(T a, T b) noexcept { return static_cast<T>(a & b); }
};
struct bor {
    template <class T>
    static T of(T a, T b) noexcept { return static_cast<T>(a | b); }
};
struct bxor {
    template <class T>
    static T of(T a, T b) noexcept { return static_cast<T>(a ^ b); }
};

// `out` is `other` or overlaps neither: then no turn of a loop depends on another, which compilers cannot know.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"  // not all loops can be vectorized
#define TOWLINE_TURNS_ARE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define TOWLINE_TURNS_ARE_INDEPENDENT _Pragma("GCC ivdep")
#endif

/// `Parts` numbers an element.
template <class Op, class T, std::size_t Parts = 1>
void each(void const* in, void const* other, void* out, std::size_t count) noexcept
{
    T const* const a = static_cast<T const*>(in);
    T const* const b = static_cast<T const*>(other);
    T* const c = static_cast<T*>(out);
    TOWLINE_TURNS_ARE_INDEPENDENT
    for (std::size_t i = 0; i < Parts * count; ++i)
        c[i] = Op::of(a[i], b[i]);
}

#if defined(__F16C__)
typedef float singles __attribute__((vector_size(32)));  // NOLINT: compilers differ about where else the attribute may stand

/// half, eight at a time: the vectorizer does not convert them. Rounding a result from single gives what half's own operation would.
template <class Op, std::size_t Parts>
void each_half(void const* in, void const* other, void* out, std::size_t count) noexcept
{
    constexpr std::size_t lanes = 8;
    half const* const a = static_cast<half const*>(in);
    half const* const b = static_cast<half const*>(other);
    half* const c = static_cast<half*>(out);
    std::size_t const n = Parts * count;
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        singles const x = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<__m128i const*>(a + i)));
        singles const y = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<__m128i const*>(b + i)));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(c + i), _mm256_cvtps_ph(Op::of(x, y), _MM_FROUND_TO_NEAREST_INT));
    }
    for (; i < n; ++i)
        c[i] = Op::of(a[i], b[i]);
}
template <> void each<sum, half, 1>(void const* a, void const* b, void* c, std::size_t n) noexcept { each_half<sum, 1>(a, b, c, n); }
template <> void each<sum, half, 2>(void const* a, void const* b, void* c, std::size_t n) noexcept { each_half<sum, 2>(a, b, c, n); }
template <> void each<prod, half, 1>(void const* a, void const* b, void* c, std::size_t n) noexcept { each_half<prod, 1>(a, b, c, n); }
template <> void each<max, half, 1>(void const* a, void const* b, void* c, std::size_t n) noexcept { each_half<max, 1>(a, b, c, n); }
template <> void each<min, half, 1>(void const* a, void const* b, void* c, std::size_t n) noexcept { each_half<min, 1>(a, b, c, n); }
#endif

template <class T>
void complex_prod(void const* in, void const* other, void* out, std::size_t count) noexcept
{
    T const* const a = static_cast<T const*>(in);
    T const* const b = static_cast<T const*>(other);
    T* const c = static_cast<T*>(out);
    TOWLINE_TURNS_ARE_INDEPENDENT
    for (std::size_t i = 0; i < 2 * count; i += 2) {
        T const real = static_cast<T>(a[i] * b[i] - a[i + 1] * b[i + 1]);
        T const imaginary = static_cast<T>(a[i] * b[i + 1] + a[i + 1] * b[i]);
        c[i] = real;
        c[i + 1] = imaginary;
    }
}

template <class Value, class Index>
struct pair {
    Value value;
    Index index;
};

template <class Order, class Value, class Index>
void locate(void const* in, void const* other, void* out, std::size_t count) noexcept
{
    using element = pair<Value, Index>;
    element const* const a = static_cast<element const*>(in);
    element const* const b = static_cast<element const*>(other);
    element* const c = static_cast<element*>(out);
    TOWLINE_TURNS_ARE_INDEPENDENT
    for (std::size_t i = 0; i < count; ++i) {
        bool const a_nan = a[i].value != a[i].value, b_nan = b[i].value != b[i].value;
        bool const better = Order::before(a[i].value, b[i].value) | (a_nan & !b_nan);
        bool const equal = (a[i].value == b[i].value) | (a_nan & b_nan);
        bool const take = better | (equal & (a[i].index < b[i].index));
        c[i].value = take ? a[i].value : b[i].value;
        c[i].index = take ? a[i].index : b[i].index;
    }
}

template <std::size_t Bytes>
void replace(void const* in, void const*, void* out, std::size_t count) noexcept
{
    if (count != 0)
        __builtin_memcpy(out, in, Bytes * count);
}

template <std::size_t Bytes>
void no_op(void const*, void const* other, void* out, std::size_t count) noexcept
{
    if (out != other)
        __builtin_memcpy(out, other, Bytes * count);
}

/// What every kind has.
template <std::size_t Bytes>
constexpr reduction opaque(operation op) noexcept
{
    return op == operation::replace ? replace<Bytes> : op == operation::no_op ? no_op<Bytes> : nullptr;
}

template <class T>
constexpr reduction integer(operation op, bool logical) noexcept
{
    switch (op) {
    case operation::max: return each<max, T>;
    case operation::min: return each<min, T>;
    case operation::sum: return each<sum, T>;
    case operation::prod: return each<prod, T>;
    case operation::band: return each<band, T>;
    case operation::bor: return each<bor, T>;
    case operation::bxor: return each<bxor, T>;
    case operation::land: return logical ? each<land, T> : nullptr;
    case operation::lor: return logical ? each<lor, T> : nullptr;
    case operation::lxor: return logical ? each<lxor, T> : nullptr;
    default: return opaque<sizeof(T)>(op);
    }
}

template <class T>
constexpr reduction c_integer(operation op) noexcept
{
    return integer<T>(op, true);
}

/// Fortran's integers, and MPI_AINT, MPI_OFFSET and MPI_COUNT: no logical operations.
template <class T>
constexpr reduction other_integer(operation op) noexcept
{
    return integer<T>(op, false);
}

template <class T>
constexpr reduction floating(operation op) noexcept
{
    switch (op) {
    case operation::max: return each<max, T>;
    case operation::min: return each<min, T>;
    case operation::sum: return each<sum, T>;
    case operation::prod: return each<prod, T>;
    default: return opaque<sizeof(T)>(op);
    }
}

template <class T>
constexpr reduction complex(operation op) noexcept
{
    switch (op) {
    case operation::sum: return each<sum, T, 2>;
    case operation::prod: return complex_prod<T>;
    default: return opaque<2 * sizeof(T)>(op);
    }
}

template <class T, class Land, class Lor, class Lxor>
constexpr reduction truth(operation op) noexcept
{
    switch (op) {
    case operation::land: return each<Land, T>;
    case operation::lor: return each<Lor, T>;
    case operation::lxor: return each<Lxor, T>;
    default: return opaque<sizeof(T)>(op);
    }
}

template <class T>
constexpr reduction logical(operation op) noexcept
{
    return truth<T, select_land, select_lor, select_lxor>(op);
}

constexpr reduction bytes(operation op) noexcept
{
    using byte = std::uint8_t;
    switch (op) {
    case operation::band: return each<band, byte>;
    case operation::bor: return each<bor, byte>;
    case operation::bxor: return each<bxor, byte>;
    default: return opaque<1>(op);
    }
}

template <class Value, class Index>
constexpr reduction pairs(operation op) noexcept
{
    switch (op) {
    case operation::maxloc: return locate<max, Value, Index>;
    case operation::minloc: return locate<min, Value, Index>;
    default: return opaque<sizeof(pair<Value, Index>)>(op);
    }
}

constexpr reduction pick(operation op, kind k) noexcept
{
    switch (k) {
    case kind::byte: return bytes(op);
    case kind::packed:
    case kind::character_c:
    case kind::character: return opaque<1>(op);
    case kind::wide_char_c: return opaque<sizeof(wchar_t)>(op);
    case kind::bool_c:
    case kind::bool_cxx: return truth<std::uint8_t, land, lor, lxor>(op);

    case kind::signed_char_c:
    case kind::int8: return c_integer<std::int8_t>(op);
    case kind::unsigned_char_c:
    case kind::uint8: return c_integer<std::uint8_t>(op);
    case kind::short_c:
    case kind::int16: return c_integer<std::int16_t>(op);
    case kind::unsigned_short_c:
    case kind::uint16: return c_integer<std::uint16_t>(op);
    case kind::int_c:
    case kind::int32: return c_integer<std::int32_t>(op);
    case kind::unsigned_c:
    case kind::uint32: return c_integer<std::uint32_t>(op);
    case kind::long_c:
    case kind::long_long_c:
    case kind::int64: return c_integer<std::int64_t>(op);
    case kind::unsigned_long_c:
    case kind::unsigned_long_long_c:
    case kind::uint64: return c_integer<std::uint64_t>(op);

    // The standard leaves the logical operations on these out; other libraries have them, and programs use them.
    case kind::aint:
    case kind::count:
    case kind::offset: return c_integer<std::int64_t>(op);

    case kind::integer8: return other_integer<std::int64_t>(op);
    case kind::integer1: return other_integer<std::int8_t>(op);
    case kind::integer2: return other_integer<std::int16_t>(op);
    case kind::integer:
    case kind::integer4: return other_integer<std::int32_t>(op);
    case kind::integer16: return other_integer<int128>(op);

    case kind::real2: return floating<half>(op);
    case kind::float_c:
    case kind::real:
    case kind::real4: return floating<float>(op);
    case kind::double_c:
    case kind::double_precision:
    case kind::real8: return floating<double>(op);
    case kind::long_double_c: return floating<long double>(op);
    case kind::real16: return floating<quad>(op);

    case kind::complex4: return complex<half>(op);
    case kind::float_complex_c:
    case kind::float_complex_cxx:
    case kind::complex:
    case kind::complex8: return complex<float>(op);
    case kind::double_complex_c:
    case kind::double_complex_cxx:
    case kind::double_complex:
    case kind::complex16: return complex<double>(op);
    case kind::long_double_complex_c:
    case kind::long_double_complex_cxx: return complex<long double>(op);
    case kind::complex32: return complex<quad>(op);

    case kind::logical1: return logical<std::int8_t>(op);
    case kind::logical2: return logical<std::int16_t>(op);
    case kind::logical:
    case kind::logical4: return logical<std::int32_t>(op);
    case kind::logical8: return logical<std::int64_t>(op);
    case kind::logical16: return logical<int128>(op);

    case kind::float_int: return pairs<float, int>(op);
    case kind::double_int: return pairs<double, int>(op);
    case kind::long_int: return pairs<long, int>(op);
    case kind::two_int:
    case kind::two_integer: return pairs<int, int>(op);
    case kind::short_int: return pairs<short, int>(op);
    case kind::long_double_int: return pairs<long double, int>(op);
    case kind::two_real: return pairs<float, float>(op);
    case kind::two_double_precision: return pairs<double, double>(op);
    }
    return nullptr;
}

constexpr reduction_table make_table() noexcept
{
    reduction_table table{};
    for (std::size_t op = 0; op < operations; ++op)
        for (std::size_t k = 0; k < layout::kinds; ++k)
            table.of[op][k] = pick(static_cast<operation>(op), static_cast<kind>(k));
    return table;
}
static_assert(sizeof(long) == 8 && sizeof(int) == 4 && sizeof(short) == 2);

} // namespace
} // namespace towline::collective
