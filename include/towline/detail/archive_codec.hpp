#pragma once
// The codec of a type: what it has, and how it is found.
//
// A value has a head, whose size depends only on its type, and a tail. Numbers have only a head; the head of a contiguous range is the
// first byte of its count; arrays, aggregates and tuples have the heads of their parts, in order; other types have only a tail. A vector is
// the heads of all elements, then their tails. So decoding an element does not wait for the length of the one before, and heads are checked
// for room once for the whole vector.
//
// codec<T> has
//     head()       bytes of the head; 0 for a type that has only a tail
//     fixed()      the same if there is no tail, else 0
//     min_size()   least bytes of a value; never 0, so that a count of values never exceeds the number of bytes
//     heap_cost()  bytes that an empty object allocates (a deque does)
//     refillable   a value can be read into an existing object, and T has a default constructor
//     holds_view   the decoded value refers to the message
// and
//     store, load             if fixed (without checks of room, which the caller makes)
//     put_head, put_tail, get_parts    if there is a head and a tail
//     put, get                if there is only a tail
// and, if refillable is false, make_parts (with a head) or make (without).
// An object being written is `V&`: const if it is lent, not const if it may change owner.

#include <towline/archive_reader.hpp>
#include <towline/archive_writer.hpp>
#include <towline/detail/archive_bitwise.hpp>

#include <concepts>

namespace towline::detail {

template <class T> struct serializer_codec; // archive_class.hpp: calls serializer<T>

template <class T> struct find_codec {
    using type = codec<T>;
};
template <has_serializer T> struct find_codec<T> {
    using type = serializer_codec<T>;
};
template <class T> using codec_of = typename find_codec<std::remove_cv_t<T>>::type;

template <class T> consteval std::size_t fixed_size()
{
    return codec_of<T>::fixed();
}
template <class T> consteval std::size_t head_size()
{
    return codec_of<T>::head();
}
template <class T> consteval std::size_t min_size()
{
    return codec_of<T>::min_size();
}
/// Bytes charged to the budget for one separately allocated T.
template <class T> consteval std::size_t cost()
{
    return sizeof(T) + codec_of<T>::heap_cost();
}
template <class T> inline constexpr bool refillable = codec_of<T>::refillable;

/// Base of a codec whose encoding always takes Size bytes.
template <std::size_t Size> struct fixed_codec {
    static constexpr bool refillable = true;
    static constexpr bool holds_view = false;
    static consteval std::size_t head() { return Size; }
    static consteval std::size_t fixed() { return Size; }
    static consteval std::size_t min_size() { return Size; }
    static consteval std::size_t heap_cost() { return 0; }
};

/// Base of a codec whose encoding takes Min bytes or more, Head of them in the head.
template <std::size_t Min = 1, std::size_t Head = 0> struct varying_codec {
    static constexpr bool refillable = true;
    static constexpr bool holds_view = false;
    static consteval std::size_t head() { return Head; }
    static consteval std::size_t fixed() { return 0; }
    static consteval std::size_t min_size() { return Min; }
    static consteval std::size_t heap_cost() { return 0; }
};

/// Writes the head to h, which has room for it.
template <class V> [[gnu::always_inline]] inline void put_head(archive_writer& w, std::byte* h, V& v)
{
    using codec = codec_of<V>;
    if constexpr (codec::fixed() > 0) {
        codec::store(h, v);
    } else if constexpr (codec::head() > 0) {
        codec::put_head(w, h, v);
    }
}

/// Appends the tail of a value whose head was written at this offset.
template <class V>
[[gnu::always_inline]] inline out_cursor put_tail(archive_writer& w, std::size_t head, out_cursor c, V& v, std::uint32_t depth)
{
    using codec = codec_of<V>;
    if constexpr (codec::fixed() > 0) {
        return c;
    } else if constexpr (codec::head() > 0) {
        return codec::put_tail(w, head, c, v, depth);
    } else {
        return codec::put(w, c, v, depth);
    }
}

/// Head and tail, one after the other.
template <class V> [[gnu::always_inline]] inline out_cursor put_value(archive_writer& w, out_cursor c, V& v, std::uint32_t depth)
{
    constexpr std::size_t size = head_size<V>();
    if constexpr (size > 0) {
        c = w.ensure(c, size);
        put_head(w, c.p, v);
        c.p += size;
    }
    return put_tail(w, w.offset(c) - size, c, v, depth);
}

/// Decodes a value from its head, which is available, and its tail.
template <class T>
[[gnu::always_inline]] inline in_cursor get_parts(archive_reader& r, std::byte const* head, in_cursor c, T& v, std::uint32_t depth)
{
    using codec = codec_of<T>;
    static_assert(codec::refillable, "towline: this type can only be made anew (read<T>()), not read into");
    if constexpr (codec::fixed() > 0) {
        codec::load(r, head, v);
        return c;
    } else if constexpr (codec::head() > 0) {
        return codec::get_parts(r, head, c, v, depth);
    } else {
        return codec::get(r, c, v, depth);
    }
}

template <class T>
[[gnu::always_inline]] inline T make_parts(archive_reader& r, std::byte const* head, in_cursor& c, std::uint32_t depth)
{
    if constexpr (refillable<T>) {
        T value{};
        c = get_parts(r, head, c, value, depth);
        return value;
    } else if constexpr (head_size<T>() > 0) {
        return codec_of<T>::make_parts(r, head, c, depth);
    } else {
        return codec_of<T>::make(r, c, depth);
    }
}

/// Returns the head at the cursor, and moves the cursor behind it.
template <class T> [[gnu::always_inline]] inline std::byte const* take_head(archive_reader& r, in_cursor& c)
{
    std::byte const* const head = c.p;
    if constexpr (head_size<T>() > 0) {
        r.need(c, head_size<T>(), typeid(T));
        c.p += head_size<T>();
    }
    return head;
}

template <class T> [[gnu::always_inline]] inline in_cursor get_value(archive_reader& r, in_cursor c, T& v, std::uint32_t depth)
{
    std::byte const* const head = take_head<T>(r, c);
    return get_parts(r, head, c, v, depth);
}

template <class V> out_cursor put(archive_writer& w, out_cursor c, V& v, std::uint32_t depth)
{
    return put_value(w, c, v, depth);
}

template <class T> in_cursor get(archive_reader& r, in_cursor c, T& v, std::uint32_t depth)
{
    return get_value(r, c, v, depth);
}

template <class T> T make(archive_reader& r, in_cursor& c, std::uint32_t depth)
{
    std::byte const* const head = take_head<T>(r, c);
    return make_parts<T>(r, head, c, depth);
}

} // namespace towline::detail

namespace towline {

/// True for types that are decoded as views into the message: std::span<T const>, std::string_view, and aggregates, tuples and so on of
/// such.
template <class T> inline constexpr bool is_view = detail::codec_of<T>::holds_view;

} // namespace towline
