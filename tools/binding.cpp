#include "binding.hpp"

#include "base/machine.hpp"

#include <algorithm>
#include <hwloc.h>
#include <sched.h>

namespace towline::tools {

std::vector<std::vector<int>> allowed_cores()
{
    auto const allowed = base::allowed_cpus();
    std::vector<std::vector<int>> cores;
    hwloc_topology_t topology = nullptr;
    if (hwloc_topology_init(&topology) == 0) {
        if (hwloc_topology_load(topology) == 0) {
            for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != nullptr;) {
                std::vector<int> threads;
                for (int const cpu : allowed)
                    if (hwloc_bitmap_isset(core->cpuset, static_cast<unsigned>(cpu)) != 0)
                        threads.push_back(cpu);
                if (!threads.empty())
                    cores.push_back(std::move(threads));
            }
        }
        hwloc_topology_destroy(topology);
    }
    if (cores.empty())
        for (int const cpu : allowed)
            cores.push_back({cpu});
    return cores;
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
