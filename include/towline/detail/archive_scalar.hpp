#pragma once
// Codecs of numbers, enums, bool, everything bitwise, and C arrays and std::array.

#include <towline/detail/archive_codec.hpp>

#include <array>
#include <string>

namespace towline::detail {

template <class T>
    requires bitwise<T>
struct codec<T> : fixed_codec<sizeof(T)> {
    static_assert(std::is_trivially_copyable_v<T>, "towline: only a trivially copyable type may be bitwise");
    static constexpr bool refillable = std::is_default_constructible_v<T>;

    [[gnu::always_inline]] static void store(std::byte* p, T const& v) { std::memcpy(p, &v, sizeof(T)); }
    [[gnu::always_inline]] static void load(archive_reader&, std::byte const* p, T& v)
    {
        std::memcpy(static_cast<void*>(&v), p, sizeof(T));
    }

    static T make_parts(archive_reader&, std::byte const* head, in_cursor&, std::uint32_t)
    {
        std::array<std::byte, sizeof(T)> bytes;
        std::memcpy(bytes.data(), head, sizeof(T));
        return std::bit_cast<T>(bytes);
    }
};

template <> struct codec<bool> : fixed_codec<1> {
    static void store(std::byte* p, bool v) { *p = static_cast<std::byte>(v); }
    [[gnu::always_inline]] static void load(archive_reader& r, std::byte const* p, bool& v)
    {
        if (*p > std::byte{1}) [[unlikely]] {
            r.fail_value(p, std::to_string(std::to_integer<int>(*p)), "0 or 1", typeid(bool));
        }
        v = *p != std::byte{0};
    }
};

template <> struct codec<long double> : fixed_codec<16> { // its padding is written as zeros
    static constexpr std::size_t used = std::numeric_limits<long double>::digits == 64 ? 10 : sizeof(long double);
    static void store(std::byte* p, long double const& v)
    {
        std::memset(p, 0, 16);
        std::memcpy(p, &v, used);
    }
    static void load(archive_reader&, std::byte const* p, long double& v)
    {
        v = 0;
        std::memcpy(static_cast<void*>(&v), p, used);
    }
};

template <ranged_enum E>
    requires(!bitwise<E>)
struct codec<E> : fixed_codec<sizeof(E)> {
    static void store(std::byte* p, E v) { store_raw(p, v); }
    [[gnu::always_inline]] static void load(archive_reader& r, std::byte const* p, E& v)
    {
        using number = std::underlying_type_t<E>;
        constexpr auto min = static_cast<number>(enum_range<E>::min);
        constexpr auto max = static_cast<number>(enum_range<E>::max);
        auto const n = load_raw<number>(p);
        if (n < min || n > max) [[unlikely]] {
            r.fail_value(p, std::to_string(n), (std::to_string(min) + " to " + std::to_string(max)).c_str(), typeid(E));
        }
        v = static_cast<E>(n);
    }
};

/// For types without content: one zero byte, so that a count of values never exceeds the number of bytes.
template <class T> struct empty_codec : fixed_codec<1> {
    static constexpr bool refillable = std::is_default_constructible_v<T>;
    static void store(std::byte* p, T const&) { *p = std::byte{0}; }
    static void load(archive_reader& r, std::byte const* p, T&)
    {
        if (*p != std::byte{0}) [[unlikely]] {
            r.fail_value(p, std::to_string(std::to_integer<int>(*p)), "0", typeid(T));
        }
    }
    static T make_parts(archive_reader& r, std::byte const*, in_cursor&, std::uint32_t) = delete;
};

/// N values of E, without a count.
template <class T, class E, std::size_t N> struct array_codec {
    static constexpr bool refillable = detail::refillable<E>;
    static constexpr bool holds_view = codec_of<E>::holds_view;
    static consteval std::size_t head() { return head_size<E>() * N; }
    static consteval std::size_t fixed() { return fixed_size<E>() * N; }
    static consteval std::size_t min_size() { return detail::min_size<E>() * N; }
    static consteval std::size_t heap_cost() { return codec_of<E>::heap_cost() * N; }

    [[gnu::always_inline]] static void store(std::byte* p, auto& v)
    {
        if constexpr (bitwise<E>) {
            std::memcpy(p, &v, sizeof(v));
        } else {
            for (auto& e : v) {
                codec_of<E>::store(p, e);
                p += fixed_size<E>();
            }
        }
    }
    [[gnu::always_inline]] static void load(archive_reader& r, std::byte const* p, T& v)
    {
        if constexpr (bitwise<E>) {
            std::memcpy(static_cast<void*>(&v), p, sizeof(v));
        } else {
            for (auto& e : v) {
                codec_of<E>::load(r, p, e);
                p += fixed_size<E>();
            }
        }
    }
    static void put_head(archive_writer& w, std::byte* h, auto& v)
    {
        for (auto& e : v) {
            detail::put_head(w, h, e);
            h += head_size<E>();
        }
    }
    static out_cursor put_tail(archive_writer& w, std::size_t head, out_cursor c, auto& v, std::uint32_t depth)
    {
        for (auto& e : v) {
            c = detail::put_tail(w, head, c, e, depth);
            head += head_size<E>();
        }
        return c;
    }
    static in_cursor get_parts(archive_reader& r, std::byte const* head, in_cursor c, T& v, std::uint32_t depth)
    {
        for (auto& e : v) {
            c = detail::get_parts(r, head, c, e, depth);
            head += head_size<E>();
        }
        return c;
    }
    static out_cursor put(archive_writer& w, out_cursor c, auto& v, std::uint32_t depth) { return put_tail(w, 0, c, v, depth); }
    static in_cursor get(archive_reader& r, in_cursor c, T& v, std::uint32_t depth) { return get_parts(r, nullptr, c, v, depth); }
};

template <class E, std::size_t N> struct codec<E[N]> : array_codec<E[N], E, N> {};

template <class E, std::size_t N> struct codec<std::array<E, N>> : array_codec<std::array<E, N>, E, N> {
    static std::array<E, N> make_parts(archive_reader& r, std::byte const* head, in_cursor& c, std::uint32_t depth)
    {
        return make_elements(r, head, c, depth, std::make_index_sequence<N>{});
    }
    static std::array<E, N> make(archive_reader& r, in_cursor& c, std::uint32_t depth) { return make_parts(r, nullptr, c, depth); }

private:
    template <std::size_t... I>
    static std::array<E, N> make_elements(archive_reader& r, std::byte const* head, in_cursor& c, std::uint32_t depth,
                                          std::index_sequence<I...>)
    {
        return {{detail::make_parts<E>(r, head + I * head_size<E>(), c, depth)...}};
    }
};
template <class E> struct codec<std::array<E, 0>> : empty_codec<std::array<E, 0>> {};

} // namespace towline::detail
