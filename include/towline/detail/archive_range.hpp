#pragma once
// Contiguous ranges and vectors. All contiguous ranges have one encoding, so that each can be read as another:
// a count, zeros up to the alignment of a bitwise element, the elements; or count_chunk, the count in 8 bytes, and the elements are the next
// chunk. Only bitwise elements become chunks.

#include <towline/detail/archive_codec.hpp>
#include <towline/detail/archive_uninitialized.hpp>

#include <vector>

namespace towline::detail {

template <class V> out_cursor put_elements(archive_writer& w, out_cursor c, V* data, std::size_t n, std::uint32_t depth)
{
    using element = std::remove_const_t<V>;
    c = w.ensure(c, max_count_size + n * fixed_size<element>());
    c.p = put_count(c.p, n);
    if constexpr (fixed_size<element>() > 0) {
        for (std::size_t i = 0; i < n; ++i) {
            codec_of<element>::store(c.p, data[i]);
            c.p += fixed_size<element>();
        }
    } else {
        w.check_depth(depth);
        for (std::size_t i = 0; i < n; ++i) {
            c = put_value(w, c, data[i], depth + 1);
        }
    }
    return c;
}

template <class V>
[[gnu::always_inline]] inline out_cursor put_range(archive_writer& w, out_cursor c, V* data, std::size_t n, std::uint32_t depth)
{
    using element = std::remove_const_t<V>;
    if constexpr (bitwise<element>) {
        std::size_t const bytes = n * sizeof(element);
        if (w.makes_chunk(bytes)) [[unlikely]] {
            return w.put_chunk(c, n, data, bytes);
        }
        c = w.ensure(c, max_count_size + 15 + bytes);
        c.p = put_count(c.p, n);
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

/// Where n bitwise elements lie in the index, all of them inside.
template <class E, class T>
[[gnu::always_inline]] inline std::byte const* elements_at(archive_reader const& r, archive_reader::counted n)
{
    std::size_t padding = 0;
    if constexpr (alignof(E) > 1) {
        padding = padding_at<alignof(E)>(n.p);
    }
    auto const left = static_cast<std::uint64_t>(r.end() - n.p);
    if constexpr (alignof(E) > 1) {
        if (left < padding) [[unlikely]] {
            r.fail_truncated(n.p, padding, typeid(T));
        }
    }
    if (n.count > (left - padding) / sizeof(E)) [[unlikely]] {
        r.fail_length(n.p, n.count, (left - padding) / sizeof(E), typeid(T));
    }
    return n.p + padding;
}

/// A count of elements that are decoded one by one: no more than the bytes left can hold.
template <class E, class T> [[gnu::always_inline]] inline archive_reader::counted get_elements_count(archive_reader const& r, in_cursor c)
{
    auto const n = r.get_plain_count(c, typeid(T));
    auto const possible = static_cast<std::uint64_t>(r.end() - n.p) / min_size<E>();
    if (n.count > possible) [[unlikely]] {
        r.fail_length(n.p, n.count, possible, typeid(T));
    }
    return n;
}

template <class E, class A> struct codec<std::vector<E, A>> : varying_codec<> {
    using vector = std::vector<E, A>;
    static constexpr bool holds_view = codec_of<E>::holds_view;

    [[gnu::always_inline]] static out_cursor put(archive_writer& w, out_cursor c, auto& v, std::uint32_t depth)
    {
        return put_range(w, c, v.data(), v.size(), depth);
    }

    [[gnu::always_inline]] static in_cursor get(archive_reader& r, in_cursor c, vector& v, std::uint32_t depth)
    {
        if constexpr (bitwise<E>) {
            auto n = r.get_count(c, typeid(vector));
            if (n.count >= archive_reader::chunk_bit) [[unlikely]] {
                c.p = n.p;
                return get_chunk(r, c, v, n.count - archive_reader::chunk_bit);
            }
            std::byte const* const from = elements_at<E, vector>(r, n);
            if (n.count > v.capacity()) {
                r.seek({n.p});
                r.charge(n.count, sizeof(E), typeid(vector));
            }
            resize_for_overwrite(v, n.count);
            copy_bytes(v.data(), from, n.count * sizeof(E));
            c.p = from + n.count * sizeof(E);
            return c;
        } else {
            return get_elements(r, c, v, depth);
        }
    }

private:
    [[gnu::noinline]] static in_cursor get_chunk(archive_reader& r, in_cursor c, vector& v, std::uint64_t n)
    {
        r.seek(c);
        std::size_t const i = r.next_chunk(n, sizeof(E), typeid(vector));
        if (n > v.capacity()) {
            r.charge(n, sizeof(E), typeid(vector));
        }
        resize_for_overwrite(v, n);
        if (n > 0) {
            r.source().fetch(i, v.data());
        }
        return c;
    }

    static in_cursor get_elements(archive_reader& r, in_cursor c, vector& v, std::uint32_t depth)
    {
        auto const n = get_elements_count<E, vector>(r, c);
        c.p = n.p;
        if (n.count > v.capacity()) {
            r.seek(c);
            r.charge(n.count, cost<E>(), typeid(vector));
            v.clear();
            v.reserve(n.count);
        }
        if constexpr (fixed_size<E>() == 0) {
            r.check_depth(c, depth);
        }
        if constexpr (detail::refillable<E>) {
            if (v.size() != n.count) {
                v.resize(n.count);
            }
            for (auto& e : v) {
                if constexpr (fixed_size<E>() > 0) {
                    codec_of<E>::load(r, c.p, e);
                    c.p += fixed_size<E>();
                } else {
                    c = get_value(r, c, e, depth + 1);
                }
            }
        } else {
            v.clear();
            for (std::uint64_t i = 0; i < n.count; ++i) {
                v.emplace_back(detail::make<E>(r, c, depth + 1));
            }
        }
        return c;
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
