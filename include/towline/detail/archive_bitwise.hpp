#pragma once
// Types that are their own encoding: the archive has their bytes in memory, and all bytes are valid values.

#include <towline/archive_chunk.hpp>
#include <towline/detail/members_bind.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

static_assert(std::endian::native == std::endian::little, "towline: the archive is written for little-endian machines");

namespace towline {

/// Gives an enum a range check: specialise it with `static constexpr E min = ..., max = ...;`. Other enums accept every value of their
/// underlying type.
template <class E> struct enum_range;

namespace detail {

template <class E>
concept ranged_enum = std::is_enum_v<E> && requires {
    enum_range<E>::min;
    enum_range<E>::max;
};

template <class T> inline constexpr bool is_std_array = false;
template <class T, std::size_t N> inline constexpr bool is_std_array<std::array<T, N>> = true;

template <class T>
concept has_serializer = requires { sizeof(serializer<T>); };

template <class T>
concept has_members = requires(T& t) { t.members(); } || requires(T const& t) { t.members(); };

/// An aggregate class whose members the library finds.
template <class T>
concept plain_aggregate =
    std::is_class_v<T> && std::is_aggregate_v<T> && !std::is_union_v<T> && !is_std_array<T> && !has_members<T>;

template <class T, class = void> inline constexpr bool zero_bytes_make = false; // false for pointers, references and unions inside
template <class T>
inline constexpr bool
    zero_bytes_make<T, std::enable_if_t<(static_cast<void>(std::bit_cast<T>(std::array<std::byte, sizeof(T)>{})), true)>> = true;

template <class T> consteval bool looks_bitwise();

} // namespace detail

/// True for types that travel as the bytes they are in memory: numbers, enums, and arrays and aggregates of such without padding.
/// Never found by itself: pointers, bool (not every byte is one), enums with a range, anything with padding. Specialise it as true for a
/// trivially copyable type that you want to travel with its padding:
/// `template <> inline constexpr bool towline::bitwise<my_type> = true;`.
template <class T> inline constexpr bool bitwise = detail::looks_bitwise<T>();
template <class T, std::size_t N> inline constexpr bool bitwise<T[N]> = bitwise<T>;
template <class T, std::size_t N> inline constexpr bool bitwise<std::array<T, N>> = N > 0 && bitwise<T>;

namespace detail {

template <class... M> struct member_list {
    static constexpr bool all_bitwise = (... && bitwise<std::remove_cv_t<M>>);
    static constexpr std::size_t size = (std::size_t{0} + ... + sizeof(M));
};

struct list_members {
    template <class... M> constexpr member_list<M...> operator()(M&...) const { return {}; }
};

template <class T> using members_of = decltype(visit_members(std::declval<T&>(), list_members{}));

template <class T> consteval bool looks_bitwise()
{
    if constexpr (std::is_same_v<T, bool> || std::is_const_v<T> || std::is_volatile_v<T>) {
        return false;
    } else if constexpr (std::is_enum_v<T>) {
        return !ranged_enum<T> && !has_serializer<T> && !std::is_same_v<std::underlying_type_t<T>, bool>;
    } else if constexpr (std::is_integral_v<T>) {
        return true;
    } else if constexpr (std::is_floating_point_v<T>) {
        return std::numeric_limits<T>::is_iec559 && sizeof(T) <= 8; // an x87 long double has padding
    } else if constexpr (std::is_class_v<T> && std::is_trivially_copyable_v<T> && !std::is_empty_v<T>) {
        if constexpr (plain_aggregate<T> && !has_serializer<T> && zero_bytes_make<T>) {
            using members = members_of<T>;
            return members::all_bitwise && members::size == sizeof(T);
        } else {
            return false;
        }
    } else {
        return false;
    }
}

} // namespace detail
} // namespace towline
