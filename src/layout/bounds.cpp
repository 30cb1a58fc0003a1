#include "layout/bounds.hpp"

#include <algorithm>

namespace towline::layout {

void bounds::take(bounds const& other, std::int64_t displacement, std::int64_t count, std::int64_t stride, checked const& in)
{
    if (count == 0 || (!other.data && !other.marked))
        return;
    std::int64_t const last = in.add(displacement, in.mul(count - 1, stride, "displacement of the last element"), "last displacement");
    std::int64_t const low = std::min(displacement, last), high = std::max(displacement, last);
    if (other.data) {
        std::int64_t const from = in.add(other.true_lb, low, "true lower bound"), to = in.add(other.true_ub, high, "true upper bound");
        true_lb = data ? std::min(true_lb, from) : from;
        true_ub = data ? std::max(true_ub, to) : to;
        data = true;
        alignment = std::max(alignment, other.alignment);
        if (!other.marked)
            rounded_ub = std::max(rounded_ub, in.add(other.ub(in), high, "upper bound"));
        static_cast<void>(in.sub(true_ub, true_lb, "true extent"));
    }
    if (other.marked) {
        std::int64_t const from = in.add(other.lb_mark, low, "lower bound"), to = in.add(other.ub_mark, high, "upper bound");
        lb_mark = marked ? std::min(lb_mark, from) : from;
        ub_mark = marked ? std::max(ub_mark, to) : to;
        marked = true;
    }
}

void bounds::mark(std::int64_t lb, std::int64_t ub) noexcept
{
    marked = true;
    lb_mark = lb;
    ub_mark = ub;
}

std::int64_t bounds::ub(checked const& in) const
{
    if (marked)
        return ub_mark;
    std::int64_t const end = std::max(true_ub, rounded_ub);
    std::int64_t const rest = in.sub(end, true_lb, "extent") % alignment;
    return rest == 0 ? end : in.add(end, alignment - rest, "upper bound");
}

} // namespace towline::layout
