#pragma once
// The inner loops of packing and unpacking: blocks of one size between memory where they lie apart and memory where they lie in a row.
//
// Rows of blocks of 1, 2, 4 to 64 bytes get loops in which the block is a register or a few; other short blocks are moved by two
// overlapping loads and stores; memcpy does the rest.

#include "base/copy.hpp"
#include "layout/walk.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace towline::layout {

enum class direction : bool { pack, unpack };

/// From this size on a block is left to what knows the caches.
inline constexpr std::int64_t big_block = std::int64_t{1} << 20;

/// A block of Half to 2 * Half bytes, as two that may overlap: no branch on its size.
template <std::size_t Half>
inline void copy_ends(std::byte* to, std::byte const* from, std::int64_t bytes) noexcept
{
    std::byte head[Half], tail[Half];
    std::memcpy(head, from, Half);
    std::memcpy(tail, from + bytes - Half, Half);
    std::memcpy(to, head, Half);
    std::memcpy(to + bytes - Half, tail, Half);
}

/// One block of any size but 0.
inline void copy_any(std::byte* to, std::byte const* from, std::int64_t bytes) noexcept
{
    if (bytes >= big_block)
        base::copy_block(to, from, static_cast<std::size_t>(bytes));
    else if (bytes > 64)
        std::memcpy(to, from, static_cast<std::size_t>(bytes));
    else if (bytes > 32)
        copy_ends<32>(to, from, bytes);
    else if (bytes > 16)
        copy_ends<16>(to, from, bytes);
    else if (bytes >= 8)
        copy_ends<8>(to, from, bytes);
    else if (bytes >= 4)
        copy_ends<4>(to, from, bytes);
    else if (bytes >= 2)
        copy_ends<2>(to, from, bytes);
    else
        *to = *from;
}

/// Moves blocks and advances in the stream.
template <direction Direction>
class block_copier {
public:
    using stream_byte = std::conditional_t<Direction == direction::pack, std::byte, std::byte const>;
    explicit block_copier(stream_byte* stream) noexcept : stream_(stream) {}

    void block(place_t at, std::int64_t bytes, kind) noexcept
    {
        move<any>(stream_, at, bytes);
        stream_ += bytes;
    }

    void strided(place_t at, std::int64_t stride, std::int64_t n, std::int64_t bytes, kind) noexcept
    {
        each(n, bytes, [=](std::int64_t i) { return moved(at, i, stride); });
    }

    void listed(place_t at, std::int64_t const* displacements, std::int64_t n, std::int64_t bytes, kind) noexcept
    {
        each(n, bytes, [=](std::int64_t i) { return moved(at, displacements[i]); });
    }

private:
    // How one block is moved, chosen once for all blocks of a row.
    template <std::size_t Bytes>
    struct fixed {
        static void copy(std::byte* to, std::byte const* from, std::int64_t) noexcept { std::memcpy(to, from, Bytes); }
    };
    template <std::size_t Half>
    struct ends {
        static void copy(std::byte* to, std::byte const* from, std::int64_t bytes) noexcept { copy_ends<Half>(to, from, bytes); }
    };
    struct middling {
        static void copy(std::byte* to, std::byte const* from, std::int64_t bytes) noexcept
        {
            std::memcpy(to, from, static_cast<std::size_t>(bytes));
        }
    };
    struct any {
        static void copy(std::byte* to, std::byte const* from, std::int64_t bytes) noexcept { copy_any(to, from, bytes); }
    };

    template <class How>
    static void move(stream_byte* stream, place_t at, std::int64_t bytes) noexcept
    {
        if constexpr (Direction == direction::pack)
            How::copy(stream, reinterpret_cast<std::byte const*>(at), bytes);
        else
            How::copy(reinterpret_cast<std::byte*>(at), stream, bytes);
    }

    template <class How, class Where>
    void row(std::int64_t n, std::int64_t bytes, Where where) noexcept
    {
        stream_byte* s = stream_;
        std::int64_t i = 0;
        for (; i + 4 <= n; i += 4, s += 4 * bytes) {
            move<How>(s, where(i), bytes);
            move<How>(s + bytes, where(i + 1), bytes);
            move<How>(s + 2 * bytes, where(i + 2), bytes);
            move<How>(s + 3 * bytes, where(i + 3), bytes);
        }
        for (; i < n; ++i, s += bytes)
            move<How>(s, where(i), bytes);
        stream_ = s;
    }

    template <class Where>
    void each(std::int64_t n, std::int64_t bytes, Where where) noexcept
    {
        switch (bytes) {
        case 1: return row<fixed<1>>(n, 1, where);
        case 2: return row<fixed<2>>(n, 2, where);
        case 4: return row<fixed<4>>(n, 4, where);
        case 8: return row<fixed<8>>(n, 8, where);
        case 16: return row<fixed<16>>(n, 16, where);
        case 32: return row<fixed<32>>(n, 32, where);
        case 64: return row<fixed<64>>(n, 64, where);
        default: break;
        }
        if (bytes > 64)
            bytes < big_block ? row<middling>(n, bytes, where) : row<any>(n, bytes, where);
        else if (bytes > 32)
            row<ends<32>>(n, bytes, where);
        else if (bytes > 16)
            row<ends<16>>(n, bytes, where);
        else if (bytes > 8)
            row<ends<8>>(n, bytes, where);
        else if (bytes > 4)
            row<ends<4>>(n, bytes, where);
        else
            row<ends<2>>(n, bytes, where);
    }

    stream_byte* stream_;
};

} // namespace towline::layout
