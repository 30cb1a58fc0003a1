#pragma once
// Contiguous ranges and vectors. All contiguous ranges have one encoding, so that each can be read as another. Head: the first byte of
// the count. Tail: the rest of it; then zeros up to the alignment of a bitwise element, and the elements; or the heads of the elements,
// and their tails. Or the first byte is count_chunk, the tail the count in 8 bytes, and the elements are the next chunk. Only bitwise
// elements become chunks.

#include <towline/detail/archive_codec.hpp>
#include <towline/detail/archive_uninitialized.hpp>

#include <vector>

namespace towline::detail {

template <class V> out_cursor put_elements(archive_writer& w, out_cursor c, V* data, std::size_t n, std::uint32_t depth)
{
    using element = std::remove_const_t<V>;
    constexpr std::size_t size = head_size<element>();
    c = w.ensure(c, max_count_size + n * size);
    c.p = put_rest_of_count(c.p, n);
    if constexpr (fixed_size<element>() > 0) {
        for (std::size_t i = 0; i < n; ++i) {
            codec_of<element>::store(c.p, data[i]);
            c.p += size;
        }
    } else {
        w.check_depth(depth);
        std::size_t head = w.offset(c);
        c.p += n * size;
        for (std::size_t i = 0; i < n; ++i, head += size) {
            put_head(w, w.at(head), data[i]);
            c = put_tail(w, head, c, data[i], depth + 1);
        }
    }
    return c;
}

template <class E> [[gnu::always_inline]] inline void put_range_head(archive_writer& w, std::byte* h, std::size_t n)
{
    if constexpr (bitwise<E>) {
        if (w.makes_chunk(n * sizeof(E))) [[unlikely]] {
            *h = std::byte{count_chunk};
            return;
        }
    }
    *h = first_of_count(n);
}

template <class V>
[[gnu::always_inline]] inline out_cursor put_range_tail(archive_writer& w, out_cursor c, V* data, std::size_t n, std::uint32_t depth)
{
    using element = std::remove_const_t<V>;
    if constexpr (bitwise<element>) {
        std::size_t const bytes = n * sizeof(element);
        if (w.makes_chunk(bytes)) [[unlikely]] {
            return w.put_chunk(c, n, data, bytes);
        }
        c = w.ensure(c, max_count_size + 15 + bytes);
        c.p = put_rest_of_count(c.p, n);
        if constexpr (alignof(element) > 1) {
            std::size_t const padding = padding_at<alignof(element)>(c.p);
            store_raw(c.p, std::uint64_t{0});
            if constexpr (alignof(element) > 8) {
                store_raw(c.p + 8, std::uint64_t{0});
            }
            c.p += padding;
        }
        copy_bytes(c.p, data, bytes);
        c.p += bytes;
        return c;
    } else {
        return put_elements(w, c, data, n, depth);
    }
}

/// The writing half of the codec of a contiguous range of E, which has data() and size().
template <class E> struct range_codec : varying_codec<1, 1> {
    [[gnu::always_inline]] static void put_head(archive_writer& w, std::byte* h, auto& v) { put_range_head<E>(w, h, v.size()); }
    [[gnu::always_inline]] static out_cursor put_tail(archive_writer& w, std::size_t, out_cursor c, auto& v, std::uint32_t depth)
    {
        return put_range_tail(w, c, v.data(), v.size(), depth);
    }
};

// Most counts take one byte, and most decoded objects have the right size already. Decoders test for that in few instructions and call
// functions out of line for everything else.

/// The n bitwise elements behind the count at p; n is below count_u16. They may end beyond the archive, see archive_reader::inside.
template <class E> struct few_elements {
    std::uintptr_t first;
    std::uintptr_t end;

    [[gnu::always_inline]] few_elements(std::byte const* p, std::size_t n)
    {
        constexpr std::uintptr_t align = alignof(E) < 16 ? alignof(E) : 16;
        first = (reinterpret_cast<std::uintptr_t>(p) + (align - 1)) & ~(align - 1);
        end = first + n * sizeof(E);
    }
    [[gnu::always_inline]] E const* data() const noexcept { return reinterpret_cast<E const*>(first); }
    [[gnu::always_inline]] in_cursor behind() const noexcept { return {reinterpret_cast<std::byte const*>(end)}; }
};

/// The address of n bitwise elements in the index, checked to be inside.
template <class E, class T> std::byte const* elements_at(archive_reader const& r, archive_reader::counted n)
{
    std::size_t const padding = padding_at<alignof(E)>(n.p);
    auto const left = static_cast<std::uint64_t>(r.end() - n.p);
    if (left < padding) [[unlikely]] {
        r.fail_truncated(n.p, padding, typeid(T));
    }
    if (n.count > (left - padding) / sizeof(E)) [[unlikely]] {
        r.fail_length(n.p, n.count, (left - padding) / sizeof(E), typeid(T));
    }
    return n.p + padding;
}

/// Refuses a count of elements that the bytes left cannot hold.
template <class E, class T> void check_elements_count(archive_reader const& r, archive_reader::counted n)
{
    auto const possible = static_cast<std::uint64_t>(r.end() - n.p) / min_size<E>();
    if (n.count > possible) [[unlikely]] {
        r.fail_length(n.p, n.count, possible, typeid(T));
    }
}

template <class E, class A> struct codec<std::vector<E, A>> : range_codec<E> {
    using vector = std::vector<E, A>;
    static constexpr bool holds_view = codec_of<E>::holds_view;

    [[gnu::always_inline]] static in_cursor get_parts(archive_reader& r, std::byte const* head, in_cursor c, vector& v, std::uint32_t depth)
    {
        if constexpr (bitwise<E>) {
            auto const n = std::to_integer<std::size_t>(*head);
            few_elements<E> const few(c.p, n);
            if (n < count_u16 && r.inside(few.end) && n * sizeof(E) <= v.capacity() * sizeof(E)) [[likely]] {
                set_size(v, n);
                copy_bytes(v.data(), few.data(), n * sizeof(E));
                return few.behind();
            }
            return get_any(r, head, c, v);
        } else {
            return get_elements(r, head, c, v, depth);
        }
    }

private:
    [[gnu::noinline]] static in_cursor get_any(archive_reader& r, std::byte const* head, in_cursor c, vector& v)
    {
        auto const n = r.get_rest_of_count(*head, c, typeid(vector));
        if (n.count >= archive_reader::chunk_bit) [[unlikely]] {
            c.p = n.p;
            return get_chunk(r, c, v, n.count - archive_reader::chunk_bit);
        }
        std::byte const* const from = elements_at<E, vector>(r, n);
        if (n.count > v.capacity()) {
            make_room(r, n, v);
        }
        set_size(v, n.count);
        copy_bytes(v.data(), from, n.count * sizeof(E));
        c.p = from + n.count * sizeof(E);
        return c;
    }
    static void make_room(archive_reader& r, archive_reader::counted n, vector& v)
    {
        r.seek({n.p});
        r.charge(n.count, cost<E>(), typeid(vector));
        v.clear();
        v.reserve(n.count);
    }
    static in_cursor get_chunk(archive_reader& r, in_cursor c, vector& v, std::uint64_t n)
    {
        r.seek(c);
        std::size_t const i = r.next_chunk(n, sizeof(E), typeid(vector));
        if (n > v.capacity()) {
            r.charge(n, sizeof(E), typeid(vector));
        }
        if constexpr (adopts<E, A>) {
            if (void* const block = n > 0 ? r.source().take_for_delete(i, alignof(E)) : nullptr) {
                adopt_elements(v, block, n);
                return c;
            }
        }
        resize_for_overwrite(v, n);
        if (n > 0) {
            r.source().fetch(i, v.data());
        }
        return c;
    }

    static in_cursor get_elements(archive_reader& r, std::byte const* head, in_cursor c, vector& v, std::uint32_t depth)
    {
        constexpr std::size_t size = head_size<E>();
        if constexpr (fixed_size<E>() == 0) {
            r.check_depth(c, depth);
        }
        if constexpr (detail::refillable<E>) {
            auto n = std::to_integer<std::size_t>(*head);
            if (n >= count_u16 || n * sizeof(E) != v.size() * sizeof(E) ||
                !r.inside(reinterpret_cast<std::uintptr_t>(c.p) + n * min_size<E>())) [[unlikely]] {
                c.p = make_size(r, head, c, v);
                n = v.size();
            }
            head = c.p;
            c.p += n * size; // at most the remaining bytes: head_size <= min_size
            for (auto& e : v) {
                c = detail::get_parts(r, head, c, e, depth + 1);
                head += size;
            }
        } else {
            auto const n = count_elements(r, head, c, v);
            head = n.p;
            c.p = n.p + n.count * size;
            v.clear();
            for (std::uint64_t i = 0; i < n.count; ++i, head += size) {
                v.emplace_back(detail::make_parts<E>(r, head, c, depth + 1));
            }
        }
        return c;
    }
    /// Reads the count, and gives v room for it.
    static archive_reader::counted count_elements(archive_reader& r, std::byte const* head, in_cursor c, vector& v)
    {
        auto const n = r.plain(r.get_rest_of_count(*head, c, typeid(vector)), c, typeid(vector));
        check_elements_count<E, vector>(r, n);
        if (n.count > v.capacity()) {
            make_room(r, n, v);
        }
        return n;
    }
    [[gnu::noinline]] static std::byte const* make_size(archive_reader& r, std::byte const* head, in_cursor c, vector& v)
    {
        auto const n = count_elements(r, head, c, v);
        v.resize(n.count);
        return n.p;
    }
};

/// Bits, the first in the lowest place; unused bits of the last byte are zero.
template <class A> struct codec<std::vector<bool, A>> : varying_codec<> {
    static out_cursor put(archive_writer& w, out_cursor c, std::vector<bool, A> const& v, std::uint32_t)
    {
        std::size_t const bytes = (v.size() + 7) / 8;
        c = w.ensure(c, max_count_size + bytes);
        c.p = put_count(c.p, v.size());
        std::memset(c.p, 0, bytes);
        for (std::size_t i = 0; i < v.size(); ++i) {
            c.p[i / 8] |= static_cast<std::byte>(v[i] ? 1U << i % 8 : 0U);
        }
        c.p += bytes;
        return c;
    }
    static in_cursor get(archive_reader& r, in_cursor c, std::vector<bool, A>& v, std::uint32_t)
    {
        auto const n = r.get_plain_count(c, typeid(v));
        auto const left = static_cast<std::uint64_t>(r.end() - n.p);
        if (n.count / 8 > left || (n.count + 7) / 8 > left) {
            r.fail_length(n.p, n.count, left * 8, typeid(v));
        }
        if (n.count % 8 != 0 && std::to_integer<unsigned>(n.p[n.count / 8]) >> n.count % 8 != 0) {
            r.fail_value(n.p + n.count / 8, "bits beyond the last", "zeros there", typeid(v));
        }
        if (n.count > v.capacity()) {
            r.charge((n.count + 7) / 8, 1, typeid(v));
        }
        v.resize(n.count);
        for (std::size_t i = 0; i < n.count; ++i) {
            v[i] = (std::to_integer<unsigned>(n.p[i / 8]) >> i % 8 & 1U) != 0;
        }
        c.p = n.p + (n.count + 7) / 8;
        return c;
    }
};

} // namespace towline::detail
