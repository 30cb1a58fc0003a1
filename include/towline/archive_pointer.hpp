#pragma once
// The archive of std::unique_ptr: a byte that says whether there is an object, and the object.

#include <towline/archive.hpp>

#include <memory>

namespace towline::detail {

template <class T> struct codec<std::unique_ptr<T>> : varying_codec<> {
    static_assert(!std::is_array_v<T>, "towline: std::unique_ptr<T[]> does not know its size; use std::vector or serialize_buffer");
    static_assert(!std::is_polymorphic_v<T> || std::is_final_v<T>,
                  "towline: a pointer to a base class cannot travel: nobody would know the derived class; use std::variant");

    static out_cursor put(archive_writer& w, out_cursor c, auto& v, std::uint32_t depth)
    {
        w.check_depth(depth);
        c = w.ensure(c, 1);
        *c.p++ = static_cast<std::byte>(v != nullptr);
        if (v == nullptr) {
            return c;
        }
        if constexpr (std::is_const_v<std::remove_reference_t<decltype(v)>>) {
            T const& value = *v; // an object behind a lent pointer is lent, too
            return put_value(w, c, value, depth + 1);
        } else {
            return put_value(w, c, *v, depth + 1);
        }
    }
    static in_cursor get(archive_reader& r, in_cursor c, std::unique_ptr<T>& v, std::uint32_t depth)
    {
        r.check_depth(c, depth);
        bool there = false;
        c = get_value(r, c, there, depth);
        if (!there) {
            v.reset();
            return c;
        }
        if constexpr (detail::refillable<T> && !std::is_const_v<T>) {
            if (v == nullptr) {
                r.charge(1, cost<T>(), typeid(T));
                v = std::make_unique<T>();
            }
            return get_value(r, c, *v, depth + 1);
        } else {
            r.charge(1, cost<T>(), typeid(T));
            v = std::make_unique<T>(detail::make<std::remove_const_t<T>>(r, c, depth + 1));
            return c;
        }
    }
};

} // namespace towline::detail
