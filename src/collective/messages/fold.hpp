#pragma once
// How any number of ranks becomes a power of two, in order: of the first 2 * rest ranks, each even one gives its operand to the odd one
// after it, which stands for both.

#include "collective/schedule.hpp"
#include "collective/messages/tree.hpp"

#include <cstddef>
#include <cstdint>

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

/// Recursive halving among those that are left [T]: exchanges halves of `sum` with partners and combines, until each has its part alone.
/// `begin(n)` is the first element of part n, begin(power) their number; `in` has room for the larger half.
template <class Begin>
void halve(schedule& s, folded const& fold, std::byte* sum, std::byte* in, combination const& r, Begin&& begin)
{
    int first = 0;
    int behind = fold.power;
    for (int distance = fold.power / 2; distance > 0; distance /= 2) {
        int const partner = fold.rank_of(fold.number ^ distance);
        int const middle = first + distance;
        bool const upper = (fold.number & distance) != 0;
        int const theirs = upper ? first : middle;
        int const theirs_behind = upper ? middle : behind;
        first = upper ? middle : first;
        behind = upper ? behind : middle;
        std::uint64_t const mine = begin(behind) - begin(first);
        s.receive(partner, in, mine * r.element);
        s.send(partner, sum + begin(theirs) * r.element, (begin(theirs_behind) - begin(theirs)) * r.element);
        s.wait();
        s.combine(r, in, sum + begin(first) * r.element, mine);
    }
}

} // namespace towline::collective
