#include "layout/external32.hpp"

#include "layout/binary128.hpp"
#include "layout/description.hpp"
#include "layout/walk.hpp"

#include <towline/error.hpp>

#include <bit>
#include <cfloat>
#include <cstring>

namespace towline::layout {
namespace {

template <std::size_t Bytes> struct unsigned_of;
template <> struct unsigned_of<1> { using type = std::uint8_t; };
template <> struct unsigned_of<2> { using type = std::uint16_t; };
template <> struct unsigned_of<4> { using type = std::uint32_t; };
template <> struct unsigned_of<8> { using type = std::uint64_t; };

template <class T>
T swapped(T v) noexcept
{
    if constexpr (std::endian::native == std::endian::big || sizeof(T) == 1)
        return v;
    else if constexpr (sizeof(T) == 2)
        return __builtin_bswap16(v);
    else if constexpr (sizeof(T) == 4)
        return __builtin_bswap32(v);
    else
        return __builtin_bswap64(v);
}

template <class T>
T load(std::byte const* p) noexcept
{
    T v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

template <class T>
void store(std::byte* p, T v) noexcept
{
    std::memcpy(p, &v, sizeof v);
}

/// `n` numbers of `Bytes` bytes; the same in both directions.
template <std::size_t Bytes>
void swap_all(std::byte* to, std::byte const* from, std::int64_t n) noexcept
{
    using word = typename unsigned_of<Bytes>::type;
    for (; n > 0; --n, to += Bytes, from += Bytes)
        store(to, swapped(load<word>(from)));
}

void swap_all_16(std::byte* to, std::byte const* from, std::int64_t n) noexcept
{
    constexpr bool big = std::endian::native == std::endian::big;
    for (; n > 0; --n, to += 16, from += 16) {
        auto const first = load<std::uint64_t>(from), second = load<std::uint64_t>(from + 8);
        store(to, big ? first : swapped(second));
        store(to + 8, big ? second : swapped(first));
    }
}

void swap_numbers(std::byte* to, std::byte const* from, std::int64_t n, int bytes) noexcept
{
    switch (bytes) {
    case 1: std::memcpy(to, from, static_cast<std::size_t>(n)); break;
    case 2: swap_all<2>(to, from, n); break;
    case 4: swap_all<4>(to, from, n); break;
    case 8: swap_all<8>(to, from, n); break;
    default: swap_all_16(to, from, n); break;
    }
}

/// Integers of `Wide` here that are `Narrow` there. Returns how many did not fit.
template <class Wide, class Narrow>
std::int64_t shorten(std::byte* to, std::byte const* from, std::int64_t n) noexcept
{
    std::int64_t lost = 0;
    for (; n > 0; --n, to += sizeof(Narrow), from += sizeof(Wide)) {
        auto const value = load<Wide>(from);
        auto const less = static_cast<Narrow>(value);
        lost += static_cast<Wide>(less) != value;
        store(to, swapped(static_cast<std::make_unsigned_t<Narrow>>(less)));
    }
    return lost;
}

template <class Wide, class Narrow>
void lengthen(std::byte* to, std::byte const* from, std::int64_t n) noexcept
{
    for (; n > 0; --n, to += sizeof(Wide), from += sizeof(Narrow))
        store(to, static_cast<Wide>(static_cast<Narrow>(swapped(load<std::make_unsigned_t<Narrow>>(from)))));
}

constexpr bool x87 = LDBL_MANT_DIG == 64;
static_assert(x87 || LDBL_MANT_DIG == 113, "long double is the x87 format or binary128");

void widen_all(std::byte* to, std::byte const* from, std::int64_t n) noexcept
{
    if (!x87)
        return swap_all_16(to, from, n);
    for (; n > 0; --n, to += 16, from += sizeof(long double)) {
        binary128 const q = widen({load<std::uint16_t>(from + 8), load<std::uint64_t>(from)});
        store(to, swapped(q.high));
        store(to + 8, swapped(q.low));
    }
}

void narrow_all(std::byte* to, std::byte const* from, std::int64_t n) noexcept
{
    if (!x87)
        return swap_all_16(to, from, n);
    for (; n > 0; --n, to += sizeof(long double), from += 16) {
        extended80 const x = narrow({swapped(load<std::uint64_t>(from)), swapped(load<std::uint64_t>(from + 8))});
        store(to, x.significand);
        store(to + 8, std::uint64_t{x.sign_exponent});  // and the padding
    }
}

/// Numbers in a basic element, and the bytes of each here.
struct shape {
    int numbers, bytes;
};
shape shape_of(kind_info const& k) noexcept
{
    bool const two = k.form == number::complex || k.form == number::complex_extended;
    return {two ? 2 : 1, two ? k.size / 2 : k.size};
}

bool is_extended(kind_info const& k) noexcept
{
    return k.form == number::extended || k.form == number::complex_extended;
}

/// What blocks have in common: walks them one by one.
template <class Derived>
struct each_block {
    void strided(place_t at, std::int64_t stride, std::int64_t n, std::int64_t bytes, kind unit) noexcept
    {
        for (std::int64_t i = 0; i < n; ++i)
            static_cast<Derived*>(this)->block(moved(at, i, stride), bytes, unit);
    }
    void listed(place_t at, std::int64_t const* displacements, std::int64_t n, std::int64_t bytes, kind unit) noexcept
    {
        for (std::int64_t i = 0; i < n; ++i)
            static_cast<Derived*>(this)->block(moved(at, displacements[i]), bytes, unit);
    }
};

struct encoder : each_block<encoder> {
    std::byte* to;
    std::int64_t lost = 0;
    explicit encoder(std::byte* stream) noexcept : to(stream) {}

    void block(place_t at, std::int64_t bytes, kind unit) noexcept
    {
        kind_info const& k = info(unit);
        auto const* const from = reinterpret_cast<std::byte const*>(at);
        std::int64_t const n = bytes / k.size;
        auto const [numbers, each] = shape_of(k);
        if (k.form == number::bytes)
            std::memcpy(to, from, static_cast<std::size_t>(bytes));
        else if (is_extended(k))
            widen_all(to, from, n * numbers);
        else if (k.external_size == k.size)
            swap_numbers(to, from, n * numbers, each);
        else if (unit == kind::wide_char_c)
            lost += shorten<std::uint32_t, std::uint16_t>(to, from, n);
        else if (k.form == number::signed_integer)
            lost += shorten<std::int64_t, std::int32_t>(to, from, n);
        else
            lost += shorten<std::uint64_t, std::uint32_t>(to, from, n);
        to += n * k.external_size;
    }
};

struct decoder : each_block<decoder> {
    std::byte const* from;
    explicit decoder(std::byte const* stream) noexcept : from(stream) {}

    void block(place_t at, std::int64_t bytes, kind unit) noexcept
    {
        kind_info const& k = info(unit);
        auto* const to = reinterpret_cast<std::byte*>(at);
        std::int64_t const n = bytes / k.size;
        auto const [numbers, each] = shape_of(k);
        if (k.form == number::bytes)
            std::memcpy(to, from, static_cast<std::size_t>(bytes));
        else if (unit == kind::bool_c || unit == kind::bool_cxx)
            for (std::int64_t i = 0; i < n; ++i)
                store(to + i, load<std::uint8_t>(from + i) != 0);  // a bool is 0 or 1, whatever came
        else if (is_extended(k))
            narrow_all(to, from, n * numbers);
        else if (k.external_size == k.size)
            swap_numbers(to, from, n * numbers, each);
        else if (unit == kind::wide_char_c)
            lengthen<std::uint32_t, std::uint16_t>(to, from, n);
        else if (k.form == number::signed_integer)
            lengthen<std::int64_t, std::int32_t>(to, from, n);
        else
            lengthen<std::uint64_t, std::uint32_t>(to, from, n);
        from += n * k.external_size;
    }
};

template <class Sink>
void convert(datatype const& type, std::int64_t count, void const* buffer, Sink& sink) noexcept
{
    placed const& typed = type.describes().typed;
    if (count <= 0 || !typed.tree)
        return;
    walk_loop(*typed.tree, type.extent(), moved(reinterpret_cast<place_t>(buffer), typed.displacement), 0, typed.tree->size * count, sink);
}

} // namespace

std::int64_t external32_size(datatype const& type, std::int64_t count)
{
    std::int64_t size = 0;
    if (count < 0)
        throw usage_error("external32: a message of " + std::to_string(count) + " elements; the count must be 0 or more");
    if (__builtin_mul_overflow(type.external_size(), count, &size))
        throw limit_error("external32: a message of " + std::to_string(count) + " elements of " + std::to_string(type.external_size()) +
                          " bytes is longer than 2^63 - 1 bytes");
    return size;
}

std::int64_t pack_external32(datatype const& type, std::int64_t count, void const* buffer, void* to) noexcept
{
    encoder sink(static_cast<std::byte*>(to));
    convert(type, count, buffer, sink);
    return sink.lost;
}

void unpack_external32(datatype const& type, std::int64_t count, void* buffer, void const* from) noexcept
{
    decoder sink(static_cast<std::byte const*>(from));
    convert(type, count, buffer, sink);
}

} // namespace towline::layout
