#pragma once
// Lower and upper bounds by the rules of the standard ("Lower-Bound and Upper-Bound Markers"): markers, where `resized` or an array
// constructor left any, decide alone; otherwise the data does, and the extent is rounded up to the strictest alignment in it. What was
// rounded up in an inner type counts as its data where it lies in an outer one: an element never reaches past the end of its array, also
// where its displacement is not aligned.

#include "layout/checked.hpp"

#include <cstdint>
#include <limits>

namespace towline::layout {

struct bounds {
    bool data = false;    ///< true_lb and true_ub hold
    bool marked = false;  ///< lb_mark and ub_mark hold
    std::int64_t true_lb = 0, true_ub = 0;
    std::int64_t lb_mark = 0, ub_mark = 0;
    std::int64_t alignment = 1;
    std::int64_t rounded_ub = std::numeric_limits<std::int64_t>::min();  ///< upper bounds of what lies in it, where those were rounded up

    /// Takes in `count` copies of `other` from `displacement` on, `stride` bytes apart. Each copy's bounds must fit 64 bits, and so must
    /// the distance between them.
    void take(bounds const& other, std::int64_t displacement, std::int64_t count, std::int64_t stride, checked const&);
    void mark(std::int64_t lb, std::int64_t ub) noexcept;
    [[nodiscard]] std::int64_t lb() const noexcept { return marked ? lb_mark : true_lb; }
    /// Throws where the rounding does not fit.
    [[nodiscard]] std::int64_t ub(checked const&) const;
};

} // namespace towline::layout
