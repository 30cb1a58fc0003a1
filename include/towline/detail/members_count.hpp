#pragma once
// How many members an aggregate has, found by braced initialisation: T{{}, {}, ...} takes one pair of braces a member (a C array is one
// member), and no more pairs than members. An aggregate with a member that has no default constructor is counted with an object that
// converts to anything; there an array takes one initialiser an element, which nested braces then tell apart.
// The long part is a table: a pack cannot expand to empty braces.

#include <cstddef>
#include <type_traits>
#include <utility>

namespace towline::detail {

inline constexpr std::size_t max_members = 64;

/// Converts to the type of any member. Never defined: only for unevaluated initialisers.
struct anything {
    template <class T> operator T() const;
};

/// Converts to base classes of T only.
template <class T> struct any_base_of {
    template <class Base>
        requires(std::is_base_of_v<Base, T> && !std::is_same_v<Base, T>)
    operator Base() const;
};

template <class T>
concept has_base = requires { T{any_base_of<T>{}}; };

template <class T, std::size_t N> consteval bool takes_braces()
{
    // clang-format off
    if constexpr (N == 1) return requires { T{{}}; };
    else if constexpr (N == 2) return requires { T{{}, {}}; };
    else if constexpr (N == 3) return requires { T{{}, {}, {}}; };
    else if constexpr (N == 4) return requires { T{{}, {}, {}, {}}; };
    else if constexpr (N == 5) return requires { T{{}, {}, {}, {}, {}}; };
    else if constexpr (N == 6) return requires { T{{}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 7) return requires { T{{}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 8) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 9) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 10) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 11) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 12) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 13) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 14) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 15) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 16) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 17) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 18) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 19) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 20) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 21) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 22) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 23) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 24) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 25) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 26) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 27) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 28) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 29) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 30) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 31) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 32) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 33) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}}; };
    else if constexpr (N == 34) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}}; };
    else if constexpr (N == 35) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}}; };
    else if constexpr (N == 36) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}}; };
    else if constexpr (N == 37) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 38) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 39) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 40) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 41) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 42) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 43) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 44) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 45) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 46) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 47) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 48) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 49) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 50) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 51) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 52) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 53) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 54) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 55) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 56) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 57) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 58) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 59) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 60) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 61) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 62) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 63) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
    else if constexpr (N == 64) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}}; };
    else if constexpr (N == 65) return requires { T{
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}}; };
    // clang-format on
}

template <class T, std::size_t Low, std::size_t High> consteval std::size_t last_braces() // Low pairs are accepted, High are not
{
    if constexpr (Low + 1 == High) {
        return Low;
    } else if constexpr (takes_braces<T, (Low + High) / 2>()) {
        return last_braces<T, (Low + High) / 2, High>();
    } else {
        return last_braces<T, Low, (Low + High) / 2>();
    }
}

template <std::size_t> using anything_at = anything;

template <class T, class Before, class Nested, class After> struct takes_nested;
template <class T, std::size_t... B, std::size_t... N, std::size_t... A>
struct takes_nested<T, std::index_sequence<B...>, std::index_sequence<N...>, std::index_sequence<A...>> {
    static constexpr bool flat = requires { T{anything_at<B>{}...}; };
    static constexpr bool nested = requires { T{anything_at<B>{}..., {anything_at<N>{}...}, anything_at<A>{}...}; };
};

template <class T, std::size_t N> consteval bool takes_flat()
{
    return takes_nested<T, std::make_index_sequence<N>, std::index_sequence<>, std::index_sequence<>>::flat;
}

template <class T, std::size_t B, std::size_t N, std::size_t A> consteval bool takes_group()
{
    return takes_nested<T, std::make_index_sequence<B>, std::make_index_sequence<N>, std::make_index_sequence<A>>::nested;
}

template <class T, std::size_t N> consteval std::size_t last_flat()
{
    if constexpr (N == 0 || takes_flat<T, N>()) {
        return N;
    } else {
        return last_flat<T, N - 1>();
    }
}

/// The number of initialisers, of All, that the member at At takes: more than one only for an array.
template <class T, std::size_t At, std::size_t All, std::size_t N> consteval std::size_t group_at()
{
    if constexpr (N <= 1) {
        return 1;
    } else if constexpr (takes_group<T, At, N, All - At - N>() && !takes_group<T, At, N, All - At - N + 1>()) {
        return N;
    } else {
        return group_at<T, At, All, N - 1>();
    }
}

template <class T, std::size_t At, std::size_t All> consteval std::size_t count_groups()
{
    if constexpr (At >= All) {
        return 0;
    } else {
        return 1 + count_groups<T, At + group_at<T, At, All, All - At>(), All>();
    }
}

template <class T> consteval std::size_t count_members()
{
    static_assert(!has_base<T>, "towline: an aggregate with a base class needs a function that names its state: "
                                "auto members() { return std::tie(a, b); }, and the same const; or a towline::serializer");
    if constexpr (has_base<T>) {
        return 0;
    } else if constexpr (!requires { T{}; }) {
        return count_groups<T, 0, last_flat<T, max_members + 1>()>();
    } else if constexpr (std::is_empty_v<T> && !takes_braces<T, 1>()) {
        return 0;
    } else {
        return last_braces<T, 0, max_members + 2>();
    }
}

template <class T> inline constexpr std::size_t member_count = count_members<T>();

} // namespace towline::detail
