// Finding the limits of this process's cgroup: where each hierarchy is mounted (/proc/self/mountinfo), where in it the process is
// (/proc/self/cgroup), and the tightest limit from there up to the mount's root, which is all that a container can see.

#include "base/machine.hpp"
#include "base/settings.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace towline::base::cgroup {

namespace {

struct mount {
    std::string root;   ///< what of the hierarchy is mounted
    std::string point;  ///< where
    bool v2 = false;
    std::string options;
};

std::vector<mount> mounts(std::string const& mountinfo)
{
    std::vector<mount> list;
    std::istringstream lines(mountinfo);
    for (std::string line; std::getline(lines, line);) {
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

std::string whole(char const* path)
{
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

} // namespace

source this_process()
{
    return {whole("/proc/self/cgroup"), whole("/proc/self/mountinfo"), [](std::string const& path) { return first_line(path.c_str()); }};
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

std::optional<std::uint64_t> memory_limit(source const& from)
{
    std::optional<std::uint64_t> limit;
    for (bool const v2 : {true, false})
        for (auto const& folder : folders(from, "memory", v2)) {
            auto const text = from.read(folder + (v2 ? "/memory.max" : "/memory.limit_in_bytes"));
            auto const value = text ? parse_bytes(*text) : std::nullopt;
            if (value && *value < std::uint64_t{1} << 60)  // v1 writes a huge number for none
                tighten(limit, *value);
        }
    return limit;
}

} // namespace towline::base::cgroup
