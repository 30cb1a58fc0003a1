#pragma once
// The basic kinds of data: what the predefined datatypes of the MPI standard ABI are made of (MPI-5.0, "Message Data"), by numbers of
// our own. Kinds that look alike in memory (int, MPI_INTEGER, int32_t) stay apart: the standard's rules and external32 tell them apart.
//
// Pure data; any thread.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace towline::layout {

enum class kind : std::uint8_t {
    byte, packed, character_c, signed_char_c, unsigned_char_c, wide_char_c, bool_c,
    short_c, unsigned_short_c, int_c, unsigned_c, long_c, unsigned_long_c, long_long_c, unsigned_long_long_c,
    int8, uint8, int16, uint16, int32, uint32, int64, uint64,
    aint, count, offset,
    float_c, double_c, long_double_c, float_complex_c, double_complex_c, long_double_complex_c,
    bool_cxx, float_complex_cxx, double_complex_cxx, long_double_complex_cxx,
    character, logical, integer, real, double_precision, complex, double_complex,
    logical1, logical2, logical4, logical8, logical16,
    integer1, integer2, integer4, integer8, integer16,
    real2, real4, real8, real16, complex4, complex8, complex16, complex32,
    // Pairs of a value and an index: C structs, with C's padding
    float_int, double_int, long_int, two_int, short_int, long_double_int, two_real, two_double_precision, two_integer,
};
inline constexpr std::size_t kinds = static_cast<std::size_t>(kind::two_integer) + 1;

/// The groups by which the standard allows reductions ("Predefined Reduction Operations"). `none` takes part in none.
enum class kind_class : std::uint8_t { none, byte, c_integer, fortran_integer, multi_language, floating, logical, complex, pair };

/// How the bytes of a kind mean a number. A complex is two floating ones, a pair is two kinds (see `pair_parts`).
enum class number : std::uint8_t { bytes, signed_integer, unsigned_integer, boolean, floating, extended, complex, complex_extended, pair };

struct kind_info {
    kind self;
    std::string_view name;       ///< of the predefined datatype, as MPI_Type_get_name gives it
    kind_class group;
    number form;                 ///< `extended`: the C compiler's long double, whatever that is here
    std::uint8_t size;           ///< bytes of data; a pair's padding does not count
    std::uint8_t extent;         ///< bytes from one to the next in an array
    std::uint8_t alignment;      ///< of the C type; of Fortran's the like
    std::uint8_t external_size;  ///< bytes in external32
};

[[nodiscard]] kind_info const& info(kind) noexcept;

/// The two kinds of a pair, and where the second lies.
struct pair_layout {
    kind value, index;
    std::uint8_t index_offset;
};
[[nodiscard]] pair_layout pair_parts(kind pair) noexcept;

} // namespace towline::layout
