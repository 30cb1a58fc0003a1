#pragma once
// The codec of lists of members: the heads of all, then the tails.

#include <towline/detail/archive_codec.hpp>
#include <towline/detail/archive_scalar.hpp>

#include <array>
#include <utility>

namespace towline::detail {

template <class M> inline constexpr bool is_slot = !std::is_const_v<M> && !std::is_reference_v<M>;

/// Runs of bitwise members. If those of a run are contiguous in the object, as in the archive, one copy moves them; the compiler decides
/// this from the members' addresses.
template <class... M> struct raw_runs {
    static constexpr bool raw[sizeof...(M)] = {(bitwise<std::remove_cv_t<M>> && !has_serializer<std::remove_cv_t<M>>)...};
    static constexpr std::size_t sizes[sizeof...(M)] = {sizeof(M)...};

    static consteval std::size_t first(std::size_t i)
    {
        while (i > 0 && raw[i - 1]) {
            --i;
        }
        return i;
    }
    static consteval std::size_t last(std::size_t i)
    {
        while (i + 1 < sizeof...(M) && raw[i + 1]) {
            ++i;
        }
        return i;
    }
    static consteval std::size_t bytes(std::size_t from, std::size_t to) // of both and everything between
    {
        std::size_t sum = 0;
        for (; from <= to; ++from) {
            sum += sizes[from];
        }
        return sum;
    }
    template <std::size_t From, std::size_t To> [[gnu::always_inline]] static bool adjacent(std::byte* const* at)
    {
        if constexpr (From == To) {
            return true;
        } else {
            return at[From + 1] == at[From] + sizes[From] && adjacent<From + 1, To>(at);
        }
    }
};

/// T with members of types M, in order. codec<T> derives from it and has visit(object, f), which calls f(members...).
template <class T, class... M> struct members_codec {
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
        static_cast<void>(get_parts(r, p, {nullptr}, v, 0)); // no member has a tail
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
            return get_members(std::index_sequence_for<M...>{}, r, head, c, depth, m...);
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

private:
    template <std::size_t... I>
    [[gnu::always_inline]] static in_cursor get_members(std::index_sequence<I...>, archive_reader& r, std::byte const* head, in_cursor c,
                                                        std::uint32_t depth, auto&... m)
    {
        std::byte* const at[] = {reinterpret_cast<std::byte*>(std::addressof(m))...};
        ((c = get_member<I>(r, head, c, m, at, depth), head += head_size<M>()), ...);
        return c;
    }
    template <std::size_t I>
    [[gnu::always_inline]] static in_cursor get_member(archive_reader& r, std::byte const* head, in_cursor c, auto& m, std::byte* const* at,
                                                       std::uint32_t depth)
    {
        using runs = raw_runs<M...>;
        if constexpr (runs::raw[I] && runs::first(I) != runs::last(I)) {
            constexpr std::size_t first = runs::first(I);
            constexpr std::size_t last = runs::last(I);
            if (!runs::template adjacent<first, last>(at)) {
                std::memcpy(at[I], head, sizeof(m));
            } else if constexpr (I == first) {
                std::memcpy(at[first], head, runs::bytes(first, last));
            }
            return c;
        } else {
            return detail::get_parts(r, head, c, m, depth);
        }
    }
};

} // namespace towline::detail
