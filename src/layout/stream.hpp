#pragma once
// The packed stream of a message: the bytes of `count` elements of a datatype in the order of its type map, without gaps. Any range of it
// can be packed or unpacked at any time in any order: finding its begin costs O(depth of the type), so a message may go in pieces of any
// sizes.
//
// A stream is a small value; it refers to the datatype, which must outlive it, and does not allocate. Any thread; two threads may work on
// ranges of one stream at once (unpacking of types whose elements overlap aside, which the standard forbids).
//
// `buffer` is where displacement 0 of the first element lies, as in MPI's calls; it may be null with absolute displacements (MPI_BOTTOM).
// Ranges are byte offsets in the stream: 0 <= first <= last <= size(). All memory that a range covers must be there.

#include "layout/datatype.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace towline::layout {

struct node;

/// Bytes in a row: where, from `buffer`, and how many.
struct block {
    std::int64_t displacement = 0;
    std::int64_t bytes = 0;
    friend bool operator==(block const&, block const&) = default;
};

class stream {
public:
    /// Throws usage_error if count is negative, limit_error if the stream's size does not fit 64 bits.
    stream(datatype const& type, std::int64_t count);
    stream(datatype const&&, std::int64_t) = delete;  // it would not outlive the stream

    [[nodiscard]] std::int64_t size() const noexcept { return size_; }

    /// Copies stream[first, last) from the buffer to `to` (last - first bytes, which do not overlap the buffer's).
    void pack(void const* buffer, std::int64_t first, std::int64_t last, void* to) const noexcept;
    /// Copies last - first bytes of `from` to where stream[first, last) lies in the buffer.
    void unpack(void* buffer, std::int64_t first, std::int64_t last, void const* from) const noexcept;

    /// True if the stream is the bytes [displacement(), displacement() + size()) of the buffer, or empty: nothing needs to be packed.
    [[nodiscard]] bool is_block() const noexcept { return child_ == nullptr; }
    /// Where the stream's first byte lies.
    [[nodiscard]] std::int64_t displacement() const noexcept { return displacement_; }

    /// The block of the buffer with the byte `position` of the stream, from that byte on. 0 <= position < size().
    [[nodiscard]] block at(std::int64_t position) const noexcept;
    /// Writes the blocks of stream[first, last) into `out`, neighbours as one, until it is full. Returns how many; `next` is where in the
    /// stream to go on (last when all are written).
    [[nodiscard]] std::size_t blocks(std::int64_t first, std::int64_t last, std::span<block> out, std::int64_t& next) const noexcept;

private:
    // `child_` again and again, `stride_` bytes apart; null: one block
    node const* child_ = nullptr;
    std::int64_t stride_ = 0;
    std::int64_t displacement_ = 0;
    std::int64_t size_ = 0;
};

} // namespace towline::layout
