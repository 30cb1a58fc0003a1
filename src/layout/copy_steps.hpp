#pragma once
// What a copy plan is made of. A step moves `size` bytes of the stream; its data begins at 0 on both sides, as a node's.

#include "layout/copy_plan.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace towline::layout {

enum class motion : std::uint8_t {
    block,   ///< `size` bytes in a row on both sides
    loop,    ///< `count` times `child`
    list,    ///< the same, at the displacements of the nodes, or a stride apart on the side that has none
    pieces,  ///< blocks at `to_at` and `from_at`; the i-th has the bytes starts[i] to starts[i + 1] of the stream
    pack,    ///< `from` into a row
    unpack,  ///< a row into `to`
    mirror,  ///< both sides are laid out as `from`
    merge,   ///< `from` into `to`, which are walked together
};

using step_pointer = std::shared_ptr<copy_plan::step const>;

struct copy_plan::step {
    motion what = motion::block;
    bool to_is_outer = false;  ///< of merge: which side has the longer rows
    std::int64_t size = 0;
    std::int64_t count = 0;
    std::int64_t to_stride = 0, from_stride = 0;
    step_pointer child;
    node_pointer to, from;
    std::vector<std::int64_t> to_at, from_at, starts;
};

/// Joins two trees of the same size.
[[nodiscard]] step_pointer join(node_pointer const& to, node_pointer const& from);

} // namespace towline::layout
