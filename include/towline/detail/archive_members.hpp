#pragma once
// The codec of anything that is a list of members: one check of room for each run of members of fixed size.

#include <towline/detail/archive_codec.hpp>
#include <towline/detail/archive_scalar.hpp>

#include <array>
#include <utility>

namespace towline::detail {

/// For each member: the bytes of the run of fixed-size members that starts there; 0 inside a run and for the others.
template <class... M> consteval auto plan_runs()
{
    constexpr std::size_t n = sizeof...(M);
    std::array<std::size_t, n> const fixed{fixed_size<M>()...};
    std::array<std::size_t, n> run{};
    for (std::size_t i = 0; i < n;) {
        std::size_t const start = i++;
        if (fixed[start] > 0) {
            run[start] = fixed[start];
            for (; i < n && fixed[i] > 0; ++i) {
                run[start] += fixed[i];
            }
        }
    }
    return run;
}

template <std::size_t Run, class V>
[[gnu::always_inline]] inline out_cursor put_member(archive_writer& w, out_cursor c, V& v, std::uint32_t depth)
{
    if constexpr (fixed_size<V>() == 0) {
        return put_value(w, c, v, depth);
    } else {
        if constexpr (Run > 0) {
            c = w.ensure(c, Run);
        }
        codec_of<V>::store(c.p, v);
        c.p += fixed_size<V>();
        return c;
    }
}

template <class T, std::size_t Run, class V>
[[gnu::always_inline]] inline in_cursor get_member(archive_reader& r, in_cursor c, V& v, std::uint32_t depth)
{
    if constexpr (fixed_size<V>() == 0) {
        return get_value(r, c, v, depth);
    } else {
        if constexpr (Run > 0) {
            r.need(c, Run, typeid(T));
        }
        codec_of<V>::load(r, c.p, v);
        c.p += fixed_size<V>();
        return c;
    }
}

template <class M> inline constexpr bool is_slot = !std::is_const_v<M> && !std::is_reference_v<M>;

/// T with members of types M, in order. codec<T> derives from it and has visit(object, f), which calls f(members...).
template <class T, class... M> struct members_codec {
    static_assert((... && !std::is_reference_v<M>), "towline: a reference cannot travel: hold a value (std::string, std::vector) or a view");
    static_assert((... && !std::is_pointer_v<std::remove_cv_t<M>>), "towline: a pointer cannot travel: hold a value, std::unique_ptr or a view");
    static constexpr bool refillable = std::is_default_constructible_v<T> && (... && (is_slot<M> && detail::refillable<M>));
    static constexpr bool holds_view = (... || codec_of<M>::holds_view);
    static consteval std::size_t fixed() { return (... && (fixed_size<M>() > 0)) ? (std::size_t{0} + ... + fixed_size<M>()) : 0; }
    static consteval std::size_t min_size() { return (std::size_t{0} + ... + detail::min_size<M>()); }
    static consteval std::size_t heap_cost() { return (std::size_t{0} + ... + codec_of<M>::heap_cost()); }

    template <class V> [[gnu::always_inline]] static void store(std::byte* p, V& v)
    {
        codec<T>::visit(v, [p](auto&... m) __attribute__((always_inline)) {
            std::byte* to = p;
            ((codec_of<M>::store(to, m), to += fixed_size<M>()), ...);
        });
    }
    [[gnu::always_inline]] static void load(archive_reader& r, std::byte const* p, T& v)
    {
        codec<T>::visit(v, [&r, p](auto&... m) __attribute__((always_inline)) {
            std::byte const* from = p;
            ((codec_of<M>::load(r, from, m), from += fixed_size<M>()), ...);
        });
    }
    template <class V> [[gnu::always_inline]] static out_cursor put(archive_writer& w, out_cursor c, V& v, std::uint32_t depth)
    {
        return codec<T>::visit(v, [&w, c, depth](auto&... m) __attribute__((always_inline)) {
            return put_all(w, c, depth, std::index_sequence_for<M...>{}, m...);
        });
    }
    [[gnu::always_inline]] static in_cursor get(archive_reader& r, in_cursor c, T& v, std::uint32_t depth)
    {
        return codec<T>::visit(v, [&r, c, depth](auto&... m) __attribute__((always_inline)) {
            return get_all(r, c, depth, std::index_sequence_for<M...>{}, m...);
        });
    }
    static T make(archive_reader& r, in_cursor& c, std::uint32_t depth)
    {
        return T{detail::make<std::remove_cv_t<M>>(r, c, depth)...}; // braces: in order
    }

private:
    template <std::size_t... I, class... V>
    [[gnu::always_inline]] static out_cursor put_all(archive_writer& w, out_cursor c, std::uint32_t depth, std::index_sequence<I...>, V&... m)
    {
        ((c = put_member<plan_runs<M...>()[I]>(w, c, m, depth)), ...);
        return c;
    }
    template <std::size_t... I, class... V>
    [[gnu::always_inline]] static in_cursor get_all(archive_reader& r, in_cursor c, std::uint32_t depth, std::index_sequence<I...>, V&... m)
    {
        ((c = get_member<T, plan_runs<M...>()[I]>(r, c, m, depth)), ...);
        return c;
    }
};

} // namespace towline::detail
