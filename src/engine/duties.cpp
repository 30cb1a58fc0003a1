// What is seldom due in a poll: what the parts have for the poller, and the burial of peers that died.

#include "engine/impl.hpp"

namespace towline::engine {

int engine::impl::do_work()
{
    for (peer const p : out.take_suspects()) {
        work_done();
        bury(p);
    }
    out.flush_queues();
    fetches.work();
    return tasks.serve() + windows.serve();
}

void engine::impl::look_for_deaths(bool all)
{
    if (all) {
        for (auto const& t : config.transports)
            t->ask_around();
    }
    if (config.is_dead == nullptr || (!all && !deaths_moved()))
        return;
    handler_scope const scope(*this);
    if (config.deaths != nullptr)
        deaths_seen.store(config.deaths->load(std::memory_order_acquire), std::memory_order_relaxed);
    for (peer p = 0; p < config.size; ++p) {
        if (p != config.rank && !is_dead(p) && config.is_dead(config.context, p))
            bury(p);
    }
}

void engine::impl::bury(peer who)
{
    if (is_dead(who))
        return;
    // What it published before it died is handled first. Bounded: the living may never fall silent.
    for (int round = 0; round < thresholds::burial_rounds; ++round) {
        if (poll_transports(thresholds::burial_budget) != 0)
            continue;
        bool silent = true;
        for (auto const& t : config.transports)
            silent = silent && !t->pending() && t->sleep_limit_ns() < 0;
        if (silent)
            break;
    }
    if (is_dead(who))
        return;
    out.bury_queue(who);
    for (auto const& t : config.transports)
        t->peer_died(who);
    attached.forget(who);
    in.forget(who);
    fetches.fail(who);
    tasks.end_tasks(who);
    pending.fail(who);
    if (death_function != nullptr)
        death_function(death_context, who);
}

} // namespace towline::engine
