#pragma once
// Packed values: short arguments and results that travel contiguously, without an archive. Internal.
//
// Packable are bool, bitwise types, and aggregates, pairs and tuples of packable types. A vector in shared memory that changes owner is
// packed, too, as its block's address and its length. Whether it can change owner is known only when it is sent; if not, the whole list
// becomes an archive.

#include <towline/detail/action.hpp>
#include <towline/detail/archive_bitwise.hpp>
#include <towline/detail/runtime_api.hpp>
#include <towline/detail/signature.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

namespace towline::detail {

/// The type on the wire for a parameter or a result.
template <class P>
using wire_type = std::remove_cvref_t<P>;

/// A packed block that changes owner. `where` is 0 for an empty one.
struct handed_block {
    std::uint64_t where;
    std::uint64_t count;
};

/// How a T that owns a block of the shared heap gives it away. Specialised by such types:
///     bool may_leave(T const&)       true if it is not shared, or empty
///     handed_block block(T const&)   the address of its block in this process, and the number of its elements
///     void let_go(T&)                it owns nothing any more
///     element                        the type of its elements
///     T adopt(void* block, count)    takes over a block of `count` elements; throws archive_error for a count that T cannot have
template <class T>
struct block_handle;
template <class T>
concept has_block_handle = requires { sizeof(block_handle<T>); };

enum class packing { none, value, handle, members };

template <class T>
struct packed_members {  // not a list of members
    using type = void;
};
template <class T>
    requires plain_aggregate<T> && (!has_serializer<T>)
struct packed_members<T> {
    using type = members_of<T>;
};
template <class A, class B>
struct packed_members<std::pair<A, B>> {
    using type = member_list<A, B>;
};
template <class... M>
struct packed_members<std::tuple<M...>> {
    using type = member_list<M...>;
};

template <class T>
consteval packing packing_of();

template <class... M>
consteval bool all_packed(member_list<M...>)
{
    return sizeof...(M) != 0 && (... && (!std::is_const_v<M> && !std::is_reference_v<M> && packing_of<M>() != packing::none));
}

template <class T>
consteval packing packing_of()
{
    if constexpr (has_block_handle<T>) {
        return packing::handle;
    } else if constexpr (std::is_array_v<T>) {
        return packing::none;
    } else if constexpr (std::is_same_v<T, bool>) {
        return packing::value;
    } else if constexpr (bitwise<T>) {
        return std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T> ? packing::value : packing::none;
    } else if constexpr (!std::is_void_v<typename packed_members<T>::type>) {
        return all_packed(typename packed_members<T>::type{}) ? packing::members : packing::none;
    } else {
        return packing::none;
    }
}

/// The packed size of a T, and the number of its blocks.
struct packed_extent {
    std::size_t bytes = 0;
    std::size_t handles = 0;
    friend consteval packed_extent operator+(packed_extent a, packed_extent b) { return {a.bytes + b.bytes, a.handles + b.handles}; }
};
template <class T>
consteval packed_extent extent_of()
{
    constexpr packing how = packing_of<T>();
    if constexpr (how == packing::value)
        return {sizeof(T), 0};
    else if constexpr (how == packing::handle)
        return {sizeof(handed_block), 1};
    else if constexpr (how == packing::members)
        return []<class... M>(member_list<M...>) { return (packed_extent{} + ... + extent_of<M>()); }(typename packed_members<T>::type{});
    else
        return {};
}
template <class... P>
inline constexpr packed_extent extent_of_all = (packed_extent{} + ... + extent_of<wire_type<P>>());

/// True if a list of values is packable: all are, and they are few bytes.
template <class... P>
consteval bool packable()
{
    return (... && (packing_of<wire_type<P>>() != packing::none)) &&
           extent_of_all<P...>.bytes <= (extent_of_all<P...>.handles == 0 ? max_packed : max_packed_handles);
}
/// True if it is packed only if every block in it can change owner at that moment.
template <class... P>
consteval bool packable_if_handed()
{
    return packable<P...>() && extent_of_all<P...>.handles != 0;
}
template <class... P>
consteval bool always_packable()
{
    return packable<P...>() && extent_of_all<P...>.handles == 0;
}

template <class T, class F>
decltype(auto) visit_packed(T& value, F&& f)
{
    if constexpr (plain_aggregate<std::remove_const_t<T>>)
        return visit_members(value, std::forward<F>(f));
    else
        return std::apply(std::forward<F>(f), value);
}

/// Tests whether every block in the value can change owner: `share(data, bytes)` returns its address for the receiver, or 0.
template <class T, class Share>
bool share_blocks(T const& value, std::uint64_t*& places, Share&& share)
{
    if constexpr (extent_of<T>().handles == 0) {
        return true;
    } else if constexpr (packing_of<T>() == packing::handle) {
        using handle = block_handle<T>;
        if (!handle::may_leave(value))
            return false;
        handed_block const b = handle::block(value);
        std::uint64_t const place =
            b.count == 0 ? 0 : share(reinterpret_cast<void const*>(b.where), b.count * sizeof(typename handle::element));
        *places++ = place;
        return place != 0 || b.count == 0;
    } else {
        return visit_packed(value, [&](auto const&... m) { return (... && share_blocks(m, places, share)); });
    }
}

/// Writes the value at `to`; `places` are those of its blocks.
template <class T>
void pack_one(std::byte*& to, T const& value, [[maybe_unused]] std::uint64_t const*& places)
{
    if constexpr (packing_of<T>() == packing::value) {
        std::memcpy(to, &value, sizeof value);
        to += sizeof value;
    } else if constexpr (packing_of<T>() == packing::handle) {
        handed_block const b{*places++, block_handle<T>::block(value).count};
        std::memcpy(to, &b, sizeof b);
        to += sizeof b;
    } else {
        visit_packed(value, [&](auto const&... m) { (pack_one(to, m, places), ...); });
    }
}

/// Removes handed-over blocks from the value.
template <class T>
void let_go_of_blocks(T& value)
{
    if constexpr (packing_of<T>() == packing::handle)
        block_handle<T>::let_go(value);
    else if constexpr (extent_of<T>().handles != 0)
        visit_packed(value, [](auto&... m) { (let_go_of_blocks(m), ...); });
}

[[noreturn]] void throw_packed_size(std::size_t is, std::size_t should);
[[noreturn]] void throw_bad_bool();
[[noreturn]] void throw_bad_handed_block();

/// Reads a value from `from`, which has all its bytes. Takes over the blocks in it.
template <class T>
T unpack_one([[maybe_unused]] message_view& m, std::byte const*& from)
{
    if constexpr (packing_of<T>() == packing::handle) {
        using handle = block_handle<T>;
        using element = typename handle::element;
        handed_block b;
        std::memcpy(&b, from, sizeof b);
        from += sizeof b;
        if (b.count == 0)
            return handle::adopt(nullptr, 0);
        if (b.count > ~std::uint64_t{0} / sizeof(element))
            throw_bad_handed_block();
        void* const block = m.claim(b.where, b.count * sizeof(element));
        if constexpr (alignof(element) > 1)
            if (reinterpret_cast<std::uintptr_t>(block) % alignof(element) != 0)
                throw_bad_handed_block();
        return handle::adopt(block, b.count);
    } else if constexpr (packing_of<T>() == packing::members) {
        return [&]<class... M>(member_list<M...>) { return T{unpack_one<M>(m, from)...}; }(typename packed_members<T>::type{});
    } else if constexpr (std::is_same_v<T, bool>) {
        auto const byte = static_cast<unsigned char>(*from++);
        if (byte > 1)
            throw_bad_bool();
        return byte != 0;
    } else {
        T value;
        std::memcpy(&value, from, sizeof value);
        from += sizeof value;
        return value;
    }
}

/// Throws unless the message has exactly the bytes of the list.
template <class... P>
void check_packed_size(message_view const& m)
{
    if (m.bytes.size() != extent_of_all<P...>.bytes)
        throw_packed_size(m.bytes.size(), extent_of_all<P...>.bytes);
}

} // namespace towline::detail
