#include "layout/kind.hpp"

#include <array>
#include <cstddef>

namespace towline::layout {
namespace {

using enum number;
using group = kind_class;

template <class T>
constexpr kind_info of(kind k, std::string_view name, group g, number form, std::size_t external = sizeof(T))
{
    return {k, name, g, form, sizeof(T), sizeof(T), alignof(T), static_cast<std::uint8_t>(external)};
}

/// A Fortran or complex kind: `parts` numbers of `size` bytes each, aligned as one of them.
constexpr kind_info sized(kind k, std::string_view name, group g, number form, std::uint8_t size, std::uint8_t parts = 1)
{
    auto const all = static_cast<std::uint8_t>(size * parts);
    return {k, name, g, form, all, all, size, all};
}

template <class Value, class Index>
struct pair_of {
    Value value;
    Index index;
};

template <class Value, class Index>
constexpr kind_info paired(kind k, std::string_view name, std::size_t external)
{
    using type = pair_of<Value, Index>;
    return {k, name, group::pair, pair, sizeof(Value) + sizeof(Index), sizeof(type), alignof(type), static_cast<std::uint8_t>(external)};
}

using std::int16_t, std::int32_t, std::int64_t, std::int8_t, std::uint16_t, std::uint32_t, std::uint64_t, std::uint8_t;

constexpr std::array<kind_info, kinds> table{{
    of<std::byte>(kind::byte, "MPI_BYTE", group::byte, bytes),
    of<std::byte>(kind::packed, "MPI_PACKED", group::none, bytes),
    of<char>(kind::character_c, "MPI_CHAR", group::none, bytes),
    of<signed char>(kind::signed_char_c, "MPI_SIGNED_CHAR", group::c_integer, signed_integer),
    of<unsigned char>(kind::unsigned_char_c, "MPI_UNSIGNED_CHAR", group::c_integer, unsigned_integer),
    of<wchar_t>(kind::wide_char_c, "MPI_WCHAR", group::none, unsigned_integer, 2),
    of<bool>(kind::bool_c, "MPI_C_BOOL", group::logical, boolean),
    of<short>(kind::short_c, "MPI_SHORT", group::c_integer, signed_integer),
    of<unsigned short>(kind::unsigned_short_c, "MPI_UNSIGNED_SHORT", group::c_integer, unsigned_integer),
    of<int>(kind::int_c, "MPI_INT", group::c_integer, signed_integer),
    of<unsigned>(kind::unsigned_c, "MPI_UNSIGNED", group::c_integer, unsigned_integer),
    of<long>(kind::long_c, "MPI_LONG", group::c_integer, signed_integer, 4),
    of<unsigned long>(kind::unsigned_long_c, "MPI_UNSIGNED_LONG", group::c_integer, unsigned_integer, 4),
    of<long long>(kind::long_long_c, "MPI_LONG_LONG_INT", group::c_integer, signed_integer),
    of<unsigned long long>(kind::unsigned_long_long_c, "MPI_UNSIGNED_LONG_LONG", group::c_integer, unsigned_integer),
    of<int8_t>(kind::int8, "MPI_INT8_T", group::c_integer, signed_integer),
    of<uint8_t>(kind::uint8, "MPI_UINT8_T", group::c_integer, unsigned_integer),
    of<int16_t>(kind::int16, "MPI_INT16_T", group::c_integer, signed_integer),
    of<uint16_t>(kind::uint16, "MPI_UINT16_T", group::c_integer, unsigned_integer),
    of<int32_t>(kind::int32, "MPI_INT32_T", group::c_integer, signed_integer),
    of<uint32_t>(kind::uint32, "MPI_UINT32_T", group::c_integer, unsigned_integer),
    of<int64_t>(kind::int64, "MPI_INT64_T", group::c_integer, signed_integer),
    of<uint64_t>(kind::uint64, "MPI_UINT64_T", group::c_integer, unsigned_integer),
    sized(kind::aint, "MPI_AINT", group::multi_language, signed_integer, 8),
    sized(kind::count, "MPI_COUNT", group::multi_language, signed_integer, 8),
    sized(kind::offset, "MPI_OFFSET", group::multi_language, signed_integer, 8),
    of<float>(kind::float_c, "MPI_FLOAT", group::floating, floating),
    of<double>(kind::double_c, "MPI_DOUBLE", group::floating, floating),
    of<long double>(kind::long_double_c, "MPI_LONG_DOUBLE", group::floating, extended, 16),
    sized(kind::float_complex_c, "MPI_C_COMPLEX", group::complex, number::complex, 4, 2),
    sized(kind::double_complex_c, "MPI_C_DOUBLE_COMPLEX", group::complex, number::complex, 8, 2),
    sized(kind::long_double_complex_c, "MPI_C_LONG_DOUBLE_COMPLEX", group::complex, complex_extended, 16, 2),
    of<bool>(kind::bool_cxx, "MPI_CXX_BOOL", group::logical, boolean),
    sized(kind::float_complex_cxx, "MPI_CXX_FLOAT_COMPLEX", group::complex, number::complex, 4, 2),
    sized(kind::double_complex_cxx, "MPI_CXX_DOUBLE_COMPLEX", group::complex, number::complex, 8, 2),
    sized(kind::long_double_complex_cxx, "MPI_CXX_LONG_DOUBLE_COMPLEX", group::complex, complex_extended, 16, 2),
    of<char>(kind::character, "MPI_CHARACTER", group::none, bytes),
    sized(kind::logical, "MPI_LOGICAL", group::logical, boolean, 4),
    sized(kind::integer, "MPI_INTEGER", group::fortran_integer, signed_integer, 4),
    sized(kind::real, "MPI_REAL", group::floating, floating, 4),
    sized(kind::double_precision, "MPI_DOUBLE_PRECISION", group::floating, floating, 8),
    sized(kind::complex, "MPI_COMPLEX", group::complex, number::complex, 4, 2),
    sized(kind::double_complex, "MPI_DOUBLE_COMPLEX", group::complex, number::complex, 8, 2),
    sized(kind::logical1, "MPI_LOGICAL1", group::logical, boolean, 1),
    sized(kind::logical2, "MPI_LOGICAL2", group::logical, boolean, 2),
    sized(kind::logical4, "MPI_LOGICAL4", group::logical, boolean, 4),
    sized(kind::logical8, "MPI_LOGICAL8", group::logical, boolean, 8),
    sized(kind::logical16, "MPI_LOGICAL16", group::logical, boolean, 16),
    sized(kind::integer1, "MPI_INTEGER1", group::fortran_integer, signed_integer, 1),
    sized(kind::integer2, "MPI_INTEGER2", group::fortran_integer, signed_integer, 2),
    sized(kind::integer4, "MPI_INTEGER4", group::fortran_integer, signed_integer, 4),
    sized(kind::integer8, "MPI_INTEGER8", group::fortran_integer, signed_integer, 8),
    sized(kind::integer16, "MPI_INTEGER16", group::fortran_integer, signed_integer, 16),
    sized(kind::real2, "MPI_REAL2", group::floating, floating, 2),
    sized(kind::real4, "MPI_REAL4", group::floating, floating, 4),
    sized(kind::real8, "MPI_REAL8", group::floating, floating, 8),
    sized(kind::real16, "MPI_REAL16", group::floating, floating, 16),
    sized(kind::complex4, "MPI_COMPLEX4", group::complex, number::complex, 2, 2),
    sized(kind::complex8, "MPI_COMPLEX8", group::complex, number::complex, 4, 2),
    sized(kind::complex16, "MPI_COMPLEX16", group::complex, number::complex, 8, 2),
    sized(kind::complex32, "MPI_COMPLEX32", group::complex, number::complex, 16, 2),
    paired<float, int>(kind::float_int, "MPI_FLOAT_INT", 8),
    paired<double, int>(kind::double_int, "MPI_DOUBLE_INT", 12),
    paired<long, int>(kind::long_int, "MPI_LONG_INT", 8),
    paired<int, int>(kind::two_int, "MPI_2INT", 8),
    paired<short, int>(kind::short_int, "MPI_SHORT_INT", 6),
    paired<long double, int>(kind::long_double_int, "MPI_LONG_DOUBLE_INT", 20),
    paired<float, float>(kind::two_real, "MPI_2REAL", 8),
    paired<double, double>(kind::two_double_precision, "MPI_2DOUBLE_PRECISION", 16),
    paired<int, int>(kind::two_integer, "MPI_2INTEGER", 8),
}};

constexpr bool in_order()
{
    for (std::size_t i = 0; i < table.size(); ++i)
        if (static_cast<std::size_t>(table[i].self) != i)
            return false;
    return true;
}
static_assert(in_order(), "the table follows the enumeration");
static_assert(sizeof(long double) == 16, "MPI_LONG_DOUBLE takes 16 bytes in memory on every platform that is built for");

} // namespace

kind_info const& info(kind k) noexcept
{
    return table[static_cast<std::size_t>(k)];
}

pair_layout pair_parts(kind pair) noexcept
{
    // The index follows the value at the next multiple of its own size, as C lays out a struct.
    switch (pair) {
    case kind::float_int: return {kind::float_c, kind::int_c, 4};
    case kind::double_int: return {kind::double_c, kind::int_c, 8};
    case kind::long_int: return {kind::long_c, kind::int_c, sizeof(long)};
    case kind::short_int: return {kind::short_c, kind::int_c, 4};
    case kind::long_double_int: return {kind::long_double_c, kind::int_c, 16};
    case kind::two_real: return {kind::real, kind::real, 4};
    case kind::two_double_precision: return {kind::double_precision, kind::double_precision, 8};
    case kind::two_integer: return {kind::integer, kind::integer, 4};
    default: return {kind::int_c, kind::int_c, 4};
    }
}

} // namespace towline::layout
