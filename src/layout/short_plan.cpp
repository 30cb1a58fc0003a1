#include "layout/short_plan.hpp"

#include "layout/copy_blocks.hpp"
#include "layout/description.hpp"
#include "layout/walk.hpp"

namespace towline::layout {
namespace {

/// Pieces of a tree; stops to count beyond the most that a plan has.
[[nodiscard]] std::int64_t pieces_in(node const& n) noexcept
{
    constexpr std::int64_t most = short_plan::most_pieces;
    switch (n.what) {
    case form::block: return 1;
    case form::pieces: return n.count;
    case form::loop:
    case form::list: return n.count > most ? n.count : n.count * pieces_in(*n.child);
    case form::sequence: {
        std::int64_t all = 0;
        for (auto const& child : n.children)
            if ((all += pieces_in(*child)) > most)
                break;
        return all;
    }
    }
    return 0;
}

/// Writes the pieces down, in the order of the stream.
struct writer {
    std::int64_t* displacements;
    std::uint16_t* sizes;
    std::int32_t n = 0;

    void block(place_t at, std::int64_t bytes, kind) noexcept
    {
        displacements[n] = static_cast<std::int64_t>(at);
        sizes[n++] = static_cast<std::uint16_t>(bytes);
    }
    void strided(place_t at, std::int64_t stride, std::int64_t many, std::int64_t bytes, kind unit) noexcept
    {
        for (std::int64_t i = 0; i < many; ++i)
            block(moved(at, i, stride), bytes, unit);
    }
    void listed(place_t at, std::int64_t const* where, std::int64_t many, std::int64_t bytes, kind unit) noexcept
    {
        for (std::int64_t i = 0; i < many; ++i)
            block(moved(at, where[i]), bytes, unit);
    }
};

/// Calls `copy` with a piece's place in the buffer, its start in the row and its size: a number that the compiler knows, where all pieces
/// have one of the usual sizes.
template <class Copy>
[[gnu::always_inline]] inline void for_each_piece(std::int64_t const* at, std::uint16_t const* sizes, std::int32_t n, std::int32_t each,
                                                  Copy copy) noexcept
{
    auto const of = [&]<std::int64_t Bytes>() {
        for (std::int32_t i = 0; i < n; ++i)
            copy(at[i], i * Bytes, [](std::byte* to, std::byte const* from) { std::memcpy(to, from, Bytes); });
    };
    switch (each) {
    case 4: return of.template operator()<4>();
    case 8: return of.template operator()<8>();
    case 16: return of.template operator()<16>();
    case 32: return of.template operator()<32>();
    default: break;
    }
    std::int64_t start = 0;
    for (std::int32_t i = 0; i < n; start += sizes[i], ++i)
        copy(at[i], start, [bytes = std::int64_t{sizes[i]}](std::byte* to, std::byte const* from) { copy_any(to, from, bytes); });
}

} // namespace

void short_plan::make(datatype const& type) noexcept
{
    description const& d = type.describes();
    if (d.size == 0 || d.size > most_bytes || d.bytes.tree->what == form::block)
        return;
    node const& root = *d.bytes.tree;
    if (std::int64_t const n = pieces_in(root); n > most_pieces)
        return;
    writer w{displacements_.data(), sizes_.data()};
    walk_all(root, static_cast<place_t>(d.bytes.displacement), w);
    pieces_ = w.n;
    bytes_ = static_cast<std::int32_t>(d.size);
    each_ = sizes_[0];
    for (std::int32_t i = 1; i < w.n; ++i)
        if (sizes_[static_cast<std::size_t>(i)] != each_)
            each_ = 0;
}

void short_plan::pack(void const* buffer, void* to) const noexcept
{
    auto const base = reinterpret_cast<place_t>(buffer);
    auto* const row = static_cast<std::byte*>(to);
    for_each_piece(displacements_.data(), sizes_.data(), pieces_, each_, [&](std::int64_t at, std::int64_t start, auto move) {
        move(row + start, reinterpret_cast<std::byte const*>(moved(base, at)));
    });
}

void short_plan::unpack(void* buffer, void const* from) const noexcept
{
    auto const base = reinterpret_cast<place_t>(buffer);
    auto const* const row = static_cast<std::byte const*>(from);
    for_each_piece(displacements_.data(), sizes_.data(), pieces_, each_, [&](std::int64_t at, std::int64_t start, auto move) {
        move(reinterpret_cast<std::byte*>(moved(base, at)), row + start);
    });
}

} // namespace towline::layout
