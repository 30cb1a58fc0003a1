#pragma once
// How ranks divide a vector among them, each to do its part for all.

#include "collective/thresholds.hpp"

#include <algorithm>
#include <cstdint>

namespace towline::collective {

/// The byte at which the share of `rank` of `ranks` begins; of rank `ranks`: the end. Whole lines, so that no line is written by two, and
/// whole elements; some shares may be empty.
[[nodiscard]] inline std::uint64_t share(std::uint64_t bytes, std::uint64_t element, int rank, int ranks) noexcept
{
    std::uint64_t const grain = element * std::max<std::uint64_t>(thresholds::line / element, 1);
    std::uint64_t const grains = (bytes + grain - 1) / grain;
    auto const p = static_cast<std::uint64_t>(ranks);
    auto const i = static_cast<std::uint64_t>(rank);
    return std::min(bytes, (grains / p * i + grains % p * i / p) * grain);
}

} // namespace towline::collective
