#pragma once
// `towline layout`: the tree of a datatype, the plan from one layout to another, and the time of that.

#include "layout/node.hpp"
#include "layout_text.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace towline::tools {

struct layout_options {
    std::string from;  ///< as layout_text.hpp has them
    std::string to;    ///< empty: the same
    bool measure = true;
    bool json = false;
};

/// The command; the exit code.
int show_layout(layout_options const&);

/// Blocks of bytes in a row that a tree has, in the order of the stream.
[[nodiscard]] std::int64_t pieces_of(layout::node const&);

/// The memory that a message touches, in bytes from its buffer.
struct layout_span {
    std::int64_t low = 0, high = 0;
};
[[nodiscard]] layout_span span_of(layout_message const&);

/// How long something takes in this process.
struct layout_time {
    std::string name;  ///< one word or two, for programs too
    std::string text;  ///< what it is
    double ns = 0;     ///< median
    bool moves = true; ///< the bytes of the message, so that it has a rate
};

/// Measures a message from one layout to the other: its steps, and the designs of TOWLINE_LAYOUT as they are made of these. The message
/// has data. Under a second, for what is slow to copy a few. Throws std::bad_alloc.
[[nodiscard]] std::vector<layout_time> measure_layouts(layout_message const& from, layout_message const& to);

} // namespace towline::tools
