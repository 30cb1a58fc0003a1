// When a peer dies: what it had said is heard, then everything that waits for it ends.

#include "engine/impl.hpp"

namespace towline::engine {

bool engine::impl::deaths_moved() const noexcept
{
    return config.deaths != nullptr && config.deaths->load(std::memory_order_acquire) != deaths_seen.load(std::memory_order_relaxed);
}

void engine::impl::look_for_deaths(bool all)
{
    if (config.is_dead == nullptr || (!all && !deaths_moved()))
        return;
    handler_scope const scope(this);
    if (config.deaths != nullptr)
        deaths_seen.store(config.deaths->load(std::memory_order_acquire), std::memory_order_relaxed);
    for (peer p = 0; p < config.size; ++p) {
        if (p != config.rank && (peers[p].flags.load(std::memory_order_relaxed) & peer_state::dead) == 0 &&
            config.is_dead(config.context, p))
            bury(p);
    }
}

void engine::impl::bury(peer who)
{
    peer_state& p = peers[who];
    if ((p.flags.load(std::memory_order_relaxed) & peer_state::dead) != 0)
        return;
    // What it published before it died is handled first. Bounded: others may never fall silent.
    for (int round = 0; round < thresholds::burial_rounds; ++round) {
        if (poll_transports(thresholds::burial_budget) != 0)
            continue;
        bool silent = true;
        for (auto const& t : config.transports)
            silent = silent && !t->pending() && t->sleep_limit_ns() < 0;
        if (silent)
            break;
    }
    if ((p.flags.load(std::memory_order_relaxed) & peer_state::dead) != 0)
        return;
    {
        std::lock_guard lock(p.mutex);
        p.flags.fetch_or(peer_state::dead, std::memory_order_seq_cst);
        left_queue(p.queue.size());
        p.queue.clear();
        p.queue_bytes = 0;
    }
    for (auto const& t : config.transports)
        t->peer_died(who);
    forget_attachments(who);
    std::erase_if(streams, [who](auto const& s) { return s.first.first == who; });
    fail_fetches(who);
    end_tasks(who);
    for (std::uint64_t const id : pending.of_peer(who))
        finish(pending.close(id, who, wire::wants_delivered | wire::wants_released), false);
    if (death_function != nullptr)
        death_function(death_context, who);
}

} // namespace towline::engine
