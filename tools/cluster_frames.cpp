// What agents tell the front of a job, and what it passes on.

#include "cluster.hpp"

#include "branches.hpp"
#include "timing.hpp"
#include "towline/error.hpp"
#include "views.hpp"

#include <nlohmann/json.hpp>

#include <csignal>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <utility>

namespace towline::tools {

using nlohmann::json;

std::string packed_news(json const& j)
{
    std::string text;
    json::to_cbor(j, nlohmann::detail::output_adapter<char>(text));
    return text;
}

void cluster_front::send(host& h, frame kind, std::string_view payload)
{
    if (h.by == by_front) {
        if (h.way.link)
            h.way.link->send(kind, payload);
    } else if (auto& link = hosts_[h.by].way.link) {
        link->send(frame::relay, relayed(h.number, kind, payload));
    }
}

void cluster_front::look_at(host& h)
{
    h.way.link->flush();
    bool more = true;
    std::string why = "its agent ended, or the way to it";
    try {
        more = h.way.link->receive();
        while (h.way.link) {
            auto const m = h.way.link->next();
            if (!m)
                break;
            dispatch(h, m->kind, m->payload);
        }
    } catch (start_error const&) {
        throw;
    } catch (error const& e) {
        if (starting_)
            throw_not_started(h, e.what());
        why = e.what();
        more = false;
    }
    if (!more)
        ended(h, why);
}

void cluster_front::dispatch(host& by, frame kind, std::string const& payload)
{
    by.heard_ns = base::monotonic_ns();
    if (kind != frame::relay)
        return take(by, kind, payload);
    auto const f = relayed_in(payload);
    if (f.host >= hosts_.size())
        return;  // one that was not needed
    if (hosts_[f.host].by != by.number)
        throw error("it speaks for a host that it has not started");
    auto& h = hosts_[f.host];
    h.heard_ns = by.heard_ns;
    if (f.kind == frame::gone)
        ended(h, f.payload.empty() ? "its agent ended, or the way to it" : std::string(f.payload));
    else
        take(h, f.kind, f.payload);
}

void cluster_front::take(host& h, frame kind, std::string_view payload)
{
    switch (kind) {
    case frame::hello:
        if (!h.facts)
            greet(h, std::string(payload));
        break;
    case frame::output:
    case frame::errors:
        (kind == frame::output ? h.out : h.errors)->add(payload);
        h.written += payload.size();
        break;
    case frame::news:
        on_news(h, payload);
        break;
    case frame::taken:
        h.typed -= std::min<std::size_t>(h.typed, number_in(payload));
        break;
    case frame::exit:
        h.code = payload.empty() ? int{exit_failed} : int{static_cast<unsigned char>(payload[0])};
        break;
    default:
        break;
    }
}

void cluster_front::on_news(host& from, std::string_view text)
{
    json const j = json::from_cbor(text);
    if (j.contains("code"))
        note_code(j["code"].get<int>());
    if (j.contains("counters") && options_.stats)
        take_counters(slots(), std::string(text));
    if (j.contains("slots") || j.contains("end"))
        tell_others(&from, text);
    if (j.contains("views"))
        on_answer(from.number, j, text);
    else if (j.contains("look"))
        ask(from.number, j["look"].get<std::uint32_t>());
}

void cluster_front::tell_others(host const* from, std::string_view text)
{
    for (auto& h : hosts_)
        if (&h != from && !h.over)
            send(h, frame::news, text);
}

void cluster_front::ask(std::uint32_t from, std::uint32_t question)
{
    std::set<std::uint32_t> of;
    std::string const text = packed_news({{"look", question}, {"from", from}});
    for (auto& h : hosts_)
        if (!h.over && h.number != from) {
            of.insert(h.number);
            send(h, frame::news, text);
        }
    questions_.begin(from, question, std::move(of));
    tell_answered();
}

void cluster_front::on_answer(std::uint32_t by, json const& j, std::string_view text)
{
    auto const question = j.at("look").get<std::uint32_t>();
    auto const to = j.at("from").get<std::uint32_t>();
    if (to == questions::front)
        take_views(slots().slots(), j["views"], question, questions::front);
    else if (to < hosts_.size() && !hosts_[to].over)
        send(hosts_[to], frame::news, text);
    questions_.answered(to, question, by);
    tell_answered();
}

void cluster_front::tell_answered()
{
    for (auto const& q : questions_.take_complete())
        if (q.from != questions::front)
            send(hosts_[q.from], frame::news, packed_news({{"looked", q.number}}));
}

job::control_view& cluster_front::slots()
{
    if (!view_) {
        job::job_options mirror;
        mirror.segment_bytes = job::min_segment_bytes;
        mirror.id = id_;
        file_ = job::create_job_file(static_cast<std::uint32_t>(node_of_.size()), mirror);
        view_ = std::make_unique<job::control_view>(file_.get());
    }
    return *view_;
}

void cluster_front::ended(host& h, std::string const& why)
{
    if (starting_)
        throw_not_started(h, {});
    h.way.link.reset();
    if (h.over)
        return;
    if (!h.code)
        return lost(h, why);
    h.over = true;
    h.out->close();
    h.errors->close();
    note_code(*h.code);
    questions_.lost(h.number);
    tell_answered();
    for (auto& other : hosts_)
        if (!other.over && other.by == h.number)
            lost(other, "the way to it was by host " + h.name);
}

void cluster_front::lost(host& h, std::string const& why)
{
    // Whoever was reached by way of it is lost, too.
    std::vector<std::uint32_t> hosts;
    std::vector<std::string> names;
    for (auto& other : hosts_)
        if (!other.over && (&other == &h || other.by == h.number)) {
            other.over = true;
            other.out->close();
            other.errors->close();
            hosts.push_back(other.number);
            if (&other != &h)
                names.push_back(other.name);
        }
    json slots = json::array();
    std::vector<std::size_t> ranks;
    for (std::size_t r = 0; r < node_of_.size(); ++r)
        if (std::ranges::find(hosts, node_of_[r]) != hosts.end()) {
            ranks.push_back(r);
            slots.push_back({{"rank", r}, {"state", static_cast<std::uint32_t>(job::rank_state::dead)}, {"fences", 0}, {"marks", 0},
                             {"status", SIGKILL}});
        }
    if (!ending_)
        say(fmt::format("towline: host {} is lost ({}){}, and with it {} {}; {}", h.name, why,
                        names.empty() ? "" : fmt::format(", and the way to {}", fmt::join(names, ", ")),
                        ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "),
                        options_.keep_going ? "the others go on" : "the job is ended"));
    note_code(exit_failed);
    if (h.by != by_front)
        send(h, frame::gone, {});
    else if (h.way.pid > 0)
        kill(-h.way.pid, SIGKILL);
    h.way.link.reset();
    for (auto const number : hosts)
        questions_.lost(number);
    tell_answered();
    json news{{"slots", std::move(slots)}};
    if (!options_.keep_going) {
        news["end"] = true;
        ending_ = true;
    }
    tell_others(&h, packed_news(news));
}

} // namespace towline::tools
