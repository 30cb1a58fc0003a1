// Binds ranks to cores, in the order that was asked for.

#include "binding.hpp"

#include "base/machine.hpp"

#include <algorithm>
#include <cstdlib>
#include <hwloc.h>
#include <sched.h>

namespace towline::tools {

namespace {

/// The machine's cores, packages and memory nodes; null: hwloc cannot say. Loaded once: that takes 1 ms, and 3 with hwloc's plugins, which
/// bring libraries for graphics cards and PCI devices. Not thread-safe.
hwloc_topology_t machine()
{
    static hwloc_topology_t const loaded = [] {
        constexpr char const* plugins = "HWLOC_PLUGINS_PATH";
        bool const wanted = std::getenv(plugins) != nullptr;
        if (!wanted)
            ::setenv(plugins, "/dev/null", 0);
        hwloc_topology_t t = nullptr;
        if (hwloc_topology_init(&t) == 0) {
            hwloc_topology_set_cache_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE);
            if (hwloc_topology_load(t) != 0) {
                hwloc_topology_destroy(t);
                t = nullptr;
            }
        }
        if (!wanted)
            ::unsetenv(plugins);
        return t;
    }();
    return loaded;
}

} // namespace

std::vector<std::vector<int>> allowed_units(unit kind)
{
    auto const allowed = base::allowed_cpus();
    std::vector<std::vector<int>> units;
    auto const type = kind == unit::hwthread ? HWLOC_OBJ_PU
                      : kind == unit::numa   ? HWLOC_OBJ_NUMANODE
                      : kind == unit::socket ? HWLOC_OBJ_PACKAGE
                                             : HWLOC_OBJ_CORE;
    if (hwloc_topology_t const topology = machine(); topology != nullptr) {
        for (hwloc_obj_t one = nullptr; (one = hwloc_get_next_obj_by_type(topology, type, one)) != nullptr;) {
            std::vector<int> threads;
            for (int const cpu : allowed)
                if (one->cpuset != nullptr && hwloc_bitmap_isset(one->cpuset, static_cast<unsigned>(cpu)) != 0)
                    threads.push_back(cpu);
            if (!threads.empty())
                units.push_back(std::move(threads));
        }
    }
    if (units.empty() && (kind == unit::numa || kind == unit::socket))
        units.push_back(allowed);
    if (units.empty())
        for (int const cpu : allowed)
            units.push_back({cpu});
    return units;
}

std::vector<std::vector<int>> allowed_cores()
{
    return allowed_units(unit::core);
}

std::vector<std::vector<int>> places_of(int ranks, unit bind, unit map)
{
    std::vector<std::vector<int>> places;
    if (bind == unit::none)
        return places;
    auto const targets = allowed_units(bind);
    auto const rounds = map == unit::none || map == bind ? targets : allowed_units(map);
    for (int r = 0; r < ranks; ++r) {
        auto const& round = rounds[static_cast<std::size_t>(r) % rounds.size()];
        std::vector<std::vector<int> const*> near;
        for (auto const& t : targets)
            if (std::find_first_of(t.begin(), t.end(), round.begin(), round.end()) != t.end())
                near.push_back(&t);
        places.push_back(near.empty() ? round : *near[static_cast<std::size_t>(r) / rounds.size() % near.size()]);
    }
    return places;
}

bool bind_to(std::vector<int> const& cpus) noexcept
{
    if (cpus.empty())
        return false;
    auto const most = static_cast<std::size_t>(*std::max_element(cpus.begin(), cpus.end())) + 1;
    cpu_set_t* mask = CPU_ALLOC(most);
    if (mask == nullptr)
        return false;
    std::size_t const bytes = CPU_ALLOC_SIZE(most);
    CPU_ZERO_S(bytes, mask);
    for (int const cpu : cpus)
        CPU_SET_S(static_cast<std::size_t>(cpu), bytes, mask);
    bool const done = sched_setaffinity(0, bytes, mask) == 0;
    CPU_FREE(mask);
    return done;
}

} // namespace towline::tools
