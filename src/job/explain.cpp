// Words for what the ranks of a job wait for, and the search for those that wait for each other.

#include "job/waits.hpp"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <map>

namespace towline::job {

namespace {

using operation = waited_operation;

std::string_view text_of(std::span<char const> text)
{
    return {text.data(), static_cast<std::size_t>(std::find(text.begin(), text.end(), '\0') - text.begin())};
}

/// "rank 5 (2 in rows)"; ranks of the whole job need no second number.
std::string who(operation const& o, std::size_t self)
{
    if (o.process == self)
        return "itself";
    if (o.rank == operation::any && o.process == operation::nobody)
        return "any rank";
    auto const communicator = text_of(o.communicator);
    if (o.process == operation::nobody)
        return fmt::format("rank {}", o.rank);
    if (o.rank == operation::any || static_cast<std::uint32_t>(o.rank) == o.process || communicator.empty())
        return fmt::format("rank {}", o.process);
    return fmt::format("rank {} ({} in {})", o.process, o.rank, communicator);
}

std::string who_and_tag(operation const& o, std::size_t self)
{
    return who(o, self) + (o.tag == operation::any ? ", any tag" : fmt::format(", tag {}", o.tag));
}

std::string one(operation const& o, std::size_t self)
{
    switch (o.what) {
    case operation::kind::receive: return "a receive from " + who_and_tag(o, self);
    case operation::kind::send: return "a send to " + who_and_tag(o, self);
    default: return who(o, self);
    }
}

/// Of a call that does one thing, which needs no more words than its name.
bool says_it(std::string_view call, operation const& o)
{
    if (o.what == operation::kind::receive)
        return call == "MPI_Recv" || call == "MPI_Mrecv" || call == "MPI_Probe" || call == "MPI_Mprobe";
    return o.what == operation::kind::send && (call == "MPI_Send" || call == "MPI_Ssend" || call == "MPI_Rsend" || call == "MPI_Bsend");
}

/// "rank 0", "ranks 0 to 3", "ranks 0, 2 and 5", "ranks 0, 2, 5 and 17 more".
std::string numbers(std::vector<std::size_t> const& ranks)
{
    std::vector<std::string> runs;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t end = i + 1;
        while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1)
            ++end;
        if (end - i > 2) {
            runs.push_back(fmt::format("{} to {}", ranks[i], ranks[end - 1]));
        } else {
            for (std::size_t k = i; k < end; ++k)
                runs.push_back(fmt::format("{}", ranks[k]));
        }
        i = end;
    }
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    constexpr std::size_t most = 8;
    for (std::size_t i = 0; i < runs.size() && i < most; ++i)
        text += (i == 0 ? "" : i + 1 == runs.size() ? " and " : ", ") + runs[i];
    return runs.size() > most ? text + " and others" : text;
}

/// The ranks of which one has to do something first. All of them are known by number.
std::vector<std::size_t> waited_for(rank_view const& r, std::size_t ranks)
{
    std::vector<std::size_t> all;
    if (r.is == rank_view::state::running && r.wait)
        for (std::size_t i = 0; i < r.wait->operations; ++i)
            if (auto const p = r.wait->list[i].process; p < ranks && std::find(all.begin(), all.end(), p) == all.end())
                all.push_back(p);
    return all;
}

std::string how_long(std::int64_t ns)
{
    double const seconds = static_cast<double>(std::max<std::int64_t>(ns, 0)) / 1e9;
    if (seconds < 10)
        return fmt::format("{:.1f} s", seconds);
    if (seconds < 600)
        return fmt::format("{:.0f} s", seconds);
    return seconds < 36000 ? fmt::format("{:.0f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
}

/// The shortest way from a rank back to it; empty: none. Breadth first.
std::vector<std::size_t> cycle_through(std::size_t start, std::span<std::vector<std::size_t> const> edges)
{
    std::vector<std::size_t> from(edges.size(), edges.size());
    std::deque<std::size_t> next{start};
    while (!next.empty()) {
        std::size_t const at = next.front();
        next.pop_front();
        for (std::size_t const to : edges[at]) {
            if (to == start) {
                std::vector<std::size_t> way;
                for (std::size_t r = at; r != start; r = from[r])
                    way.push_back(r);
                way.push_back(start);
                std::reverse(way.begin(), way.end());
                return way;
            }
            if (from[to] == edges.size()) {
                from[to] = at;
                next.push_back(to);
            }
        }
    }
    return {};
}

/// What of a wait is about the next in a cycle.
wait_report about(wait_report const& wait, std::size_t next)
{
    wait_report shorter = wait;
    shorter.operations = shorter.more = 0;
    shorter.unexpected = 0;
    for (std::size_t i = 0; i < wait.operations && shorter.operations == 0; ++i)
        if (wait.list[i].process == next)
            shorter.add(wait.list[i]);
    return shorter;
}

} // namespace

std::string describe(wait_report const& wait, std::size_t self, bool plural)
{
    auto const call = text_of(wait.call);
    std::string text = plural ? "wait" : "waits";
    text += call.starts_with("MPI_") ? " in " : " for ";
    text += call;
    std::size_t const n = wait.operations;
    if (n == 0)
        return text;
    text += " for ";
    auto const all = std::span(wait.list).first(n);
    if (n == 1 && wait.more == 0)
        return text + (says_it(call, all[0]) ? who_and_tag(all[0], self) : one(all[0], self));
    bool const parts = std::all_of(all.begin(), all.end(), [](auto const& o) { return o.what == operation::kind::part; });
    if (parts) {
        std::vector<std::size_t> ranks;
        for (auto const& o : all)
            if (o.process != operation::nobody)
                ranks.push_back(o.process);
        std::sort(ranks.begin(), ranks.end());
        ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
        return text + numbers(ranks) + (wait.more != 0 ? " and others" : "");
    }
    text += fmt::format("{} operations: ", n + wait.more);
    constexpr std::size_t most = 6;
    for (std::size_t i = 0; i < n && i < most; ++i)
        text += (i == 0 ? "" : "; ") + one(all[i], self);
    return n + wait.more > most ? text + "; ..." : text;
}

situation explain(std::span<rank_view const> ranks, std::int64_t now_ns)
{
    using state = rank_view::state;
    constexpr std::int64_t moment = 500'000'000;
    struct group {
        std::vector<std::size_t> members;
        std::string plural;
        std::int64_t least = 0, most = -1;  ///< how long; none where least > most
        std::string behind;
    };
    std::vector<std::pair<std::string, group>> groups;
    std::map<std::string, std::size_t> found;
    auto put = [&](std::size_t r, std::string text, std::string plural, std::int64_t since, std::string behind = {}) {
        auto const [at, fresh] = found.emplace(text + behind, groups.size());
        if (fresh)
            groups.push_back({std::move(text), group{{}, std::move(plural), 0, -1, std::move(behind)}});
        group& g = groups[at->second].second;
        g.members.push_back(r);
        if (since > 0) {
            std::int64_t const length = now_ns - since;
            g.least = g.most < 0 ? length : std::min(g.least, length);
            g.most = std::max(g.most, length);
        }
    };
    std::vector<std::vector<std::size_t>> edges(ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        rank_view const& r = ranks[i];
        edges[i] = waited_for(r, ranks.size());
        if (r.is == state::absent)
            put(i, "has not joined the job", "have not joined the job", 0);
        else if (r.is == state::left)
            put(i, "has left the job in order", "have left the job in order", 0);
        else if (r.is == state::dead)
            put(i, "has ended", "have ended", 0);
        else if (r.wait) {
            std::string behind;
            if (auto const c = text_of(r.wait->communicator); !c.empty())
                behind += fmt::format(" ({})", c);
            std::string end;
            if (r.wait->threads > 1)
                end += fmt::format("; {} of its threads wait", r.wait->threads);
            if (r.wait->unexpected != 0)
                end += fmt::format("; {} message{} came that no receive asks for", r.wait->unexpected, r.wait->unexpected == 1 ? "" : "s");
            put(i, describe(*r.wait, i) + behind, describe(*r.wait, i, true) + behind, r.wait->since_ns, end);
        } else if (!r.note.empty())
            put(i, "waits for " + r.note, "wait for " + r.note, 0);
        else if (r.active_ns == 0)
            put(i, "computes, and has not communicated yet", "compute, and have not communicated yet", 0);
        else if (now_ns - r.active_ns < moment)
            put(i, "is at work, and was in the library a moment ago", "are at work, and were in the library a moment ago", 0);
        else
            put(i, "computes, outside the library", "compute, outside the library", r.active_ns);
    }
    situation s;
    for (auto const& [text, g] : groups) {
        std::string line = numbers(g.members) + ' ' + (g.members.size() > 1 ? g.plural : text);
        if (g.least <= g.most) {
            auto const least = how_long(g.least);
            auto const most = how_long(g.most);
            bool const same_unit = least.substr(least.find(' ')) == most.substr(most.find(' '));
            line += least == most ? fmt::format(", for {}", least)
                                  : fmt::format(", for {} to {}", same_unit ? least.substr(0, least.find(' ')) : least, most);
        }
        s.ranks.push_back(line + g.behind);
    }
    // Cycles that share no rank, the shortest through the lowest rank first.
    std::vector<std::vector<std::size_t>> open = edges;
    constexpr std::size_t most_cycles = 4;
    for (std::size_t i = 0; i < ranks.size() && s.cycles.size() < most_cycles; ++i) {
        auto const way = cycle_through(i, open);
        if (way.empty())
            continue;
        std::string text;
        for (std::size_t k = 0; k < way.size(); ++k) {
            std::size_t const next = way[(k + 1) % way.size()];
            text += fmt::format("{}rank {} {}", k == 0 ? "" : "; ", way[k], describe(about(*ranks[way[k]].wait, next), way[k]));
        }
        s.cycles.push_back(std::move(text));
        for (std::size_t const r : way)
            open[r].clear();
    }
    return s;
}

} // namespace towline::job
