#pragma once
// Which layouts are the same.

#include "layout/node.hpp"

namespace towline::layout {

/// True if both describe the same bytes in the same order by the same form. Unlike `same` it looks all the way down, but gives up (false)
/// on what takes too long: trees that share their parts can be endless.
[[nodiscard]] bool alike(node const&, node const&) noexcept;

/// The tree of the first bytes of a stream; all of it if it has no more. Throws std::bad_alloc.
[[nodiscard]] placed first_bytes(placed const&, std::int64_t bytes);

} // namespace towline::layout
