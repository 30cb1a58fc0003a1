// Blocking operations of few bytes over lanes: this thread does them from beginning to end (collective/at_once.hpp).

#include "collective/at_once.hpp"
#include "remote/runtime.hpp"
#include "remote/team_core.hpp"

namespace towline::detail {
namespace {

using op = team_operation;

} // namespace

bool team_core::run_at_once(team_call const& c)
{
    collective::lanes* const l = team_.quick_lanes();
    if (l == nullptr || c.by_counts || c.what == op::exclusive_scan || c.what == op::exchange)
        return false;
    auto const n = static_cast<std::uint64_t>(size());
    std::uint64_t const sent = c.send_size * c.element, received = c.receive_size * c.element;
    // What a rank offers, and what of it one rank gets.
    bool const is_split = c.what == op::scatter || c.what == op::all_to_all || c.what == op::reduce_scatter;
    std::uint64_t const share = c.what == op::all_gather || c.what == op::all_to_all ? received / n
                                : c.what == op::gather || c.what == op::reduce       ? sent
                                                                                     : received;
    std::uint64_t const offered = is_split ? share * n : share;
    if ((offered == 0 && c.what != op::barrier) || !collective::at_once_may_begin(*l, offered))
        return false;
    // Other ranks may do the operation by steps, and theirs has a number.
    (void)team_.next_sequence();
    auto const wait = [&](auto&& is_met, int whom) {
        remoting::waiting about;
        about.rank = whom < 0 ? -1 : ranks_[static_cast<std::size_t>(whom)];
        ground_.owner().wait_until(is_met, name_of(c.what), &about);
    };
    collective::at_once o(*l, team_.is_crowded(), wait);
    auto const combine = [&](void const* in, void const* other, void* out) {
        c.combine.join(in, other, out, share / c.element, c.combine.context);
    };
    void* const own = c.in_place ? c.receive : const_cast<void*>(c.send);
    auto const run = [&] {
        switch (c.what) {
        case op::barrier: return o.barrier();
        case op::broadcast: return o.bcast(c.receive, share, c.root);
        case op::gather: return o.gather(own, c.receive, share, c.root);
        case op::scatter: return o.scatter(c.send, c.receive, share, c.root);
        case op::all_gather:
            return o.allgather(c.in_place ? static_cast<std::byte*>(c.receive) + share * static_cast<std::uint64_t>(rank()) : c.send,
                               c.receive, share);
        case op::all_to_all: return o.alltoall(c.send, c.receive, share);
        case op::reduce: return o.reduce(own, c.receive, share, combine, c.root);
        case op::all_reduce: return o.allreduce(own, c.receive, share, combine);
        case op::reduce_scatter: return o.reduce_scatter(c.send, c.receive, share, combine);
        default: return o.scan(own, c.receive, share, combine);
        }
    };
    if (auto const how = run(); how != collective::lane_run::state::ended) [[unlikely]]
        std::rethrow_exception(wait_for_error(collective::lane_run::ending_of(how), name_of(c.what)));
    if (l->begun() % collective::progress_every == 0) [[unlikely]]
        ground_.owner().engine().progress();
    return true;
}

} // namespace towline::detail
