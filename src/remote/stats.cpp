#include <towline/stats.hpp>

#include "job/job.hpp"
#include "remote/runtime.hpp"

namespace towline {

statistics stats()
{
    if (remoting::runtime* const r = remoting::runtime::current_or_null())
        r->flush_counters();
    auto const& counters = job::membership::instance().self().counters;
    auto const get = [&](job::counter c) { return counters[static_cast<std::size_t>(c)].load(std::memory_order_relaxed); };
    using enum job::counter;
    return {.calls_sent = get(calls_sent),
            .calls_handled = get(calls_handled),
            .messages_sent = get(messages_sent),
            .bytes_inline = get(bytes_inline),
            .bytes_handed_over = get(bytes_handed_over),
            .bytes_copied_once = get(bytes_copied_once),
            .bytes_copied_twice = get(bytes_copied_twice),
            .bytes_wire = get(bytes_wire),
            .handed_over = get(handed_over),
            .copied_once = get(copied_once),
            .copied_twice = get(copied_twice),
            .wire = get(wire),
            .bytes_cma = get(bytes_cma),
            .bytes_staged = get(bytes_staged),
            .bytes_mapped = get(bytes_mapped),
            .sleeps = get(sleeps),
            .bytes_cooperated = get(bytes_cooperated),
            .bytes_xpmem = get(bytes_xpmem),
            .bytes_onloaded = get(bytes_onloaded),
            .bytes_pushed = get(bytes_pushed),
            .team_operations = get(lane_operations),
            .bytes_offered = get(bytes_lanes_posted),
            .bytes_in_place = get(bytes_lanes_moved)};
}

statistics statistics::since(statistics const& before) const noexcept
{
    return {.calls_sent = calls_sent - before.calls_sent,
            .calls_handled = calls_handled - before.calls_handled,
            .messages_sent = messages_sent - before.messages_sent,
            .bytes_inline = bytes_inline - before.bytes_inline,
            .bytes_handed_over = bytes_handed_over - before.bytes_handed_over,
            .bytes_copied_once = bytes_copied_once - before.bytes_copied_once,
            .bytes_copied_twice = bytes_copied_twice - before.bytes_copied_twice,
            .bytes_wire = bytes_wire - before.bytes_wire,
            .handed_over = handed_over - before.handed_over,
            .copied_once = copied_once - before.copied_once,
            .copied_twice = copied_twice - before.copied_twice,
            .wire = wire - before.wire,
            .bytes_cma = bytes_cma - before.bytes_cma,
            .bytes_staged = bytes_staged - before.bytes_staged,
            .bytes_mapped = bytes_mapped - before.bytes_mapped,
            .sleeps = sleeps - before.sleeps,
            .bytes_cooperated = bytes_cooperated - before.bytes_cooperated,
            .bytes_xpmem = bytes_xpmem - before.bytes_xpmem,
            .bytes_onloaded = bytes_onloaded - before.bytes_onloaded,
            .bytes_pushed = bytes_pushed - before.bytes_pushed,
            .team_operations = team_operations - before.team_operations,
            .bytes_offered = bytes_offered - before.bytes_offered,
            .bytes_in_place = bytes_in_place - before.bytes_in_place};
}

} // namespace towline
