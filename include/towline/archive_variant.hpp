#pragma once
// The archive of std::variant (the index of the alternative, as a count, then its value) and std::monostate.

#include <towline/archive.hpp>

#include <string>
#include <variant>

namespace towline::detail {

template <> struct codec<std::monostate> : empty_codec<std::monostate> {};

template <class... T> struct codec<std::variant<T...>> : varying_codec<> {
    using variant = std::variant<T...>;
    static constexpr bool refillable = std::is_default_constructible_v<variant>;
    static constexpr bool holds_view = (... || codec_of<T>::holds_view);

    static out_cursor put(archive_writer& w, out_cursor c, auto& v, std::uint32_t depth)
    {
        if (v.valueless_by_exception()) {
            throw usage_error("archive_writer: a std::variant that lost its value in an exception cannot be written");
        }
        w.check_depth(depth);
        c = w.ensure(c, max_count_size);
        c.p = put_count(c.p, v.index());
        return std::visit([&w, c, depth](auto& value) { return put_value(w, c, value, depth + 1); }, v);
    }
    static in_cursor get(archive_reader& r, in_cursor c, variant& v, std::uint32_t depth)
    {
        auto const which = get_which(r, c, depth);
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (void)(... || (I == which && (c = get_one<I>(r, c, v, depth + 1), true)));
        }(std::index_sequence_for<T...>{});
        return c;
    }
    static variant make(archive_reader& r, in_cursor& c, std::uint32_t depth)
    {
        auto const which = get_which(r, c, depth);
        return make_one<0>(r, c, which, depth + 1);
    }

private:
    static std::uint64_t get_which(archive_reader& r, in_cursor& c, std::uint32_t depth)
    {
        r.check_depth(c, depth);
        auto const n = r.get_plain_count(c, typeid(variant));
        if (n.count >= sizeof...(T)) {
            r.fail_value(c.p, std::to_string(n.count), ("an alternative below " + std::to_string(sizeof...(T))).c_str(), typeid(variant));
        }
        c.p = n.p;
        return n.count;
    }
    template <std::size_t I> static in_cursor get_one(archive_reader& r, in_cursor c, variant& v, std::uint32_t depth)
    {
        using value = std::variant_alternative_t<I, variant>;
        if constexpr (detail::refillable<value>) {
            return get_value(r, c, v.index() == I ? *std::get_if<I>(&v) : v.template emplace<I>(), depth);
        } else {
            v.template emplace<I>(detail::make<value>(r, c, depth));
            return c;
        }
    }
    template <std::size_t I> static variant make_one(archive_reader& r, in_cursor& c, std::uint64_t which, std::uint32_t depth)
    {
        if constexpr (I + 1 < sizeof...(T)) {
            if (which != I) {
                return make_one<I + 1>(r, c, which, depth);
            }
        }
        return variant(std::in_place_index<I>, detail::make<std::variant_alternative_t<I, variant>>(r, c, depth));
    }
};

} // namespace towline::detail
