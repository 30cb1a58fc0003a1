// Reads the hardware resources of this machine from /sys.

#include "mpi/hardware.hpp"

#include "base/machine.hpp"
#include "mpi/calls.hpp"
#include "mpi/handles.hpp"
#include "mpi/info.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

namespace towline::mpi {
namespace {

/// True if a set of numbers as the kernel prints it ("0-3,8") contains the number.
[[nodiscard]] bool contains(std::string_view list, int number)
{
    while (!list.empty()) {
        std::size_t const comma = std::min(list.find(','), list.size());
        std::string_view const range = list.substr(0, comma);
        int first = 0, last = 0;
        auto const [end, error] = std::from_chars(range.data(), range.data() + range.size(), first);
        last = first;
        if (error == std::errc() && end != range.data() + range.size() && *end == '-')
            (void)std::from_chars(end + 1, range.data() + range.size(), last);
        if (error == std::errc() && first <= number && number <= last)
            return true;
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return false;
}

/// By type of resource: the processors that share it with the given processor, as the kernel prints them. They identify the resource.
using resources = std::map<std::string, std::string>;

[[nodiscard]] resources around(int processor, line_reader const& read)
{
    resources found;
    std::string const folder = fmt::format("/sys/devices/system/cpu/cpu{}/", processor);
    auto const add = [&](std::string const& type, std::string const& file) {
        if (auto line = read(file); line && !line->empty())
            found.emplace(type, *std::move(line));
    };
    add("Package", folder + "topology/package_cpus_list");
    add("Die", folder + "topology/die_cpus_list");
    add("Core", folder + "topology/core_cpus_list");
    for (int i = 0; i < 16; ++i) {
        std::string const cache = fmt::format("{}cache/index{}/", folder, i);
        auto const level = read(cache + "level");
        if (!level)
            break;
        if (auto const kind = read(cache + "type"); kind && *kind != "Instruction")
            add(fmt::format("L{}Cache", *level), cache + "shared_cpu_list");
    }
    constexpr int most_nodes = 1024;
    for (int node = 0; node < most_nodes; ++node) {
        auto const list = read(fmt::format("/sys/devices/system/node/node{}/cpulist", node));
        if (!list)
            break;
        if (contains(*list, processor)) {
            found.emplace("NUMANode", *list);
            break;
        }
    }
    return found;
}

} // namespace

std::vector<std::pair<std::string, std::optional<int>>> hardware_instances(std::vector<int> const& processors, line_reader const& read)
{
    std::vector<std::pair<std::string, std::optional<int>>> all{{"Machine", 0}};
    std::vector<resources> each;
    for (int const processor : processors)
        each.push_back(around(processor, read));
    for (char const* const type : {"Package", "NUMANode", "Die", "L5Cache", "L4Cache", "L3Cache", "L2Cache", "L1Cache", "Core"}) {
        auto const same = [&](resources const& r) {
            return r.contains(type) && r.at(type) == each.front().at(type);
        };
        if (each.empty() || !each.front().contains(type))
            continue;
        std::string const& list = each.front().at(type);
        int first = 0;
        bool const named = std::from_chars(list.data(), list.data() + list.size(), first).ec == std::errc();
        all.emplace_back(type, named && std::all_of(each.begin(), each.end(), same) ? std::optional(first) : std::nullopt);
    }
    all.emplace_back("PU", processors.size() == 1 ? std::optional(processors.front()) : std::nullopt);
    return all;
}

std::vector<std::pair<std::string, std::optional<int>>> hardware_instances()
{
    return hardware_instances(base::allowed_cpus(), [](std::string const& path) { return base::first_line(path.c_str()); });
}

std::vector<std::pair<std::string, bool>> hardware_resources(std::vector<int> const& processors, line_reader const& read)
{
    std::vector<std::pair<std::string, bool>> all;
    for (auto& [type, instance] : hardware_instances(processors, read))
        all.emplace_back(std::move(type), instance.has_value());
    return all;
}

namespace calls {

void get_hw_resource_info(MPI_Info* hw_info)
{
    ref<info> found = make<info>();
    for (auto const& [type, instance] : hardware_instances())
        found->set("hwloc://" + type, instance ? "true" : "false");
    *hw_info = give<MPI_Info>(std::move(found));
}

} // namespace calls
} // namespace towline::mpi
