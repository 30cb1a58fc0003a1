#pragma once
// The combination of what several ranks offer, piece by piece.

#include "collective/lanes/lane_offers.hpp"
#include "engine/small_vector.hpp"

#include <cstddef>
#include <cstdint>

namespace towline::collective {

struct combination;

/// Over ranks 0 to `last`, of `size` bytes at `offset` of the `expected` that each offers. Found once: what an operation reads in pieces is
/// in the same places all the time.
class lane_fold {
public:
    /// `own`, not null: where this rank's part lies. Throws as lane_offers::source.
    lane_fold(lane_offers&, int last, std::uint64_t offset, std::uint64_t size, std::uint64_t expected, combination const&,
              void const* own = nullptr);

    /// `to` = the combination of `bytes` of them, whole elements, from `at` on.
    void combine(std::byte* to, std::uint64_t at, std::uint64_t bytes) const;

private:
    combination const& how_;
    engine::small_vector<lane_offers::readable, 8> sources_;
};

} // namespace towline::collective
