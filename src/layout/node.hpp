#pragma once
// The canonical tree of a datatype. Two of them describe each type: one of bytes, for moving them, where neighbours of any kind are one
// block; and one of basic elements, for external32 and for counting, where only neighbours of one kind are. Where all elements are of one
// kind, one tree serves as both: in a tree of bytes `unit`, `elements` and `element_starts` say nothing.
//
// Five forms. Order is that of the stream; displacements are relative to the first byte of the node's data (so a node's data begins at 0),
// and where that lies is said by whoever holds the node.
//
//   block      `size` bytes in a row
//   loop       `count` times `child`, `stride` bytes apart
//   list       `child` at each of `displacements`
//   pieces     blocks at `displacements`; the i-th has the bytes starts[i] to starts[i + 1] of the stream
//   sequence   the same with `children` instead of blocks
//
// Nodes are immutable once built and hold at least a byte; no data is a null pointer.

#include "layout/kind.hpp"

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace towline::layout {

enum class form : std::uint8_t { block, loop, list, pieces, sequence };

struct node;
using node_pointer = std::shared_ptr<node const>;

struct node {
    node() noexcept {}  // NOLINT: not defaulted, so that make_shared does not fill it with zeros first
    form what = form::block;
    kind unit = kind::byte;         ///< of the elements, for block and pieces
    std::int32_t depth = 1;
    std::int64_t size = 0;          ///< bytes of data
    std::int64_t elements = 0;      ///< of the tree's units
    std::int64_t count = 0;         ///< of loop, list, pieces, sequence
    std::int64_t stride = 0;
    node_pointer child;             ///< of loop and list
    std::vector<std::int64_t> displacements;
    std::vector<std::int64_t> starts;          ///< count + 1
    std::vector<std::int64_t> element_starts;  ///< count + 1, of sequence
    std::vector<node_pointer> children;
};

/// A node and where its data begins.
struct placed {
    std::int64_t displacement = 0;
    node_pointer tree;
    [[nodiscard]] std::int64_t size() const noexcept { return tree ? tree->size : 0; }
};

/// `bytes` bytes of `unit` at 0; nothing with 0 bytes. A multiple of the unit's size.
[[nodiscard]] placed make_block(kind unit, std::int64_t bytes);
/// `count` copies, `stride` bytes apart. The caller has checked that the result's bounds and size fit.
[[nodiscard]] placed repeat(placed const& child, std::int64_t count, std::int64_t stride);

/// Collects what a list of blocks or nodes makes, in the order of the stream, and brings it into the smallest form that it finds: a tree of
/// elements, or of bytes after forget_units().
class gatherer {
public:
    void add(std::int64_t displacement, placed const& what);
    void add_block(std::int64_t displacement, kind unit, std::int64_t bytes);
    void reserve(std::size_t n) { items_.reserve(n); }
    /// From now on blocks of different units are alike. All that came before has one unit.
    void forget_units() noexcept { units_ = false; }
    [[nodiscard]] placed finish();

    static constexpr std::size_t shortest_run = 4;  ///< items with equal steps that are worth a loop inside a list
    static constexpr std::size_t worthwhile = 8;    ///< a list is folded into loops if that makes it so many times shorter

private:
    struct item {
        std::int64_t displacement, size;
        kind unit;
        node_pointer tree;  ///< null: a block
    };
    [[nodiscard]] bool flatten();
    using list = boost::container::small_vector<item, 4>;
    [[nodiscard]] static std::size_t run_length(list const&, std::size_t first, bool units) noexcept;
    [[nodiscard]] static list fold(list const&, bool units);
    list items_;
    bool units_ = true;
};

/// True if both describe the same bytes in the same order by the same form; with `units`, also as the same elements. Looks a few levels
/// deep only, where they are not shared.
[[nodiscard]] bool same(node const& a, node const& b, bool units) noexcept;

/// Elements of the tree's units that begin in the first `bytes` bytes (at most its size); `cut` is set if an element ends beyond them.
[[nodiscard]] std::int64_t elements_before(node const& tree, std::int64_t bytes, bool& cut) noexcept;
/// Bytes that the first `elements` units take (at most all).
[[nodiscard]] std::int64_t bytes_before(node const& tree, std::int64_t elements) noexcept;

[[nodiscard]] std::string describe(placed const&);

} // namespace towline::layout
