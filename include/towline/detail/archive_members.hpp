#pragma once
// The codec of anything that is a list of members: the heads of all, then the tails.

#include <towline/detail/archive_codec.hpp>
#include <towline/detail/archive_scalar.hpp>

#include <array>
#include <utility>

namespace towline::detail {

template <class M> inline constexpr bool is_slot = !std::is_const_v<M> && !std::is_reference_v<M>;

/// T with members of types M, in order. codec<T> derives from it and has visit(object, f), which calls f(members...).
template <class T, class... M> struct members_codec {
    static_assert((... && !std::is_reference_v<M>),
                  "towline: a reference cannot travel: hold a value (std::string, std::vector) or a view");
    static_assert((... && !std::is_pointer_v<std::remove_cv_t<M>>),
                  "towline: a pointer cannot travel: hold a value, std::unique_ptr or a view");
    static constexpr bool refillable = std::is_default_constructible_v<T> && (... && (is_slot<M> && detail::refillable<M>));
    static constexpr bool holds_view = (... || codec_of<M>::holds_view);
    static consteval std::size_t head() { return (std::size_t{0} + ... + head_size<M>()); }
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
    template <class V> [[gnu::always_inline]] static void put_head(archive_writer& w, std::byte* h, V& v)
    {
        codec<T>::visit(v, [&w, h](auto&... m) __attribute__((always_inline)) {
            std::byte* to = h;
            ((detail::put_head(w, to, m), to += head_size<M>()), ...);
        });
    }
    template <class V>
    [[gnu::always_inline]] static out_cursor put_tail(archive_writer& w, std::size_t head, out_cursor c, V& v, std::uint32_t depth)
    {
        return codec<T>::visit(v, [&w, head, c, depth](auto&... m) __attribute__((always_inline)) {
            out_cursor at = c;
            std::size_t h = head;
            ((at = detail::put_tail(w, h, at, m, depth), h += head_size<M>()), ...);
            return at;
        });
    }
    [[gnu::always_inline]] static in_cursor get_parts(archive_reader& r, std::byte const* head, in_cursor c, T& v, std::uint32_t depth)
    {
        return codec<T>::visit(v, [&r, head, c, depth](auto&... m) __attribute__((always_inline)) {
            in_cursor at = c;
            std::byte const* h = head;
            ((at = detail::get_parts(r, h, at, m, depth), h += head_size<M>()), ...);
            return at;
        });
    }
    static T make_parts(archive_reader& r, std::byte const* head, in_cursor& c, std::uint32_t depth)
    {
        std::byte const* h = head;
        auto const next = [&h](std::size_t size) { return std::exchange(h, h + size); };
        return T{detail::make_parts<std::remove_cv_t<M>>(r, next(head_size<M>()), c, depth)...}; // braces: in order
    }
    static out_cursor put(archive_writer& w, out_cursor c, auto& v, std::uint32_t depth) { return put_tail(w, 0, c, v, depth); }
    static in_cursor get(archive_reader& r, in_cursor c, T& v, std::uint32_t depth) { return get_parts(r, nullptr, c, v, depth); }
    static T make(archive_reader& r, in_cursor& c, std::uint32_t depth) { return make_parts(r, nullptr, c, depth); }
};

} // namespace towline::detail
