#pragma once
// Lists of blocks of a type that is a row: what most indexed types are. They are made without a node for each block.

#include "layout/parts.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace towline::layout {

/// Elements of one type, next to each other, are a row: no gaps, no markers.
[[nodiscard]] bool is_row(part const&, std::int64_t extent) noexcept;

/// Blocks of `one`, which is a row, at displacements that are multiples of `unit`; lengths[i] elements in the i-th, or `length` where there
/// is no list. The tree is the same as `assembly` makes of the blocks. Nothing where that is short (a block, a loop, a few loops), or a
/// number is negative or does not fit: then `assembly` makes it, or says what is wrong. Throws std::bad_alloc.
[[nodiscard]] std::optional<part> listed_rows(part const& one, std::span<std::int64_t const> lengths, std::int64_t length,
                                              std::span<std::int64_t const> displacements, std::int64_t unit);

} // namespace towline::layout
