// What hardware a process is held to, on invented machines and on this one.

#include "mpi/hardware.hpp"
#include "running.hpp"

#include <gtest/gtest.h>

#include <map>

namespace towline::mpi {
namespace {

/// Two packages of two cores with two threads each: 0-3 and 4-7; siblings are next to each other.
[[nodiscard]] std::optional<std::string> two_packages(std::string const& path)
{
    static std::map<std::string, std::string> const files = [] {
        std::map<std::string, std::string> f;
        for (int i = 0; i < 8; ++i) {
            std::string const cpu = "/sys/devices/system/cpu/cpu" + std::to_string(i) + "/";
            std::string const package = i < 4 ? "0-3" : "4-7";
            std::string const core = std::to_string(i & ~1) + "-" + std::to_string(i | 1);
            f[cpu + "topology/package_cpus_list"] = package;
            f[cpu + "topology/core_cpus_list"] = core;
            f[cpu + "cache/index0/level"] = "1";
            f[cpu + "cache/index0/type"] = "Data";
            f[cpu + "cache/index0/shared_cpu_list"] = core;
            f[cpu + "cache/index1/level"] = "1";
            f[cpu + "cache/index1/type"] = "Instruction";
            f[cpu + "cache/index1/shared_cpu_list"] = std::to_string(i);
            f[cpu + "cache/index2/level"] = "3";
            f[cpu + "cache/index2/type"] = "Unified";
            f[cpu + "cache/index2/shared_cpu_list"] = package;
        }
        f["/sys/devices/system/node/node0/cpulist"] = "0-1,6";
        f["/sys/devices/system/node/node1/cpulist"] = "2-5,7";
        return f;
    }();
    auto const found = files.find(path);
    return found == files.end() ? std::nullopt : std::optional(found->second);
}

[[nodiscard]] std::string of(std::vector<int> const& processors)
{
    std::string text;
    for (auto const& [type, held] : hardware_resources(processors, two_packages))
        text += type + (held ? "+ " : "- ");
    return text;
}

TEST(hardware, tells_what_the_processors_share)
{
    EXPECT_EQ(of({3}), "Machine+ Package+ NUMANode+ L3Cache+ L1Cache+ Core+ PU+ ");
    EXPECT_EQ(of({2, 3}), "Machine+ Package+ NUMANode+ L3Cache+ L1Cache+ Core+ PU- ");
    EXPECT_EQ(of({0, 1, 2}), "Machine+ Package+ NUMANode- L3Cache+ L1Cache- Core- PU- ");
    EXPECT_EQ(of({1, 6}), "Machine+ Package- NUMANode+ L3Cache- L1Cache- Core- PU- ");
    EXPECT_EQ(of({2, 4}), "Machine+ Package- NUMANode+ L3Cache- L1Cache- Core- PU- ");
}

TEST(hardware, a_machine_that_tells_nothing)
{
    auto const nothing = [](std::string const&) -> std::optional<std::string> { return std::nullopt; };
    EXPECT_EQ(hardware_resources({0, 1}, nothing), (std::vector<std::pair<std::string, bool>>{{"Machine", true}, {"PU", false}}));
    EXPECT_EQ(hardware_resources({0, 77}, two_packages)[1], std::pair(std::string("Package"), false));
}

using hardware_calls = ::running;

TEST_F(hardware_calls, of_this_machine)
{
    MPI_Info info = MPI_INFO_NULL;
    ASSERT_EQ(MPI_Get_hw_resource_info(&info), MPI_SUCCESS);
    char value[8];
    int size = sizeof value, flag = 0;
    ASSERT_EQ(MPI_Info_get_string(info, "hwloc://Machine", &size, value, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_STREQ(value, "true");
    EXPECT_EQ(MPI_Info_free(&info), MPI_SUCCESS);
}

} // namespace
} // namespace towline::mpi
