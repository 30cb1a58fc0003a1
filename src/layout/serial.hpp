#pragma once
// Layouts between processes: a form without addresses that a peer can check and keep (docs/wire.md, "Layouts"), and a number that says what
// a layout means.

#include "layout/node.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace towline::layout {

/// What a layout means: where each byte of the stream lies. Two layouts that put the same bytes at the same places have the same meaning,
/// whatever their forms are; two others differ in it but with a probability of 2^-100 (nothing is promised against who searches for such a
/// pair). The same in every process.
struct meaning {
    std::uint64_t first = 0, second = 0;
    friend bool operator==(meaning const&, meaning const&) = default;
};

/// O(entries of lists + depth * 64).
[[nodiscard]] meaning meaning_of(placed const&);

/// The serialized form.
[[nodiscard]] std::vector<std::uint64_t> serialize(placed const&);

/// What is wrong with a serialized form, by name.
class bad_layout : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The memory that a layout may refer to: [low, high), in bytes from its displacement 0.
struct segment {
    std::int64_t low = 0, high = 0;
};

/// Reads a serialized form that may hold anything, and may change meanwhile: each word is read once. The layout has `size` bytes of data,
/// all in the segment; its lists are as long as the form says, so that it takes no more memory than a few times the form's. Throws
/// bad_layout, which names what is wrong, and std::bad_alloc.
[[nodiscard]] placed deserialize(std::span<std::uint64_t const> words, std::int64_t size, segment within);

} // namespace towline::layout
