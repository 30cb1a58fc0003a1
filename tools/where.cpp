// Prints `towline where`.

#include "where.hpp"

#include "base/clock.hpp"
#include "job/questions.hpp"
#include "job/waits.hpp"
#include "jobs.hpp"
#include "run.hpp"
#include "timing.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string_view>

namespace towline::tools {

namespace {

/// Cut in the middle: what was started stands at the end. Whole characters stay.
std::string shortened(std::string const& text, std::size_t most)
{
    if (text.size() <= most)
        return text;
    auto const inside = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80; };
    std::size_t head = most / 3;
    while (head > 0 && inside(head))
        --head;
    std::size_t tail = text.size() - (most - most / 3 - 3);
    while (tail < text.size() && inside(tail))
        ++tail;
    return text.substr(0, head) + "..." + text.substr(tail);
}

std::string how_long(double seconds)
{
    return seconds < 600 ? fmt::format("{:.0f} s", seconds) : seconds < 36000 ? fmt::format("{:.0f} min", seconds / 60)
                                                                             : fmt::format("{:.1f} h", seconds / 3600);
}

/// "localhost: rank 0; far: ranks 1 and 2", with numbers where the names are not known.
std::string text_of_nodes(job_window const& job)
{
    std::vector<std::vector<std::size_t>> ranks(job.nodes());
    auto const slots = job.slots();
    for (std::size_t r = 0; r < slots.size(); ++r)
        if (slots[r].node < ranks.size())
            ranks[slots[r].node].push_back(r);
    std::vector<std::string> parts;
    for (std::size_t n = 0; n < ranks.size(); ++n)
        if (!ranks[n].empty())
            parts.push_back((n < job.hosts().size() ? job.hosts()[n] : fmt::format("node {}", n)) + ": " + job::numbers_of(ranks[n]));
    constexpr std::size_t most = 32;
    bool const more = parts.size() > most;
    parts.resize(std::min(parts.size(), most));
    return fmt::format("{}{}", fmt::join(parts, "; "), more ? "; ..." : "");
}

int list(std::vector<running_job> const& jobs)
{
    if (jobs.empty()) {
        fmt::print("no job runs here that you may look at\n");
        return 0;
    }
    fmt::print("{:>8}  {:>5}  {:>7}  {:<24} command\n", "launcher", "ranks", "runs", "job");
    for (auto const& j : jobs)
        fmt::print("{:>8}  {:>5}  {:>7}  {:<24} {}\n", j.launcher, j.window->size(), how_long(j.seconds), j.id, shortened(j.command, 90));
    return 0;
}

} // namespace

std::vector<std::string> lines_of(std::span<job::rank_slot const> slots, asked_elsewhere const* asked)
{
    std::vector<job::rank_view> ranks;
    ranks.reserve(slots.size());
    for (auto const& slot : slots)
        ranks.push_back(job::view_of(slot));
    job::look_at_processes(slots, ranks);
    for (std::size_t r = 0; asked != nullptr && r < slots.size(); ++r)
        if (slots[r].node != asked->own)
            job::complete(ranks[r], slots[r], asked->question);
    auto situation = job::explain(ranks, base::monotonic_ns());
    std::vector<std::string> lines = std::move(situation.ranks);
    for (auto const& cycle : situation.cycles)
        lines.push_back("they wait for each other: " + cycle);
    return lines;
}

int where(std::string const& which)
{
    auto const jobs = running_jobs();
    if (which.empty())
        return list(jobs);
    pid_t pid = 0;
    auto const [end, wrong] = std::from_chars(which.data(), which.data() + which.size(), pid);
    bool const is_pid = wrong == std::errc() && end == which.data() + which.size();
    auto const job = std::find_if(jobs.begin(), jobs.end(), [&](running_job const& j) {
        return j.id == which || (is_pid && std::find(j.pids.begin(), j.pids.end(), pid) != j.pids.end());
    });
    if (job == jobs.end()) {
        fmt::print(stderr,
                   "towline where: {}: no job of this name runs here, and no launcher or rank with this pid that you may look at\n"
                   "Try 'towline where', which lists them.\n",
                   which);
        return 1;
    }
    auto const slots = job->window->slots();
    fmt::print("job {}: {} rank{}, runs for {}: {}\n", job->id, slots.size(), slots.size() == 1 ? "" : "s", how_long(job->seconds),
               shortened(job->command, 1000));
    if (job->window->nodes() == 1) {
        for (auto const& line : lines_of(slots))
            fmt::print("  {}\n", line);
    } else {
        fmt::print("  {}\n", text_of_nodes(*job->window));
        asked_elsewhere const asked{job->window->ask_others(timing::answers), job->window->node()};
        for (auto const& line : lines_of(slots, &asked))
            fmt::print("  {}\n", line);
    }
    std::vector<std::string> pids;
    for (std::size_t r = 0; r < slots.size() && r < 64; ++r)
        pids.push_back(slots[r].pid.load() != 0 ? fmt::format("{}", slots[r].pid.load()) : "-");
    fmt::print("  pids of the ranks: {}{}\n", fmt::join(pids, " "), slots.size() > 64 ? " ..." : "");
    return 0;
}

} // namespace towline::tools
