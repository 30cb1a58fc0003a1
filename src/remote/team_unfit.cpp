// Operations of a rank whose rows do not fit together: the rank takes part, so that the other ranks' operations end.

#include "remote/runtime.hpp"
#include "remote/team_core.hpp"

#include <algorithm>
#include <new>
#include <numeric>

namespace towline::detail {
namespace {

using op = team_operation;
using list = std::vector<std::size_t>;

[[nodiscard]] std::size_t sum(list const& counts)
{
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

[[nodiscard]] std::size_t rounded_up(std::size_t row, std::size_t blocks)
{
    return blocks == 0 ? 0 : (row + blocks - 1) / blocks * blocks;
}

/// Replaces sizes by ones that the other ranks accept: the size of the blocks that they see of this rank, if they have one size.
void fit_rows(team_call& c, std::size_t n)
{
    switch (c.what) {
    case op::barrier:
    case op::broadcast: return;
    case op::gather: c.receive_size = c.send_size * n; return;
    case op::scatter:
    case op::reduce_scatter: c.send_size = c.receive_size * n; return;
    case op::all_gather: c.receive_size = c.in_place ? rounded_up(c.receive_size, n) : c.send_size * n; return;
    case op::all_to_all: c.send_size = c.receive_size = rounded_up(std::max(c.send_size, c.receive_size), n); return;
    case op::exchange:
        c.send_size = rounded_up(c.send_size, c.destinations.size());
        c.receive_size = rounded_up(c.receive_size, c.sources.size());
        return;
    case op::reduce:
    case op::all_reduce:
    case op::inclusive_scan:
    case op::exclusive_scan: c.receive_size = c.send_size;
    }
}

void fit_counts(team_call& c, std::size_t n, std::size_t mine, list& out, list& in)
{
    bool const among = c.what == op::exchange;
    out.assign(c.send_counts.begin(), c.send_counts.end());
    in.assign(c.receive_counts.begin(), c.receive_counts.end());
    // An unlisted block gets size 1, because its owner waits for some data.
    if (c.what == op::scatter || c.what == op::all_to_all || among)
        out.resize(among ? c.destinations.size() : n, 1);
    if (c.what != op::scatter)
        in.resize(among ? c.sources.size() : n, 1);
    switch (c.what) {
    case op::scatter:
        out[mine] = c.receive_size;
        c.send_size = sum(out);
        break;
    case op::reduce_scatter:
        in[mine] = c.receive_size;
        c.send_size = sum(in);
        break;
    case op::gather:
    case op::all_gather:
        in[mine] = c.send_size;
        c.receive_size = sum(in);
        break;
    default:
        if (!among)
            in[mine] = out[mine];
        c.send_size = sum(out);
        c.receive_size = sum(in);
    }
    c.send_counts = out;
    c.receive_counts = in;
}

} // namespace

team_call team_core::build_unfit(collective::schedule& s, team_call c, bool over_lanes)
{
    auto const n = static_cast<std::size_t>(size());
    list out, in;
    if (c.by_counts)
        fit_counts(c, n, static_cast<std::size_t>(rank()), out, in);
    else
        fit_rows(c, n);
    s.spoil();
    s.allow(over_lanes ? team_.lanes() : nullptr, over_lanes ? team_.levels() : nullptr);
    c.send = s.scratch(c.send_size * c.element);
    c.receive = s.scratch(c.receive_size * c.element);
    build(s, c, over_lanes);
    c.send_counts = {};
    c.receive_counts = {};
    return c;
}

void team_core::run_unfit(team_call const& c, usage_error const& why)
{
    if (size() > 1) {
        try {
            blocking_->schedule().clear();
            team_call const instead = build_unfit(blocking_->schedule(), c);
            if (collective::checks_calls())
                run_checked(instead);
            else
                run(*blocking_, name_of(c.what));
        } catch (error const&) {
            // The failure is intended; this rank's own error comes first.
        } catch (std::bad_alloc const&) {
            // Then the other ranks wait for this one.
        }
    }
    throw usage_error(why);
}

} // namespace towline::detail
