#pragma once
// Packing and unpacking: blocks between memory where they lie apart and memory where they lie in a row. Rows of blocks are left to the
// kernels (rows.hpp); a single short block is moved here, by two overlapping loads and stores.

#include "base/copy.hpp"
#include "layout/rows.hpp"
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

[[nodiscard]] inline fields fields_of(node const& pieces) noexcept
{
    return {pieces.displacements.data(), pieces.starts.data(), pieces.count};
}

/// Moves blocks and advances in the stream.
template <direction Direction>
class block_copier {
public:
    using stream_byte = std::conditional_t<Direction == direction::pack, std::byte, std::byte const>;
    explicit block_copier(stream_byte* stream) noexcept : stream_(stream) {}

    void block(place_t at, std::int64_t bytes, kind) noexcept
    {
        if constexpr (Direction == direction::pack)
            copy_any(stream_, reinterpret_cast<std::byte const*>(at), bytes);
        else
            copy_any(reinterpret_cast<std::byte*>(at), stream_, bytes);
        stream_ += bytes;
    }

    void strided(place_t at, std::int64_t stride, std::int64_t n, std::int64_t bytes, kind) noexcept
    {
        stepped_kernel const move = kernels_for(bytes).stepped;
        if constexpr (Direction == direction::pack)
            move(stream_, bytes, reinterpret_cast<std::byte const*>(at), stride, n, bytes);
        else
            move(reinterpret_cast<std::byte*>(at), stride, stream_, bytes, n, bytes);
        stream_ += n * bytes;
    }

    void nested(place_t at, std::int64_t outer, std::int64_t m, std::int64_t stride, std::int64_t n, std::int64_t bytes, kind) noexcept
    {
        if constexpr (Direction == direction::pack)
            copy_nest(stream_, reinterpret_cast<std::byte const*>(at), {m, n, bytes, n * bytes, bytes, outer, stride});
        else
            copy_nest(reinterpret_cast<std::byte*>(at), stream_, {m, n, bytes, outer, stride, n * bytes, bytes});
        stream_ += m * n * bytes;
    }

    void listed(place_t at, std::int64_t const* displacements, std::int64_t n, std::int64_t bytes, kind) noexcept
    {
        row_kernels const& kernels = kernels_for(bytes);
        if constexpr (Direction == direction::pack)
            kernels.gathering(stream_, bytes, reinterpret_cast<std::byte const*>(at), displacements, n, bytes);
        else
            kernels.scattering(reinterpret_cast<std::byte*>(at), displacements, stream_, bytes, n, bytes);
        stream_ += n * bytes;
    }

    void records(place_t at, places there, std::int64_t n, node const& pieces) noexcept
    {
        if constexpr (Direction == direction::pack)
            gather_records(stream_, reinterpret_cast<std::byte const*>(at), there, fields_of(pieces), n);
        else
            scatter_records(reinterpret_cast<std::byte*>(at), there, stream_, fields_of(pieces), n);
        stream_ += n * pieces.size;
    }

private:
    [[nodiscard]] row_kernels const& kernels_for(std::int64_t bytes) const noexcept { return rows_.of[size_class(bytes)]; }

    stream_byte* stream_;
    row_tables const& rows_ = best_rows();
};

} // namespace towline::layout
