#pragma once
// Codecs of tuple, pair and optional.

#include <towline/detail/archive_members.hpp>

#include <optional>
#include <tuple>
#include <utility>

namespace towline::detail {

template <class A, class B> struct codec<std::pair<A, B>> : members_codec<std::pair<A, B>, A, B> {
    template <class P, class F> [[gnu::always_inline]] static decltype(auto) visit(P& v, F&& f) { return f(v.first, v.second); }
};

template <class... T> struct codec<std::tuple<T...>> : members_codec<std::tuple<T...>, T...> {
    template <class P, class F> [[gnu::always_inline]] static decltype(auto) visit(P& v, F&& f) { return std::apply(f, v); }
};
template <> struct codec<std::tuple<>> : empty_codec<std::tuple<>> {};

template <class T> struct codec<std::optional<T>> : varying_codec<> {
    static constexpr bool holds_view = codec_of<T>::holds_view;

    static out_cursor put(archive_writer& w, out_cursor c, auto& v, std::uint32_t depth)
    {
        c = w.ensure(c, 1 + fixed_size<T>());
        *c.p++ = static_cast<std::byte>(v.has_value());
        if (v.has_value()) {
            if constexpr (fixed_size<T>() == 0) {
                w.check_depth(depth);
            }
            c = put_value(w, c, *v, depth + 1);
        }
        return c;
    }
    static in_cursor get(archive_reader& r, in_cursor c, std::optional<T>& v, std::uint32_t depth)
    {
        bool there = false;
        c = get_value(r, c, there, depth);
        if (!there) {
            v.reset();
            return c;
        }
        if constexpr (fixed_size<T>() == 0) {
            r.check_depth(c, depth);
        }
        if constexpr (detail::refillable<T>) {
            return get_value(r, c, v.has_value() ? *v : v.emplace(), depth + 1);
        } else {
            v.emplace(detail::make<T>(r, c, depth + 1));
            return c;
        }
    }
};

} // namespace towline::detail
