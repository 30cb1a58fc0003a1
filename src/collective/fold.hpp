#pragma once
// How any number of ranks becomes a power of two, in order: of the first 2 * rest ranks, each even one gives its operand to the odd one
// after it, which stands for both.

#include "collective/schedule.hpp"
#include "collective/tree.hpp"

namespace towline::collective {

struct folded {
    explicit folded(position here) noexcept
        : power(floor_power(here.size)), rest(here.size - power), gives(here.rank < 2 * rest && here.rank % 2 == 0),
          takes(here.rank < 2 * rest && here.rank % 2 != 0), number(here.rank < 2 * rest ? here.rank / 2 : here.rank - rest)
    {
    }
    int power;   ///< the number of ranks that are left
    int rest;
    bool gives;  ///< this rank gives its operand to rank + 1
    bool takes;  ///< from rank - 1
    int number;  ///< among those that are left

    [[nodiscard]] int rank_of(int n) const noexcept { return n < rest ? 2 * n + 1 : n + rest; }
    /// The first rank that n stands for; for n = power: the number of ranks.
    [[nodiscard]] int first_of(int n) const noexcept { return n < rest ? 2 * n : n + rest; }
};

} // namespace towline::collective
