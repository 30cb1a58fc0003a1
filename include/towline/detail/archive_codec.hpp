#pragma once
// How a type finds its codec, and what a codec is.
//
// codec<T> has
//     fixed()      bytes of its encoding if that is the same for every value, else 0
//     min_size()   the least bytes that a value takes; never 0: a count of values is never more than the bytes there are
//     heap_cost()  what an object allocates before it holds anything (a deque does)
//     refillable   a value can be read into an existing object, and T has a default constructor
//     holds_view   the decoded value looks into the message
// and store/load (fixed codecs: no checks of room, the caller made them) or put/get (the others), and make where refillable is false.
// An object being written is `V&`: const if it is lent, not const if it may be given away.

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
template <class T> consteval std::size_t min_size()
{
    return codec_of<T>::min_size();
}
/// Bytes on the budget for one T in memory of its own.
template <class T> consteval std::size_t cost()
{
    return sizeof(T) + codec_of<T>::heap_cost();
}
template <class T> inline constexpr bool refillable = codec_of<T>::refillable;

/// Of a codec whose encoding always takes Size bytes.
template <std::size_t Size> struct fixed_codec {
    static constexpr bool refillable = true;
    static constexpr bool holds_view = false;
    static consteval std::size_t fixed() { return Size; }
    static consteval std::size_t min_size() { return Size; }
    static consteval std::size_t heap_cost() { return 0; }
};

/// Of a codec whose encoding takes Min bytes or more.
template <std::size_t Min = 1> struct varying_codec {
    static constexpr bool refillable = true;
    static constexpr bool holds_view = false;
    static consteval std::size_t fixed() { return 0; }
    static consteval std::size_t min_size() { return Min; }
    static consteval std::size_t heap_cost() { return 0; }
};

template <class V> [[gnu::always_inline]] inline out_cursor put_value(archive_writer& w, out_cursor c, V& v, std::uint32_t depth)
{
    using codec = codec_of<V>;
    if constexpr (codec::fixed() > 0) {
        c = w.ensure(c, codec::fixed());
        codec::store(c.p, v);
        c.p += codec::fixed();
        return c;
    } else {
        return codec::put(w, c, v, depth);
    }
}

template <class T> [[gnu::always_inline]] inline in_cursor get_value(archive_reader& r, in_cursor c, T& v, std::uint32_t depth)
{
    using codec = codec_of<T>;
    static_assert(codec::refillable, "towline: this type can only be made anew (read<T>()), not read into");
    if constexpr (codec::fixed() > 0) {
        r.need(c, codec::fixed(), typeid(T));
        codec::load(r, c.p, v);
        c.p += codec::fixed();
        return c;
    } else {
        return codec::get(r, c, v, depth);
    }
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
    if constexpr (refillable<T>) {
        T value{};
        c = get_value(r, c, value, depth);
        return value;
    } else {
        return codec_of<T>::make(r, c, depth);
    }
}

} // namespace towline::detail

namespace towline {

/// True for types that are decoded as views into the message: std::span<T const>, std::string_view, and aggregates, tuples and so on of such.
template <class T> inline constexpr bool is_view = detail::codec_of<T>::holds_view;

} // namespace towline
