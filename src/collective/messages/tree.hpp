#pragma once
// The binomial tree over ranks that are turned so that the root is 0. The subtree of v are the ranks from v on, up to the lowest bit of v.

#include "collective/schedule.hpp"

#include <algorithm>
#include <bit>

namespace towline::collective {

/// The smallest power of two that is not below n; n >= 1.
[[nodiscard]] inline int ceiling_power(int n) noexcept
{
    return static_cast<int>(std::bit_ceil(static_cast<unsigned>(n)));
}
/// The largest that is not above n; n >= 1.
[[nodiscard]] inline int floor_power(int n) noexcept
{
    return static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
}

struct binomial_tree {
    binomial_tree(position here, int top) noexcept
        : size(here.size), root(top), turned(here.rank < top ? here.rank - top + here.size : here.rank - top),
          span(turned == 0 ? ceiling_power(size) : turned & -turned), subtree(std::min(span, size - turned))
    {
    }
    int size;
    int root;
    int turned;   ///< this rank's number in the tree
    int span;     ///< children are at turned + span/2, span/4, ... 1, as far as there are any
    int subtree;  ///< ranks in it, with this one

    [[nodiscard]] int rank_of(int number) const noexcept { return number + root < size ? number + root : number + root - size; }
    [[nodiscard]] bool is_root() const noexcept { return turned == 0; }
    [[nodiscard]] int parent() const noexcept { return rank_of(turned - span); }
    [[nodiscard]] bool has_child(int bit) const noexcept { return turned + bit < size; }
    [[nodiscard]] int child(int bit) const noexcept { return rank_of(turned + bit); }
    /// Ranks in the subtree of that child.
    [[nodiscard]] int below(int bit) const noexcept { return std::min(bit, size - turned - bit); }
};

} // namespace towline::collective
