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
#if defined(__GLIBCXX__) && _GLIBCXX_USE_CXX11_ABI
        // Its strings have room for 15 characters and a zero, always: where the archive goes on that far, a short text moves at one
        // stroke.
        if constexpr (sizeof(C) == 1 && std::is_same_v<A, std::allocator<C>>) {
            if (auto const short_size = std::to_integer<std::size_t>(*head); short_size < 16 && r.end() - c.p >= 16) [[likely]] {
                if (v.size() == short_size) [[likely]] {
                    C* const to = v.data();
                    std::memcpy(to, c.p, 16);
                    to[short_size] = C();
                } else {
                    v.assign(reinterpret_cast<C const*>(c.p), short_size);
                }
                c.p += short_size;
                return c;
            }
        }
#endif
        auto const n = r.get_rest_of_count(*head, c, typeid(string));
        if (n.count >= archive_reader::chunk_bit) [[unlikely]] {
            c.p = n.p;
            return get_chunk(r, c, v, n.count - archive_reader::chunk_bit);
        }
        std::byte const* const from = elements_at<C, string>(r, n);
        if (v.size() == n.count) [[likely]] {
            copy_bytes(v.data(), from, n.count * sizeof(C)); // assign() would call out
        } else {
            assign(r, v, from, n);
        }
        c.p = from + n.count * sizeof(C);
        return c;
    }

private:
    /// More than the capacity: strings at least double.
    static void book(archive_reader& r, string const& v, std::uint64_t n)
    {
        r.charge(std::max<std::uint64_t>(n, 2 * v.capacity()) + 1, sizeof(C), typeid(string));
    }
    [[gnu::noinline]] static void assign(archive_reader& r, string& v, std::byte const* from, archive_reader::counted n)
    {
        if (n.count > v.capacity()) {
            r.seek({n.p});
            book(r, v, n.count);
        }
        v.assign(reinterpret_cast<C const*>(from), n.count);
    }
    [[gnu::noinline]] static in_cursor get_chunk(archive_reader& r, in_cursor c, string& v, std::uint64_t n)
    {
        r.seek(c);
        std::size_t const i = r.next_chunk(n, sizeof(C), typeid(string));
        if (n * sizeof(C) < min_chunk_threshold) {
            v.reserve(min_chunk_threshold); // out of the string object: what is fetched later must find its place
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

/// A view of n elements: into the index, or into the next chunk.
template <class E, class T>
[[gnu::always_inline]] inline in_cursor get_view(archive_reader& r, std::byte const* head, in_cursor c, E const*& data, std::size_t& size)
{
    auto const n = r.get_rest_of_count(*head, c, typeid(T));
    if (n.count >= archive_reader::chunk_bit) [[unlikely]] {
        size = n.count - archive_reader::chunk_bit;
        r.seek({n.p});
        data = static_cast<E const*>(r.view_chunk(size, sizeof(E), alignof(E), typeid(T)));
        c.p = n.p;
        return c;
    }
    std::byte const* const from = elements_at<E, T>(r, n);
    data = reinterpret_cast<E const*>(from);
    size = n.count;
    c.p = from + n.count * sizeof(E);
    return c;
}

template <class C, class Tr> struct codec<std::basic_string_view<C, Tr>> : range_codec<C> {
    static constexpr bool holds_view = true;
    using view = std::basic_string_view<C, Tr>;
    [[gnu::always_inline]] static in_cursor get_parts(archive_reader& r, std::byte const* head, in_cursor c, view& v, std::uint32_t)
    {
        C const* data = nullptr;
        std::size_t size = 0;
        c = get_view<C, view>(r, head, c, data, size);
        v = {data, size};
        return c;
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
        element const* data = nullptr;
        std::size_t size = 0;
        c = get_view<element, view>(r, head, c, data, size);
        v = {data, size};
        return c;
    }
};

template <class E> struct codec<borrowed<E>> : range_codec<E> {
    static constexpr bool refillable = false; // read as vector, span, ...
};

} // namespace towline::detail
