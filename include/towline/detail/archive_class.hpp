#pragma once
// Codecs of aggregates, of classes with a members() function, and of types with a serializer.

#include <towline/detail/archive_members.hpp>
#include <towline/detail/archive_unknown.hpp>

#include <tuple>

namespace towline::detail {

template <class T, class List> struct aggregate_codec;
template <class T, class... M> struct aggregate_codec<T, member_list<M...>> : members_codec<T, M...> {
    template <class V, class F> [[gnu::always_inline]] static decltype(auto) visit(V& v, F&& f)
    {
        return visit_members(v, static_cast<F&&>(f));
    }
};
template <class T> struct aggregate_codec<T, member_list<>> : empty_codec<T> {};

template <plain_aggregate T>
    requires(!bitwise<T>)
struct codec<T> : aggregate_codec<T, members_of<T>> {};

/// The tuple of references from members(); of a const object if there is such an overload.
template <class V> [[gnu::always_inline]] inline auto members_tuple(V& v)
{
    if constexpr (requires { v.members(); }) {
        return v.members();
    } else {
        return const_cast<std::remove_const_t<V>&>(v).members(); // only read
    }
}

template <class T, class Tuple> struct hook_codec;
template <class T, class... M> struct hook_codec<T, std::tuple<M&...>> : members_codec<T, std::remove_cv_t<M>...> {
    using list = members_codec<T, std::remove_cv_t<M>...>;
    static constexpr bool refillable =
        std::is_default_constructible_v<T> && (... && (is_slot<M> && detail::refillable<std::remove_cv_t<M>>));
    static consteval std::size_t head() { return refillable ? list::head() : list::fixed(); }
    template <class V, class F> [[gnu::always_inline]] static decltype(auto) visit(V& v, F&& f) { return std::apply(f, members_tuple(v)); }

    /// For a T that is constructed from its members, in order. The constructor may read them, so they are no chunks; and they are decoded
    /// one after another, so they are not split into heads and tails.
    template <class V> static out_cursor put(archive_writer& w, out_cursor c, V& v, std::uint32_t depth)
    {
        if constexpr (refillable) {
            return list::put(w, c, v, depth);
        } else {
            bool const before = w.set_index_only(true);
            visit(v, [&w, &c, depth](auto&... m) { ((c = put_value(w, c, m, depth)), ...); });
            w.set_index_only(before);
            return c;
        }
    }
    static T make(archive_reader& r, in_cursor& c, std::uint32_t depth)
    {
        using values = std::tuple<std::remove_cv_t<M>...>;
        bool const before = r.set_index_only(true);
        values v{detail::make<std::remove_cv_t<M>>(r, c, depth)...};
        r.set_index_only(before);
        return std::apply([](auto&... m) { return T(std::move(m)...); }, v);
    }
    static T make_parts(archive_reader& r, std::byte const* head, in_cursor&, std::uint32_t depth)
    {
        in_cursor c{head}; // the whole head is available
        return make(r, c, depth);
    }
};
template <class T> struct hook_codec<T, std::tuple<>> : empty_codec<T> {};

template <class T>
    requires(std::is_class_v<T> && has_members<T> && !bitwise<T>)
struct codec<T> : hook_codec<T, decltype(members_tuple(std::declval<T&>()))> {};

template <class T>
concept is_range_serializer = requires { requires serializer<T>::is_range; };

/// A type with a serializer. The cursor goes back into writer and reader, because the serializer uses these. A value that wrote nothing to
/// the index gets one zero byte there. A serializer with is_range writes one range and reads it by read_range: the first byte of its count
/// goes to the head, as that of a vector does.
template <class T> struct serializer_codec : varying_codec<1, is_range_serializer<T> ? 1 : 0> {
    using custom = serializer<T>;
    static constexpr bool loads_into = requires(archive_reader& r, T& v) { custom::load_into(r, v); };
    static constexpr bool refillable = std::is_default_constructible_v<T> && (loads_into || std::is_move_assignable_v<T>);
    static constexpr bool holds_view = requires { requires custom::holds_view; };
    static constexpr bool looks_inside = requires { requires custom::looks_inside; };

    template <class V> static out_cursor put(archive_writer& w, out_cursor c, V& v, std::uint32_t depth)
    {
        c = w.ensure(c, 1);
        w.seek(c);
        std::size_t const at = w.written();
        save(w, v, depth);
        c = w.cursor();
        if (w.written() == at) {
            c = w.ensure(c, 1);
            *c.p++ = std::byte{0};
        }
        return c;
    }
    template <class V> static void put_head(archive_writer&, std::byte* h, V&) { *h = std::byte{0}; }
    /// The range begins at the byte before the tail; that byte is restored.
    template <class V> static out_cursor put_tail(archive_writer& w, std::size_t head, out_cursor c, V& v, std::uint32_t depth)
    {
        c = w.ensure(c, 1);
        std::size_t const begin = w.offset(c) - 1;
        std::byte const own = *w.at(begin);
        w.seek({c.p - 1});
        save(w, v, depth);
        if (w.written() == begin) {
            throw usage_error("towline::serializer: is_range, but save() wrote no range");
        }
        *w.at(head) = std::exchange(*w.at(begin), own); // they may be the same byte
        return w.cursor();
    }
    static in_cursor get(archive_reader& r, in_cursor c, T& v, std::uint32_t depth)
    {
        bool before = false;
        std::uint32_t const outer = enter(r, c, depth, before);
        if constexpr (loads_into) {
            custom::load_into(r, v);
        } else {
            v = custom::load(r);
        }
        return leave(r, c, outer, before);
    }
    static T make(archive_reader& r, in_cursor& c, std::uint32_t depth)
    {
        bool before = false;
        std::uint32_t const outer = enter(r, c, depth, before);
        T value = custom::load(r);
        c = leave(r, c, outer, before);
        return value;
    }
    static in_cursor get_parts(archive_reader& r, std::byte const* head, in_cursor c, T& v, std::uint32_t depth)
    {
        r.set_range_head(head);
        return get(r, c, v, depth);
    }
    static T make_parts(archive_reader& r, std::byte const* head, in_cursor& c, std::uint32_t depth)
    {
        r.set_range_head(head);
        return make(r, c, depth);
    }

private:
    template <class V> static void save(archive_writer& w, V& v, std::uint32_t depth)
    {
        w.check_depth(depth);
        std::uint32_t const outer = w.set_depth(depth + 1);
        bool const before = w.set_index_only(looks_inside || w.index_only());
        if constexpr (std::is_const_v<V>) {
            custom::save(w, v);
        } else {
            custom::save(w, std::move(v));
        }
        w.set_index_only(before);
        w.set_depth(outer);
    }
    static std::uint32_t enter(archive_reader& r, in_cursor c, std::uint32_t depth, bool& before)
    {
        r.check_depth(c, depth);
        r.seek(c);
        before = r.set_index_only(true);
        r.set_index_only(before || looks_inside);
        return r.set_depth(depth + 1);
    }
    static in_cursor leave(archive_reader& r, in_cursor c, std::uint32_t outer, bool before)
    {
        r.set_depth(outer);
        r.set_index_only(before);
        in_cursor now = r.cursor();
        if constexpr (is_range_serializer<T>) {
            if (r.range_head() != nullptr) {
                throw usage_error("towline::serializer: is_range, but load() did not call read_range()");
            }
        } else if (now.p == c.p) {
            r.need(now, 1, typeid(T));
            if (*now.p != std::byte{0}) {
                r.fail_value(now.p, "another byte", "0 for a value without index bytes", typeid(T));
            }
            ++now.p;
        }
        return now;
    }
};

} // namespace towline::detail
