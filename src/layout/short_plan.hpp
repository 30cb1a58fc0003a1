#pragma once
// How an element of a few bytes in a few pieces is packed and unpacked: without a walk through its tree, which takes longer than the bytes.
// Immutable once made; any thread.

#include "layout/rows.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace towline::layout {

class datatype;

class short_plan {
public:
    static constexpr std::int64_t most_pieces = 16, most_bytes = 512;

    short_plan() noexcept {}  // NOLINT: leaves the lists as they are
    short_plan(short_plan const&) = delete;
    short_plan& operator=(short_plan const&) = delete;
    /// Becomes that of the type; holds nothing where that has more pieces or bytes, or its data is one block. Once.
    void make(datatype const&) noexcept;

    [[nodiscard]] bool holds() const noexcept { return pieces_ != 0; }
    [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }

    /// One element, from `buffer` to the row at `to`, and back.
    void pack(void const* buffer, void* to) const noexcept;
    void unpack(void* buffer, void const* from) const noexcept;

private:
    std::int32_t pieces_ = 0;
    std::int32_t bytes_ = 0;
    std::int32_t each_ = 0;  ///< bytes of a piece, where all have as many; else 0
    std::array<std::uint16_t, most_pieces> sizes_;  // of both as many as there are pieces
    std::array<std::int64_t, most_pieces> displacements_;
};

} // namespace towline::layout
