#pragma once
// Codecs of strings and of the ranges that own nothing: string_view, span, borrow. Encoded as in archive_range.hpp.

#include <towline/borrow.hpp>
#include <towline/detail/archive_range.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace towline::detail {

template <class C, class Tr, class A> struct codec<std::basic_string<C, Tr, A>> : range_codec<C> {
    using string = std::basic_string<C, Tr, A>;
    static_assert(bitwise<C>);

    [[gnu::always_inline]] static in_cursor get_parts(archive_reader& r, std::byte const* head, in_cursor c, string& v, std::uint32_t)
    {
        auto const n = std::to_integer<std::size_t>(*head);
        few_elements<C> const few(c.p, n);
#if defined(__GLIBCXX__) && _GLIBCXX_USE_CXX11_ABI
        // libstdc++ strings always have room for 15 characters and a zero. If the archive has that many bytes left, one move copies a short
        // text.
        if constexpr (sizeof(C) == 1 && std::is_same_v<A, std::allocator<C>>) {
            if (n < 16 && r.has_16(c)) [[likely]] {
                if (v.size() == n) [[likely]] {
                    C* const to = v.data();
                    std::memcpy(to, c.p, 16);
                    to[n] = C();
                } else {
                    v.assign(few.data(), n);
                }
                return few.behind();
            }
        }
#endif
        if (v.size() == n && n < count_u16 && r.inside(few.end)) [[likely]] {
            copy_bytes(v.data(), few.data(), n * sizeof(C)); // assign() would be a call
            return few.behind();
        }
        return get_any(r, head, c, v);
    }

private:
    /// Charges n characters beyond the capacity: strings at least double it.
    static void book(archive_reader& r, string const& v, std::uint64_t n)
    {
        r.charge(std::max<std::uint64_t>(n, 2 * v.capacity()) + 1, sizeof(C), typeid(string));
    }
    [[gnu::noinline]] static in_cursor get_any(archive_reader& r, std::byte const* head, in_cursor c, string& v)
    {
        auto const n = r.get_rest_of_count(*head, c, typeid(string));
        if (n.count >= archive_reader::chunk_bit) [[unlikely]] {
            c.p = n.p;
            return get_chunk(r, c, v, n.count - archive_reader::chunk_bit);
        }
        std::byte const* const from = elements_at<C, string>(r, n);
        if (n.count > v.capacity()) {
            r.seek({n.p});
            book(r, v, n.count);
        }
        v.assign(reinterpret_cast<C const*>(from), n.count);
        c.p = from + n.count * sizeof(C);
        return c;
    }
    static in_cursor get_chunk(archive_reader& r, in_cursor c, string& v, std::uint64_t n)
    {
        r.seek(c);
        std::size_t const i = r.next_chunk(n, sizeof(C), typeid(string));
        if (n * sizeof(C) < min_chunk_threshold) {
            v.reserve(min_chunk_threshold); // not inside the string object: fetched data must find their place
        }
        if (n > v.capacity()) {
            book(r, v, n);
        }
        v.resize(n);
        if (n > 0) {
            r.source().fetch(i, v.data());
        }
        return c;
    }
};

/// A view V of elements E: into the index, or into the next chunk.
template <class E, class V> [[gnu::noinline]] in_cursor get_any_view(archive_reader& r, std::byte const* head, in_cursor c, V& v)
{
    auto const n = r.get_rest_of_count(*head, c, typeid(V));
    if (n.count >= archive_reader::chunk_bit) [[unlikely]] {
        std::uint64_t const count = n.count - archive_reader::chunk_bit;
        r.seek({n.p});
        v = V(static_cast<E const*>(r.view_chunk(count, sizeof(E), alignof(E), typeid(V))), count);
        c.p = n.p;
        return c;
    }
    std::byte const* const from = elements_at<E, V>(r, n);
    v = V(reinterpret_cast<E const*>(from), n.count);
    c.p = from + n.count * sizeof(E);
    return c;
}

template <class E, class V>
[[gnu::always_inline]] inline in_cursor get_view(archive_reader& r, std::byte const* head, in_cursor c, V& v)
{
    auto const n = std::to_integer<std::size_t>(*head);
    few_elements<E> const few(c.p, n);
    if (n < count_u16 && r.inside(few.end)) [[likely]] {
        v = V(few.data(), n);
        return few.behind();
    }
    return get_any_view<E>(r, head, c, v);
}

template <class C, class Tr> struct codec<std::basic_string_view<C, Tr>> : range_codec<C> {
    static constexpr bool holds_view = true;
    using view = std::basic_string_view<C, Tr>;
    [[gnu::always_inline]] static in_cursor get_parts(archive_reader& r, std::byte const* head, in_cursor c, view& v, std::uint32_t)
    {
        return get_view<C>(r, head, c, v);
    }
};

template <class E, std::size_t Extent> struct codec<std::span<E, Extent>> : range_codec<std::remove_const_t<E>> {
    using element = std::remove_const_t<E>;
    static constexpr bool holds_view = true;
    using view = std::span<E, Extent>;
    [[gnu::always_inline]] static out_cursor put_tail(archive_writer& w, std::size_t, out_cursor c, view v, std::uint32_t depth)
    {
        return put_range_tail(w, c, static_cast<element const*>(v.data()), v.size(), depth); // lent, whatever the span allows
    }
    [[gnu::always_inline]] static in_cursor get_parts(archive_reader& r, std::byte const* head, in_cursor c, view& v, std::uint32_t)
    {
        static_assert(std::is_const_v<E>, "towline: the message cannot be written to; take std::span<T const>");
        static_assert(Extent == std::dynamic_extent, "towline: a view has the size that the message has; take std::span<T const>");
        static_assert(bitwise<element>,
                      "towline: only elements without padding, pointers and bool can be viewed in place; take std::vector");
        static_assert(alignof(element) <= 16, "towline: a message is aligned to 16 bytes only; take std::vector");
        return get_view<element>(r, head, c, v);
    }
};

template <class E> struct codec<borrowed<E>> : range_codec<E> {
    static constexpr bool refillable = false; // read as vector, span, ...
};

} // namespace towline::detail
