// Words for what the ranks of a job wait for.

#include "job/waits.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace towline::job {

namespace {

using operation = waited_operation;

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


/// Of a call that does one thing, which needs no more words than its name.
bool says_it(std::string_view call, operation const& o)
{
    if (o.what == operation::kind::receive)
        return call == "MPI_Recv" || call == "MPI_Mrecv" || call == "MPI_Probe" || call == "MPI_Mprobe";
    return o.what == operation::kind::send && (call == "MPI_Send" || call == "MPI_Ssend" || call == "MPI_Rsend" || call == "MPI_Bsend");
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

/// Behind what a rank waits for: what became of the calls that others made there.
std::string text_of_calls(wait_report const& wait, std::size_t self)
{
    auto const calls = wait.calls();
    std::vector<std::string> all;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        operation const& o = calls[i];
        std::string const whose = fmt::format("{}, called by {}", text_of(o.communicator), who(o, self));
        if (o.what == operation::kind::runs)
            all.push_back("runs " + whose);
        else if (o.what == operation::kind::held && i + 1 < calls.size())
            all.push_back(fmt::format("{}, waits here for {}", whose, describe(calls[++i], self)));
    }
    constexpr std::size_t most = 4;
    bool const is_cut = all.size() > most || (!calls.empty() && wait.more != 0);
    all.resize(std::min(all.size(), most));
    return fmt::format("{}{}", fmt::join(all, "; "), is_cut ? "; ..." : "");
}

struct doing {
    std::string one, many;      ///< "computes", "compute"
    std::int64_t since = 0;     ///< 0: it is not known
};

struct verb {
    char const *one, *many;  ///< empty: nobody knows
};

verb verb_of(process_state::kind k)
{
    switch (k) {
    case process_state::kind::computes: return {"computes", "compute"};
    case process_state::kind::sleeps: return {"sleeps", "sleep"};
    case process_state::kind::device: return {"waits for a device", "wait for a device"};
    default: return {"", ""};
    }
}

/// Of a rank that runs, and tells of no wait.
doing outside(rank_view const& r, std::int64_t now_ns)
{
    constexpr std::int64_t moment = 500'000'000;
    using kind = process_state::kind;
    std::string const in = r.process.call.empty() ? std::string() : fmt::format(" (in {})", r.process.call);
    switch (r.process.is) {
    case kind::stopped: return {"is stopped (SIGSTOP)", "are stopped (SIGSTOP)"};
    case kind::traced: return {"is stopped by a debugger", "are stopped by a debugger"};
    case kind::gone: return {"has ended", "have ended"};
    case kind::silent: return {"is on a node that does not answer", "are on nodes that do not answer"};
    default: break;
    }
    bool const is_new = r.active_ns == 0;
    if (!is_new && now_ns - r.active_ns < moment)
        return {"is at work, and was in the library a moment ago", "are at work, and were in the library a moment ago"};
    verb const does = verb_of(r.process.is);
    if (is_new && *does.one == '\0')
        return {"has not communicated yet", "have not communicated yet"};
    if (is_new)
        return {does.one + in + ", and has not communicated yet", does.many + in + ", and have not communicated yet"};
    if (*does.one == '\0')
        return {"is outside the library", "are outside the library", r.active_ns};
    char const* const comma = r.process.is == kind::computes ? "," : "";
    return {fmt::format("{}{} outside the library{}", does.one, comma, in), fmt::format("{}{} outside the library{}", does.many, comma, in),
            r.active_ns};
}

} // namespace

std::string numbers_of(std::vector<std::size_t> const& ranks)
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

std::string describe(waited_operation const& o, std::size_t self)
{
    switch (o.what) {
    case operation::kind::receive: return "a receive from " + who_and_tag(o, self);
    case operation::kind::send: return "a send to " + who_and_tag(o, self);
    case operation::kind::call: return fmt::format("a future of {} at {}", text_of(o.communicator), who(o, self));
    case operation::kind::other: return std::string(text_of(o.communicator));
    default: return who(o, self);
    }
}

std::string describe(wait_report const& wait, std::size_t self, bool plural)
{
    auto const call = text_of(wait.call);
    std::string text = plural ? "wait" : "waits";
    auto const all = wait.waited();
    std::size_t const n = all.size();
    std::size_t const more = wait.calls().empty() ? wait.more : 0;
    bool const is_future = n != 0 && all[0].what == operation::kind::call;
    if (is_future && call == "a future" && n == 1 && more == 0)
        return text + " for " + describe(all[0], self);
    text += call.starts_with("MPI_") || call.find("::") != call.npos ? " in " : " for ";
    text += call;
    if (n == 0)
        return text;
    if (is_future) {
        text += "; not answered: ";
        constexpr std::size_t most = 6;
        for (std::size_t i = 0; i < n && i < most; ++i)
            text += fmt::format("{}{} at {}", i == 0 ? "" : ", ", text_of(all[i].communicator), who(all[i], self));
        return n + more > most ? text + ", ..." : text;
    }
    text += " for ";
    if (n == 1 && more == 0)
        return text + (says_it(call, all[0]) ? who_and_tag(all[0], self) : describe(all[0], self));
    bool const parts = std::all_of(all.begin(), all.end(), [](auto const& o) { return o.what == operation::kind::part; });
    if (parts) {
        std::vector<std::size_t> ranks;
        for (auto const& o : all)
            if (o.process != operation::nobody)
                ranks.push_back(o.process);
        std::sort(ranks.begin(), ranks.end());
        ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
        return text + numbers_of(ranks) + (more != 0 ? " and others" : "");
    }
    text += fmt::format("{} operations: ", n + more);
    constexpr std::size_t most = 6;
    for (std::size_t i = 0; i < n && i < most; ++i)
        text += (i == 0 ? "" : "; ") + describe(all[i], self);
    return n + more > most ? text + "; ..." : text;
}

namespace {

/// Behind what a rank waits for: that it is stopped.
std::string halt_of(rank_view const& r, std::int64_t now_ns)
{
    bool const is_halted = r.process.is == process_state::kind::stopped || r.process.is == process_state::kind::traced;
    return is_halted ? "; it " + outside(r, now_ns).one : std::string();
}

} // namespace

situation explain(std::span<rank_view const> ranks, std::int64_t now_ns)
{
    using state = rank_view::state;
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
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        rank_view const& r = ranks[i];
        if (r.is == state::absent)
            put(i, "has not joined the job", "have not joined the job", 0);
        else if (r.is == state::left)
            put(i, "has left the job in order", "have left the job in order", 0);
        else if (r.is == state::dead)
            put(i, "has ended", "have ended", 0);
        else if (r.wait && r.wait->call[0] != '\0') {
            std::string behind;
            if (auto const c = text_of(r.wait->communicator); !c.empty())
                behind += fmt::format(" ({})", c);
            std::string end = halt_of(r, now_ns);
            if (r.wait->threads > 1)
                end += fmt::format("; {} of its threads wait", r.wait->threads);
            if (auto const calls = text_of_calls(*r.wait, i); !calls.empty())
                end += "; " + calls;
            if (r.wait->unexpected != 0)
                end += fmt::format("; {} message{} came that no receive asks for", r.wait->unexpected, r.wait->unexpected == 1 ? "" : "s");
            put(i, describe(*r.wait, i) + behind, describe(*r.wait, i, true) + behind, r.wait->since_ns, end);
        } else if (!r.note.empty() && !r.wait) {
            put(i, "waits for " + r.note, "wait for " + r.note, 0, halt_of(r, now_ns));
        } else {
            // Calls run in its workers, whatever its other threads do.
            doing d = outside(r, now_ns);
            std::string const calls = r.wait ? text_of_calls(*r.wait, i) : std::string();
            bool const is_halted = d.one.starts_with("is stopped");
            if (!calls.empty() && !is_halted)
                put(i, calls, calls, 0);
            else
                put(i, std::move(d.one), std::move(d.many), d.since, calls.empty() ? calls : "; " + calls);
        }
    }
    situation s;
    for (auto const& [text, g] : groups) {
        std::string line = numbers_of(g.members) + ' ' + (g.members.size() > 1 ? g.plural : text);
        if (g.least <= g.most) {
            auto const least = how_long(g.least);
            auto const most = how_long(g.most);
            bool const same_unit = least.substr(least.find(' ')) == most.substr(most.find(' '));
            line += least == most ? fmt::format(", for {}", least)
                                  : fmt::format(", for {} to {}", same_unit ? least.substr(0, least.find(' ')) : least, most);
        }
        s.ranks.push_back(line + g.behind);
    }
    s.cycles = find_cycles(ranks);
    return s;
}

} // namespace towline::job
