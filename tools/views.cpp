// Views of ranks, to and from CBOR. Clocks of machines differ: ages travel, not times.

#include "views.hpp"

#include "base/clock.hpp"
#include "job/questions.hpp"
#include "job/waits.hpp"
#include "towline/error.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

namespace towline::tools {

namespace {

using nlohmann::json;

json packed(job::wait_report report, std::int64_t now)
{
    report.since_ns = now - report.since_ns;
    report.quiet_ns = now - report.quiet_ns;
    auto const* const begin = reinterpret_cast<std::uint8_t const*>(&report);
    return json::binary({begin, begin + sizeof report});
}

job::wait_report report_in(json const& j, std::int64_t now)
{
    auto const& bytes = j.get_binary();
    job::wait_report report;
    if (bytes.size() != sizeof report)
        throw error("another node's report of a wait has the wrong length");
    std::memcpy(static_cast<void*>(&report), bytes.data(), sizeof report);
    report.since_ns = now - report.since_ns;
    report.quiet_ns = now - report.quiet_ns;
    return report;
}

} // namespace

json views_of(std::span<job::rank_slot const> slots, std::uint32_t node)
{
    std::vector<job::rank_view> ranks(slots.size());
    for (std::size_t r = 0; r < slots.size(); ++r)
        if (slots[r].node == node)
            ranks[r] = job::view_of(slots[r]);
    job::look_at_processes(slots, ranks);
    std::int64_t const now = base::monotonic_ns();
    json all = json::array();
    for (std::size_t r = 0; r < slots.size(); ++r) {
        if (slots[r].node != node)
            continue;
        job::rank_view const& v = ranks[r];
        json one{{"rank", r},
                 {"state", slots[r].state.load()},
                 {"marks", slots[r].marks.load()},
                 {"process", static_cast<unsigned>(v.process.is)},
                 {"call", v.process.call},
                 {"note", v.note}};
        if (v.active_ns != 0)
            one["active"] = now - v.active_ns;
        if (v.wait)
            one["wait"] = packed(*v.wait, now);
        all.push_back(std::move(one));
    }
    return all;
}

void take_views(std::span<job::rank_slot> slots, json const& views, std::uint32_t question, std::uint32_t own)
{
    std::int64_t const now = base::monotonic_ns();
    for (auto const& one : views) {
        auto const rank = one.at("rank").get<std::size_t>();
        if (rank >= slots.size() || slots[rank].node == own)
            throw error("the front of the job sends a view of a rank that is not elsewhere");
        job::rank_slot& slot = slots[rank];
        // A death, or a departure, is told by the slots, and stays.
        if (slot.state.load() == static_cast<std::uint32_t>(job::rank_state::empty))
            slot.state.store(one.at("state").get<std::uint32_t>());
        slot.marks.store(one.at("marks").get<std::uint32_t>());
        job::set_text(slot.waiting_for, one.at("note").get<std::string>());
        job::distant_view told;
        if (one.contains("active"))
            told.active_ns = std::max<std::int64_t>(1, now - one["active"].get<std::int64_t>());
        told.process.is = static_cast<job::process_state::kind>(one.at("process").get<unsigned>());
        told.process.call = one.at("call").get<std::string>();
        job::wait_report report;
        if (one.contains("wait")) {
            report = report_in(one["wait"], now);
            told.wait = &report;
        }
        job::note_answer(slot, question, told);
    }
}

} // namespace towline::tools
