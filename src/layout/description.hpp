#pragma once
// What the copies of a datatype share.

#include "layout/bounds.hpp"
#include "layout/datatype.hpp"
#include "layout/node.hpp"

namespace towline::layout {

/// A datatype under construction.
struct part {
    placed bytes;     ///< the tree of bytes
    placed typed;     ///< the tree of basic elements; the same one, where all are of one kind (but for pairs)
    bounds limits;
    std::int64_t size = 0, external_size = 0, elements = 0;
    std::optional<kind> uniform;  ///< as datatype::uniform
    [[nodiscard]] bool has_one_tree() const noexcept { return bytes.tree == typed.tree; }
};

struct description : part {
    description() noexcept {}  // NOLINT: as node's
    std::int64_t lb = 0, ub = 0;
    std::optional<kind> predefined;
};

} // namespace towline::layout
