#pragma once
// Moves ranges, on the calling thread.

#include "onload/copy_engine.hpp"

namespace towline::onload {

/// What became of a move.
struct moved {
    int error = 0;            ///< errno; what comes before the fault was moved
    std::uint64_t bytes = 0;
};

/// Moves the bytes [begin, begin + bytes) of the ranges, counted as if they stood behind each other.
/// Parts of a range are moved, too. Interrupted and partial transfers go on.
[[nodiscard]] moved move_part(std::span<range const> ranges, std::uint64_t begin, std::uint64_t bytes, reach where, int pid) noexcept;

} // namespace towline::onload
