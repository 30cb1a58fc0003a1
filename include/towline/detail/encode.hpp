#pragma once
// Encodes arguments into a parcel, depending on the parameter's type and how the argument was passed. Internal.

#include <towline/archive.hpp>
#include <towline/detail/mistakes.hpp>
#include <towline/detail/packed.hpp>
#include <towline/detail/parcel.hpp>
#include <towline/detail/signature.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace towline {
template <class T>
class serialize_buffer;
}

namespace towline::detail {

/// True for types whose copies share memory: the parcel's copy is lent.
template <class T>
inline constexpr bool shared_handle = requires { typename T::shares_on_copy; };
template <class T>
inline constexpr bool shared_handle<serialize_buffer<T>> = true;

/// Bytes that an argument owns outside its object, if its size tells; else "many".
template <class T>
std::size_t outside_bytes(T const& value)
{
    if constexpr (requires { typename T::value_type; value.data(); value.size(); requires bitwise<typename T::value_type>; })
        return value.size() * sizeof(typename T::value_type);
    else if constexpr (std::is_trivially_copyable_v<T> && sizeof(T) < min_chunk_threshold)
        return 0;
    else
        return ~std::size_t{0};
}

/// Writes an argument with strides, or one for a parameter with strides; true if its block must be captured. In strided_archive.hpp.
template <class Wire, class A>
bool put_strided(parcel& out, A const& argument);

template <class P, class A>
void encode_argument(parcel& out, A&& argument)
{
    using wire = wire_type<P>;
    using given = std::remove_cvref_t<A>;
    archive_writer& w = out.writer();
    constexpr bool view = is_view<wire>;
    if constexpr (view)
        w.set_viewed(true);
    bool captured = false;
    if constexpr (is_strided<wire> || is_strided<given>) {
        captured = put_strided<wire>(out, argument);
    } else if constexpr (is_borrowed<given>) {
        w.write(std::as_const(argument));
    } else if constexpr (shared_handle<wire>) {
        wire& kept = out.hold([&]() -> wire { return std::forward<A>(argument); });
        if (std::is_lvalue_reference_v<A> || out.shares())
            w.write(std::as_const(kept));
        else
            w.write(std::move(kept));
    } else if constexpr (view && !std::is_lvalue_reference_v<A> && !is_view<given>) {
        // A temporary that the parameter refers to.
        auto const& kept = out.hold([&]() -> given { return std::forward<A>(argument); });
        wire const seen = kept;
        w.write(seen);
    } else if constexpr (view) {
        wire const seen = argument;
        w.write(seen);
        captured = true;
    } else if constexpr (std::is_same_v<wire, given> && std::is_lvalue_reference_v<A>) {
        w.write(std::as_const(argument));
        captured = true;
    } else if constexpr (std::is_same_v<wire, given>) {
        if (outside_bytes(argument) < w.threshold()) {
            w.write(std::as_const(argument));
            captured = true;
        } else if (out.shares())
            w.write(std::as_const(out.hold([&]() -> wire { return std::forward<A>(argument); })));
        else
            w.write(std::move(out.hold([&]() -> wire { return std::forward<A>(argument); })));
    } else {
        encode_argument<P>(out, static_cast<wire>(std::forward<A>(argument)));
        return;
    }
    if constexpr (view)
        w.set_viewed(false);
    out.end_argument(captured);
}

template <class... P, class... A>
void encode_all(type_list<P...>, parcel& out, A&&... arguments)
{
    (encode_argument<P>(out, std::forward<A>(arguments)), ...);
}

/// Packs arguments without gaps. `places` are those of the blocks that change owner. Returns the end.
template <class... P, class... A>
std::byte* pack(type_list<P...>, std::byte* to, [[maybe_unused]] std::uint64_t const* places, A&&... arguments)
{
    [[maybe_unused]] auto const one = [&]<class W, class G>(std::type_identity<W>, G&& argument) {
        if constexpr (std::is_same_v<W, std::remove_cvref_t<G>>)
            pack_one<W>(to, argument, places);
        else
            pack_one<W>(to, static_cast<W>(std::forward<G>(argument)), places);
    };
    (one(std::type_identity<wire_type<P>>{}, std::forward<A>(arguments)), ...);
    return to;
}

/// Blocks of an argument may change owner only if it is passed on unchanged.
template <class P, class A>
inline constexpr bool lets_blocks_go = extent_of<wire_type<P>>().handles == 0 || std::is_same_v<wire_type<P>, A>;

} // namespace towline::detail
