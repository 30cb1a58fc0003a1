#pragma once
// Shared by maps and sets: a count, then keys (and values) in the order of iteration. Keys stay in the index, because a reader compares
// them while it decodes.

#include <towline/archive.hpp>

#include <string>

namespace towline::detail {

template <class K> [[gnu::always_inline]] inline out_cursor put_key(archive_writer& w, out_cursor c, K const& key, std::uint32_t depth)
{
    if constexpr (fixed_size<K>() > 0) {
        return put_value(w, c, key, depth);
    } else {
        bool const before = w.set_index_only(true);
        c = put_value(w, c, key, depth);
        w.set_index_only(before);
        return c;
    }
}

template <class K> K make_key(archive_reader& r, in_cursor& c, std::uint32_t depth)
{
    if constexpr (fixed_size<K>() > 0) {
        return detail::make<K>(r, c, depth);
    } else {
        bool const before = r.set_index_only(true);
        K key = detail::make<K>(r, c, depth);
        r.set_index_only(before);
        return key;
    }
}

[[noreturn]] inline void fail_duplicate(archive_reader const& r, in_cursor c, std::type_info const& type)
{
    r.fail_value(c.p, "a key that was there before", "every key once", type);
}

/// Reads n and checks it: at least Min bytes an element; the budget counts four pointers an element for links and hash buckets.
template <class C, std::size_t Min, std::size_t Cost>
archive_reader::counted begin_nodes(archive_reader& r, in_cursor c, C& v, std::uint32_t depth)
{
    auto const n = r.get_plain_count(c, typeid(C));
    auto const possible = static_cast<std::uint64_t>(r.end() - n.p) / Min;
    if (n.count > possible) {
        r.fail_length(n.p, n.count, possible, typeid(C));
    }
    r.check_depth(c, depth);
    r.seek({n.p});
    r.charge(n.count, Cost + 4 * sizeof(void*), typeid(C));
    v.clear();
    if constexpr (requires { v.max_load_factor(); }) {
        v.reserve(n.count);
    }
    return n;
}

/// Map with unique or repeated keys.
template <class C, bool Unique> struct map_codec : varying_codec<> {
    using key = typename C::key_type;
    using mapped = typename C::mapped_type;
    static constexpr bool holds_view = codec_of<key>::holds_view || codec_of<mapped>::holds_view;

    static out_cursor put(archive_writer& w, out_cursor c, auto& v, std::uint32_t depth)
    {
        w.check_depth(depth);
        c = w.ensure(c, max_count_size);
        c.p = put_count(c.p, v.size());
        for (auto& [k, m] : v) {
            c = put_key(w, c, k, depth + 1);
            c = put_value(w, c, m, depth + 1);
        }
        return c;
    }
    static in_cursor get(archive_reader& r, in_cursor c, C& v, std::uint32_t depth)
    {
        auto const n = begin_nodes<C, detail::min_size<key>() + detail::min_size<mapped>(), cost<key>() + cost<mapped>()>(r, c, v, depth);
        c.p = n.p;
        for (std::uint64_t i = 0; i < n.count; ++i) {
            in_cursor const at = c;
            key k = make_key<key>(r, c, depth + 1);
            if constexpr (detail::refillable<mapped>) {
                auto const place = v.emplace_hint(v.end(), std::piecewise_construct, std::forward_as_tuple(std::move(k)), std::tuple<>());
                if (Unique && v.size() != i + 1) {
                    fail_duplicate(r, at, typeid(C));
                }
                c = get_value(r, c, place->second, depth + 1);
            } else {
                v.emplace_hint(v.end(), std::move(k), detail::make<mapped>(r, c, depth + 1));
                if (Unique && v.size() != i + 1) {
                    fail_duplicate(r, at, typeid(C));
                }
            }
        }
        return c;
    }
};

template <class C, bool Unique> struct set_codec : varying_codec<> {
    using key = typename C::key_type;
    static constexpr bool holds_view = codec_of<key>::holds_view;

    static out_cursor put(archive_writer& w, out_cursor c, C const& v, std::uint32_t depth)
    {
        w.check_depth(depth);
        c = w.ensure(c, max_count_size);
        c.p = put_count(c.p, v.size());
        for (auto const& k : v) {
            c = put_key(w, c, k, depth + 1);
        }
        return c;
    }
    static in_cursor get(archive_reader& r, in_cursor c, C& v, std::uint32_t depth)
    {
        auto const n = begin_nodes<C, detail::min_size<key>(), cost<key>()>(r, c, v, depth);
        c.p = n.p;
        for (std::uint64_t i = 0; i < n.count; ++i) {
            in_cursor const at = c;
            v.emplace_hint(v.end(), make_key<key>(r, c, depth + 1));
            if (Unique && v.size() != i + 1) {
                fail_duplicate(r, at, typeid(C));
            }
        }
        return c;
    }
};

} // namespace towline::detail
