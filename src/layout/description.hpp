#pragma once
// What the copies of a datatype share.

#include "layout/bounds.hpp"
#include "layout/datatype.hpp"
#include "layout/node.hpp"

namespace towline::layout {

struct description {
    placed bytes;     ///< the tree of bytes
    placed typed;     ///< the tree of basic elements
    bounds limits;
    std::int64_t size = 0, external_size = 0, elements = 0;
    std::int64_t lb = 0, ub = 0;
    std::optional<kind> predefined, uniform;
};

} // namespace towline::layout
