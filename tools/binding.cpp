// Binds ranks to cores, in the order that was asked for.

#include "binding.hpp"

#include "base/machine.hpp"

#include <algorithm>
#include <hwloc.h>
#include <sched.h>

namespace towline::tools {

std::vector<std::vector<int>> allowed_units(unit kind)
{
    auto const allowed = base::allowed_cpus();
    std::vector<std::vector<int>> units;
    auto const type = kind == unit::hwthread ? HWLOC_OBJ_PU
                      : kind == unit::numa   ? HWLOC_OBJ_NUMANODE
                      : kind == unit::socket ? HWLOC_OBJ_PACKAGE
                                             : HWLOC_OBJ_CORE;
    hwloc_topology_t topology = nullptr;
    if (hwloc_topology_init(&topology) == 0) {
        if (hwloc_topology_load(topology) == 0) {
            for (hwloc_obj_t one = nullptr; (one = hwloc_get_next_obj_by_type(topology, type, one)) != nullptr;) {
                std::vector<int> threads;
                for (int const cpu : allowed)
                    if (one->cpuset != nullptr && hwloc_bitmap_isset(one->cpuset, static_cast<unsigned>(cpu)) != 0)
                        threads.push_back(cpu);
                if (!threads.empty())
                    units.push_back(std::move(threads));
            }
        }
        hwloc_topology_destroy(topology);
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
