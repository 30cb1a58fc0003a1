// Finding the limits of this process's cgroup: where each hierarchy is mounted (/proc/self/mountinfo), where in it the process is
// (/proc/self/cgroup), and the tightest limit from there up to the mount's root, which is all that a container can see.

#include "base/machine.hpp"
#include "base/memory_left.hpp"
#include "base/settings.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <sys/sysinfo.h>

namespace towline::base::cgroup {

namespace {

struct mount {
    std::string root;   ///< the part of the hierarchy that is mounted
    std::string point;  ///< the mount point
    bool v2 = false;
    std::string options;
};

std::vector<mount> mounts(std::string const& mountinfo)
{
    std::vector<mount> list;
    std::istringstream lines(mountinfo);
    for (std::string line; std::getline(lines, line);) {
        if (line.find(" - cgroup") == line.npos)  // every rank reads this when it starts
            continue;
        std::istringstream words(line);
        std::string id;
        std::string parent;
        std::string device;
        mount m;
        std::string word;
        words >> id >> parent >> device >> m.root >> m.point >> word;
        while (words >> word && word != "-") {
        }
        std::string type;
        std::string from;
        if (!(words >> type >> from >> m.options) || (type != "cgroup" && type != "cgroup2"))
            continue;
        m.v2 = type == "cgroup2";
        list.push_back(m);
    }
    return list;
}

bool has_word(std::string const& list, std::string_view word)
{
    std::istringstream words(list);
    for (std::string one; std::getline(words, one, ',');)
        if (one == word)
            return true;
    return false;
}

/// The folders that apply to this process for a controller, innermost first; `v2` says of which kind they are.
std::vector<std::string> folders(source const& from, std::string_view controller, bool v2)
{
    std::string path;
    bool found = false;
    std::istringstream lines(from.proc_cgroup);
    for (std::string line; std::getline(lines, line);) {  // "ID:CONTROLLERS:PATH"
        auto const first = line.find(':');
        auto const second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos)
            continue;
        std::string const controllers = line.substr(first + 1, second - first - 1);
        if (v2 ? controllers.empty() : has_word(controllers, controller)) {
            path = line.substr(second + 1);
            found = true;
        }
    }
    std::vector<std::string> list;
    if (!found)
        return list;
    for (auto const& m : mounts(from.proc_mountinfo)) {
        if (m.v2 != v2 || (!v2 && !has_word(m.options, controller)))
            continue;
        std::string below = path;
        if (m.root != "/" && below.starts_with(m.root))
            below.erase(0, m.root.size());
        else if (m.root != "/")
            below.clear();
        if (!below.starts_with('/') || below.find("..") != std::string::npos)  // outside what this process can see
            below.clear();
        while (!below.empty() && below != "/") {
            list.push_back(m.point + below);
            below.erase(below.rfind('/'));
        }
        list.push_back(m.point);
        break;
    }
    return list;
}

std::optional<double> number(std::string_view text)
{
    double value = 0;
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc{})
        return std::nullopt;
    return value;
}

template <class T>
void tighten(std::optional<T>& limit, T value)
{
    if (!limit || value < *limit)
        limit = value;
}

std::string whole(std::string const& path)
{
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

} // namespace

source this_process()
{
    // Never destroyed: memory is allocated, and its limit read, until the process has ended.
    static source const& kept = *new source{whole("/proc/self/cgroup"), whole("/proc/self/mountinfo"),
                                            [](std::string const& path) { return first_line(path.c_str()); }, &whole};
    return kept;
}

source process(int pid)
{
    source of = this_process();
    of.proc_cgroup = whole("/proc/" + std::to_string(pid) + "/cgroup");
    return of;
}

std::optional<double> cpu_quota(source const& from)
{
    std::optional<double> limit;
    for (auto const& folder : folders(from, "cpu", true)) {
        auto const text = from.read(folder + "/cpu.max");  // "QUOTA PERIOD", or "max PERIOD"
        if (!text || text->starts_with("max"))
            continue;
        auto const space = text->find(' ');
        auto const quota = number(*text);
        auto const period = space == std::string::npos ? std::optional<double>(100000) : number(std::string_view(*text).substr(space + 1));
        if (quota && period && *quota > 0 && *period > 0)
            tighten(limit, *quota / *period);
    }
    for (auto const& folder : folders(from, "cpu", false)) {
        auto const quota_text = from.read(folder + "/cpu.cfs_quota_us");
        auto const period_text = from.read(folder + "/cpu.cfs_period_us");
        auto const quota = quota_text ? number(*quota_text) : std::nullopt;
        auto const period = period_text ? number(*period_text) : std::nullopt;
        if (quota && period && *quota > 0 && *period > 0)
            tighten(limit, *quota / *period);
    }
    return limit;
}

std::optional<bound> memory_bound(source const& from)
{
    std::optional<bound> tightest;
    for (bool const v2 : {true, false})
        for (auto const& folder : folders(from, "memory", v2)) {
            auto const text = from.read(folder + (v2 ? "/memory.max" : "/memory.limit_in_bytes"));
            auto const value = text ? parse_bytes(*text) : std::nullopt;
            if (value && *value < std::uint64_t{1} << 60 && (!tightest || *value < tightest->limit))  // v1 writes a huge number for none
                tightest = {*value, folder};
        }
    return tightest;
}

std::optional<std::uint64_t> memory_limit(source const& from)
{
    auto const tightest = memory_bound(from);
    return tightest ? std::optional(tightest->limit) : std::nullopt;
}

std::optional<bound> pids_bound(source const& from)
{
    std::optional<bound> tightest;
    for (bool const v2 : {true, false})
        for (auto const& folder : folders(from, "pids", v2)) {
            auto const text = from.read(folder + "/pids.max");  // a number, or "max"
            auto const value = text ? number(*text) : std::nullopt;
            if (value && *value >= 0 && (!tightest || *value < static_cast<double>(tightest->limit)))
                tightest = {static_cast<std::uint64_t>(*value), folder};
        }
    return tightest;
}

std::optional<std::uint64_t> memory_kills(source const& from)
{
    if (from.read_all == nullptr)
        return std::nullopt;
    // The innermost that has a count: where v2's controller was not given on to a cgroup, what is in it belongs to the one above.
    for (bool const v2 : {true, false})
        for (auto const& folder : folders(from, "memory", v2)) {
            std::istringstream lines(from.read_all(folder + (v2 ? "/memory.events" : "/memory.oom_control")));
            std::string name;
            std::uint64_t value = 0;
            while (lines >> name >> value)
                if (name == "oom_kill")
                    return value;
        }
    return std::nullopt;
}

std::optional<std::uint64_t> memory_left(source const& from, std::uint64_t free_swap)
{
    constexpr std::uint64_t unlimited = std::uint64_t{1} << 60;  // v1 writes a huge number for none
    auto const left_of = [](std::uint64_t limit, std::uint64_t used) { return limit - std::min(limit, used); };
    std::optional<std::uint64_t> least;
    for (bool const v2 : {true, false})
        for (auto const& folder : folders(from, "memory", v2)) {
            auto const bytes = [&](char const* file) {
                auto const text = from.read(folder + file);
                return text ? parse_bytes(*text) : std::nullopt;
            };
            auto const limit = bytes(v2 ? "/memory.max" : "/memory.limit_in_bytes");
            auto const used = bytes(v2 ? "/memory.current" : "/memory.usage_in_bytes");
            if (!limit || !used || *limit >= unlimited)
                continue;
            std::uint64_t droppable = 0;
            std::istringstream lines(from.read_all == nullptr ? std::string() : from.read_all(folder + "/memory.stat"));
            std::string key;
            for (std::uint64_t value = 0; lines >> key >> value;)
                if (v2 ? key == "inactive_file" || key == "active_file" : key == "total_inactive_file" || key == "total_active_file")
                    droppable += value;
            std::uint64_t const left = left_of(*limit, left_of(*used, droppable));
            // v2 limits swap by itself, v1 swap and memory together.
            auto const swap_limit = bytes(v2 ? "/memory.swap.max" : "/memory.memsw.limit_in_bytes");
            auto const swap_used = bytes(v2 ? "/memory.swap.current" : "/memory.memsw.usage_in_bytes");
            bool const limits_swap = swap_limit && swap_used && *swap_limit < unlimited;
            if (!limits_swap)
                tighten(least, left + free_swap);
            else if (v2)
                tighten(least, left + std::min(free_swap, left_of(*swap_limit, *swap_used)));
            else
                tighten(least, std::min(left + free_swap, left_of(*swap_limit, left_of(*swap_used, droppable))));
        }
    return least;
}

} // namespace towline::base::cgroup

namespace towline::base {

std::optional<std::uint64_t> memory_left()
{
    struct sysinfo about {};
    std::uint64_t const free_swap = sysinfo(&about) == 0 ? std::uint64_t{about.freeswap} * about.mem_unit : 0;
    return cgroup::memory_left(cgroup::this_process(), free_swap);
}

} // namespace towline::base
