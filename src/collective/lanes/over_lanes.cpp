// Operations over lanes as steps of a schedule.

#include "collective/operations.hpp"

#include "collective/lanes/programs.hpp"

namespace towline::collective::over_lanes {

void build(schedule& s, call const& c, bool crowded)
{
    s.is_called({c.what, c.root});
    lane_builder x(s, crowded);
    programs::with_routine(c.what, [&](auto what) { programs::perform<what()>(x, c); });
}

bool is_shown(lanes const& l, call const& c) noexcept
{
    return l.are_shown(programs::most_offered(c.what, c, l.size()));
}

bool may_leave(lanes const& l, call const& c) noexcept
{
    // With tables, all ranks look at all others only then.
    return programs::has_tables(c.what) ? l.size() == 2 || l.is_tight() : !is_shown(l, c);
}

} // namespace towline::collective::over_lanes
