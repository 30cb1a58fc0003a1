// Small messages that are taken by who waits for them, before any handler: the shortest way from a peer's ring into the program.

#include "engine/impl.hpp"

#include <towline/error.hpp>

namespace towline::engine {

[[gnu::always_inline]] inline bool engine::impl::take_next(peer from, transport::component& via,
                                                             bool (*take)(void*, handler_id, std::span<std::byte const>), void* context)
{
    using thresholds::looks_between_polls;
    std::uint32_t const looks = has_core() ? thresholds::looks : 1;
    // Whoever is sent one message after the other must look at its other peers, too.
    if (busy_polls % looks_between_polls == 0 && poll(1) != 0)
        return false;
    transport::next_message next;
    for (std::uint32_t i = 1; i <= looks; ++i) {
        if (via.peek(from, next)) {
            if (next.id < wire::first_direct || !take(context, static_cast<handler_id>(next.id - wire::first_direct), next.payload))
                return false;
            via.pass();
            if (++busy_polls % looks_between_polls == 0)
                counts.publish();
            foreground_polls.store(foreground_polls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
            return true;
        }
        if (i % looks_between_polls == 0 && poll(1) != 0)
            return false;
    }
    return false;
}

bool engine::take_next(peer from, bool (*take)(void*, handler_id, std::span<std::byte const>), void* context)
{
    impl& m = *impl_;
    m.require_open();
    if (from >= m.config.size)
        return false;
    peer_state& p = m.peers[from];
    // Acquire: whoever sees that a transport is chosen sees it.
    if (p.flags.load(std::memory_order_acquire) != 0) [[unlikely]] {
        try {
            (void)m.reach(from);
        } catch (error const&) {
            return false;
        }
        if (p.flags.load(std::memory_order_acquire) != 0)
            return false;
    }
    wait_hold::let_go_outer(m);
    if (!m.acquire_token())
        return false;
    bool const taken = m.take_next(from, *p.via, take, context);
    if (taken && m.queued_messages.load(std::memory_order_relaxed) != 0) [[unlikely]]
        m.see_off(true);
    m.release_token();
    return taken;
}

} // namespace towline::engine
