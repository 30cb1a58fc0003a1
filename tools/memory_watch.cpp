// Reads the counts of memory kills from the control group.

#include "memory_watch.hpp"

#include "base/machine.hpp"
#include "stats.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <string_view>

namespace towline::tools {

namespace {

namespace cgroup = base::cgroup;

std::optional<std::uint64_t> killed_on_machine()
{
    std::ifstream file("/proc/vmstat");
    constexpr std::string_view name = "oom_kill ";
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(name))
            return std::strtoull(line.c_str() + name.size(), nullptr, 10);
    return std::nullopt;
}

/// The line of cgroup v2 in /proc/PID/cgroup; with v1 a process that has ended is told to be in the root.
std::string of_v2(std::string const& proc_cgroup)
{
    auto const at = proc_cgroup.starts_with("0::") ? 0 : proc_cgroup.find("\n0::");
    if (at == proc_cgroup.npos)
        return {};
    auto const begin = proc_cgroup.find('0', at);
    return proc_cgroup.substr(begin, proc_cgroup.find('\n', begin) - begin);
}

std::string words_for(cgroup::source const& of)
{
    auto const bound = cgroup::memory_bound(of);
    return bound ? fmt::format(": the memory limit of its cgroup ({}, {}) was reached", human_bytes(bound->limit), bound->folder)
                 : ": the memory limit of its cgroup was reached";
}

} // namespace

memory_watch::memory_watch() : in_cgroup_(cgroup::memory_kills(cgroup::this_process())), on_machine_(killed_on_machine()) {}

std::string memory_watch::why(pid_t zombie)
{
    auto const ours = cgroup::this_process();
    auto const in_cgroup = cgroup::memory_kills(ours);
    auto const on_machine = killed_on_machine();
    bool const more_here = in_cgroup && in_cgroup_ && *in_cgroup > *in_cgroup_;
    bool const more_there = on_machine && on_machine_ && *on_machine > *on_machine_;
    in_cgroup_ = in_cgroup;
    on_machine_ = on_machine;
    if (zombie > 0) {
        // A container of its own: what was killed in there before is not known; the machine's number says whether one was just now.
        auto its = cgroup::process(zombie);
        its.proc_cgroup = of_v2(its.proc_cgroup);
        if (!its.proc_cgroup.empty() && its.proc_cgroup != of_v2(ours.proc_cgroup) && (more_there || !on_machine))
            if (auto const there = cgroup::memory_kills(its); there && *there > 0)
                return words_for(its);
    }
    if (more_here)
        return words_for(ours);
    if (more_there)
        return ": the kernel ended processes because memory ran out (/proc/vmstat, oom_kill), this one probably among them";
    return {};
}

} // namespace towline::tools
