#pragma once
// The archive of std::deque and std::list: a count and the elements, without padding and chunks, unlike contiguous ranges.

#include <towline/archive.hpp>

#include <deque>
#include <list>

namespace towline::detail {

template <class C, class E> struct sequence_codec : varying_codec<> {
    static constexpr bool holds_view = codec_of<E>::holds_view;

    static out_cursor put(archive_writer& w, out_cursor c, auto& v, std::uint32_t depth)
    {
        w.check_depth(depth);
        c = w.ensure(c, max_count_size);
        c.p = put_count(c.p, v.size());
        for (auto& e : v) {
            c = put_value(w, c, e, depth + 1);
        }
        return c;
    }
    static in_cursor get(archive_reader& r, in_cursor c, C& v, std::uint32_t depth)
    {
        auto const n = r.get_plain_count(c, typeid(C));
        check_elements_count<E, C>(r, n);
        r.check_depth(c, depth);
        c.p = n.p;
        if (n.count > v.size()) {
            r.seek(c);
            r.charge(n.count - v.size(), cost<E>() + 2 * sizeof(void*), typeid(C));
        }
        if constexpr (detail::refillable<E>) {
            v.resize(n.count);
            for (auto& e : v) {
                c = get_value(r, c, e, depth + 1);
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

template <class E, class A> struct codec<std::deque<E, A>> : sequence_codec<std::deque<E, A>, E> {
    static consteval std::size_t heap_cost() { return 576 + sizeof(E); } // libstdc++: a block of 512 bytes and a map of 8
};
template <class E, class A> struct codec<std::list<E, A>> : sequence_codec<std::list<E, A>, E> {};

} // namespace towline::detail
