#pragma once
// From one layout straight to another: two trees joined into loops that move each byte of a message once, where packing and unpacking would
// move it twice, through memory of their own.
//
// A plan is made of the trees of both sides and is good for any two buffers, as often as wanted; it keeps what it needs of the trees.
// Making it allocates, and costs what it takes to compare the lists of both sides once. Copying does not allocate, may begin and end
// at any byte of the stream, and finds its begin in O(depth of the types): so a message may be cut into shares for several threads.
//
// Alike layouts are walked once. Loops are joined to loops, down to blocks that both sides have (a row of 32 bytes and rows of 8 are rows
// of 8); rows without gaps are packed or unpacked; short lists that do not fit together become one list of pieces, long ones are walked
// together while copying.

#include "layout/datatype.hpp"
#include "layout/node.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace towline::layout {

/// `count` elements as one tree, in its canonical form. Throws as `stream`, and where it would be nested too deep.
[[nodiscard]] placed elements_of(datatype const&, std::int64_t count);

class copy_plan {
public:
    /// Moves nothing.
    copy_plan() noexcept = default;
    /// Where one stream is longer than the other its rest is left alone. Throws std::bad_alloc.
    copy_plan(placed const& to, placed const& from);

    /// Bytes of the stream that it moves.
    [[nodiscard]] std::int64_t size() const noexcept { return size_; }

    /// Copies stream[first, last) from a buffer to another; they are where displacement 0 is, as in MPI's calls, and may be null with
    /// absolute displacements. 0 <= first <= last <= size(). What is read and what is written do not overlap. Where bytes that are written
    /// overlap, the last one in the stream stays. Any thread; several at once on parts of one stream.
    void copy(void* to, void const* from, std::int64_t first, std::int64_t last) const noexcept;
    void copy(void* to, void const* from) const noexcept { copy(to, from, 0, size_); }

    /// Bytes of memory that it holds, about, the trees of the two sides aside.
    [[nodiscard]] std::size_t weight() const noexcept { return weight_; }
    /// In words, for logs and tests: "loop 8, 64 and 16 apart, of block 8".
    [[nodiscard]] std::string describe() const;

    struct step;

private:
    std::shared_ptr<step const> steps_;  ///< null: nothing to move
    std::int64_t to_ = 0, from_ = 0;     ///< where the stream begins, from the buffers
    std::int64_t size_ = 0;
    std::size_t weight_ = 0;
};

} // namespace towline::layout
