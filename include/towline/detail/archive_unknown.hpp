#pragma once
// All other types, which have no codec: one error that names the cure, and enough members that no other error follows.

#include <towline/detail/archive_codec.hpp>

#include <string_view>
#include <type_traits>

namespace towline::detail {

enum class unknown_type { pointer, reference, of_std, union_, virtual_, other };

template <class T> consteval bool is_of_std()
{
    return std::string_view(__PRETTY_FUNCTION__).find("T = std::") != std::string_view::npos;
}

template <class T> consteval unknown_type kind_of_unknown()
{
    if constexpr (std::is_pointer_v<T> || std::is_member_pointer_v<T> || std::is_null_pointer_v<T>) {
        return unknown_type::pointer;
    } else if constexpr (std::is_reference_v<T>) {
        return unknown_type::reference;
    } else if constexpr (is_of_std<T>()) {
        return unknown_type::of_std;
    } else if constexpr (std::is_union_v<T>) {
        return unknown_type::union_;
    } else if constexpr (std::is_polymorphic_v<T>) {
        return unknown_type::virtual_;
    } else {
        return unknown_type::other;
    }
}

template <class T> struct codec : fixed_codec<1> {
    static constexpr unknown_type kind = kind_of_unknown<T>();
    static_assert(kind != unknown_type::pointer, "towline: a pointer cannot travel, it means nothing in another process: hold a value, "
                                                 "std::string, std::vector, std::unique_ptr or towline::remote<T>");
    static_assert(kind != unknown_type::reference, "towline: a reference cannot travel: hold a value (std::string, std::vector) or a view");
    static_assert(kind != unknown_type::of_std,
                  "towline: this type of the standard library does not travel with what is included: #include <towline/archive_all.hpp> "
                  "(types that hold locks, threads, functions, files or addresses never travel: send the data)");
    static_assert(kind != unknown_type::union_, "towline: a union cannot travel, nobody knows which member holds: use std::variant");
    static_assert(kind != unknown_type::virtual_,
                  "towline: a class with virtual functions cannot travel, nobody there would know the derived class: use std::variant of "
                  "final classes, specialise towline::serializer, or leave the object where it is (towline::remote<T>)");
    static_assert(kind != unknown_type::other,
                  "towline: a class with private members, constructors or bases needs a function that names its state: "
                  "auto members() { return std::tie(a_, b_); }, and the same const; or specialise towline::serializer");

    static constexpr bool refillable = std::is_default_constructible_v<T>;
    template <class V> static void store(std::byte*, V&) {}
    static void load(archive_reader&, std::byte const*, std::remove_reference_t<T>&) {}
    static T make_parts(archive_reader&, std::byte const*, in_cursor&, std::uint32_t);
};

} // namespace towline::detail
