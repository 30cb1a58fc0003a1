// The limits of a cgroup, of invented machines.

#include "base/machine.hpp"
#include "base/memory_left.hpp"

#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <string>

namespace base = towline::base;

namespace {

std::map<std::string, std::string> files;

base::cgroup::source invented(char const* cgroup, char const* mountinfo)
{
    return {cgroup, mountinfo, [](std::string const& path) -> std::optional<std::string> {
                auto const found = files.find(path);
                return found == files.end() ? std::nullopt : std::optional(found->second);
            },
            [](std::string const& path) {
                auto const found = files.find(path);
                return found == files.end() ? std::string() : found->second;
            }};
}

constexpr char const* v2_mount = "30 23 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr char const* v1_mounts = "32 31 0:29 / /cg/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
                                  "35 31 0:32 /docker/abc /cg/memory rw,relatime shared:1 master:2 - cgroup cgroup rw,memory\n";

} // namespace

TEST(cgroup, v2_takes_the_tightest_limit_on_the_way_up)
{
    files = {{"/sys/fs/cgroup/a/b/cpu.max", "max 100000"},
             {"/sys/fs/cgroup/a/cpu.max", "150000 100000"},
             {"/sys/fs/cgroup/a/b/memory.max", "1073741824"},
             {"/sys/fs/cgroup/a/memory.max", "max"}};
    auto const machine = invented("0::/a/b\n", v2_mount);
    EXPECT_EQ(base::cgroup::cpu_quota(machine), 1.5);
    EXPECT_EQ(base::cgroup::memory_limit(machine), std::uint64_t{1} << 30);
}

TEST(cgroup, v1_looks_below_the_part_that_is_mounted)
{
    files = {{"/cg/cpu/job/cpu.cfs_quota_us", "-1"},
             {"/cg/cpu/job/cpu.cfs_period_us", "100000"},
             {"/cg/cpu/cpu.cfs_quota_us", "400000"},
             {"/cg/cpu/cpu.cfs_period_us", "100000"},
             {"/cg/memory/inner/memory.limit_in_bytes", "268435456"},
             {"/cg/memory/memory.limit_in_bytes", "9223372036854771712"}};
    auto const machine = invented("4:memory:/docker/abc/inner\n1:cpu,cpuacct:/job\n", v1_mounts);
    EXPECT_EQ(base::cgroup::cpu_quota(machine), 4.0);
    EXPECT_EQ(base::cgroup::memory_limit(machine), std::uint64_t{256} << 20);
}

TEST(cgroup, tells_where_a_limit_is_and_whom_it_killed)
{
    files = {{"/sys/fs/cgroup/a/memory.max", "1048576"}, {"/sys/fs/cgroup/a/b/memory.max", "max"},
             {"/sys/fs/cgroup/a/b/memory.events", "low 0\nhigh 3\nmax 4\noom 2\noom_kill 7\noom_group_kill 0\n"},
             {"/sys/fs/cgroup/a/b/pids.max", "max"}, {"/sys/fs/cgroup/a/pids.max", "64"}};
    auto const v2 = invented("0::/a/b\n", v2_mount);
    auto const bound = base::cgroup::memory_bound(v2);
    ASSERT_TRUE(bound);
    EXPECT_EQ(bound->limit, 1048576u);
    EXPECT_EQ(bound->folder, "/sys/fs/cgroup/a");
    EXPECT_EQ(base::cgroup::memory_kills(v2), 7u);
    ASSERT_TRUE(base::cgroup::pids_bound(v2));
    EXPECT_EQ(base::cgroup::pids_bound(v2)->limit, 64u);

    // A cgroup to which the controller was not given on has none of its files.
    EXPECT_EQ(base::cgroup::memory_kills(invented("0::/a/b/inner/most\n", v2_mount)), 7u);
    EXPECT_EQ(base::cgroup::memory_bound(invented("0::/a/b/inner/most\n", v2_mount))->folder, "/sys/fs/cgroup/a");

    files = {{"/cg/memory/inner/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"}};
    auto const v1 = invented("4:memory:/docker/abc/inner\n", v1_mounts);
    EXPECT_EQ(base::cgroup::memory_kills(v1), 3u);
    EXPECT_FALSE(base::cgroup::memory_bound(v1));
    EXPECT_FALSE(base::cgroup::pids_bound(v1));
    files = {{"/cg/memory/inner/memory.oom_control", "oom_kill_disable 0\n"}};
    EXPECT_FALSE(base::cgroup::memory_kills(v1));
    EXPECT_FALSE(base::cgroup::memory_kills(invented("", "")));
}

TEST(cgroup, v2_leaves_what_is_not_held_on_the_tightest_level)
{
    constexpr std::uint64_t mib = 1 << 20;
    files = {{"/sys/fs/cgroup/a/memory.max", "100M"}, {"/sys/fs/cgroup/a/memory.current", "70M"},
             {"/sys/fs/cgroup/a/memory.stat", "anon 4096\nfile 52428800\nshmem 31457280\ninactive_file 8388608\nactive_file 2097152\n"},
             {"/sys/fs/cgroup/a/b/memory.max", "64M"}, {"/sys/fs/cgroup/a/b/memory.current", "1M"}};
    auto const machine = invented("0::/a/b\n", v2_mount);
    EXPECT_EQ(base::cgroup::memory_left(machine, 0), 40 * mib);  // the cached file's 10 MiB can go
    files["/sys/fs/cgroup/a/b/memory.current"] = "60M";
    EXPECT_EQ(base::cgroup::memory_left(machine, 0), 4 * mib);
    files["/sys/fs/cgroup/a/b/memory.current"] = "65M";
    EXPECT_EQ(base::cgroup::memory_left(machine, 0), 0u);
    files["/sys/fs/cgroup/a/b/memory.max"] = files["/sys/fs/cgroup/a/memory.max"] = "max";
    EXPECT_FALSE(base::cgroup::memory_left(machine, 0));
    EXPECT_FALSE(base::cgroup::memory_left(invented("", ""), 0));
}

TEST(cgroup, v1_leaves_what_is_not_held)
{
    constexpr std::uint64_t mib = 1 << 20;
    files = {{"/cg/memory/inner/memory.limit_in_bytes", "268435456"}, {"/cg/memory/inner/memory.usage_in_bytes", "134217728"},
             {"/cg/memory/inner/memory.stat", "inactive_file 1048576\ntotal_inactive_file 4194304\ntotal_active_file 4194304\n"},
             {"/cg/memory/memory.limit_in_bytes", "9223372036854771712"}, {"/cg/memory/memory.usage_in_bytes", "17179869184"}};
    auto const machine = invented("4:memory:/docker/abc/inner\n", v1_mounts);
    EXPECT_EQ(base::cgroup::memory_left(machine, 0), 136 * mib);
    files["/cg/memory/inner/memory.usage_in_bytes"] = "no number";
    EXPECT_FALSE(base::cgroup::memory_left(machine, 0));
}

TEST(cgroup, only_swap_that_may_be_used_is_left)
{
    constexpr std::uint64_t mib = 1 << 20;
    files = {{"/sys/fs/cgroup/a/memory.max", "100M"}, {"/sys/fs/cgroup/a/memory.current", "90M"}};
    auto const v2 = invented("0::/a\n", v2_mount);
    EXPECT_EQ(base::cgroup::memory_left(v2, 1000 * mib), 1010 * mib);  // no limit is told of
    files["/sys/fs/cgroup/a/memory.swap.current"] = "0";
    files["/sys/fs/cgroup/a/memory.swap.max"] = "max";
    EXPECT_EQ(base::cgroup::memory_left(v2, 1000 * mib), 1010 * mib);
    files["/sys/fs/cgroup/a/memory.swap.max"] = "0";
    EXPECT_EQ(base::cgroup::memory_left(v2, 1000 * mib), 10 * mib);
    files["/sys/fs/cgroup/a/memory.swap.max"] = "30M";
    files["/sys/fs/cgroup/a/memory.swap.current"] = "10M";
    EXPECT_EQ(base::cgroup::memory_left(v2, 1000 * mib), 30 * mib);
    EXPECT_EQ(base::cgroup::memory_left(v2, 5 * mib), 15 * mib);

    files = {{"/cg/memory/inner/memory.limit_in_bytes", "100M"}, {"/cg/memory/inner/memory.usage_in_bytes", "90M"},
             {"/cg/memory/inner/memory.memsw.limit_in_bytes", "120M"}, {"/cg/memory/inner/memory.memsw.usage_in_bytes", "95M"}};
    auto const v1 = invented("4:memory:/docker/abc/inner\n", v1_mounts);
    EXPECT_EQ(base::cgroup::memory_left(v1, 1000 * mib), 25 * mib);
    EXPECT_EQ(base::cgroup::memory_left(v1, 0), 10 * mib);
    files["/cg/memory/inner/memory.memsw.limit_in_bytes"] = "9223372036854771712";
    EXPECT_EQ(base::cgroup::memory_left(v1, 1000 * mib), 1010 * mib);
}

TEST(cgroup, nothing_and_nonsense_mean_no_limit)
{
    files = {{"/sys/fs/cgroup/cpu.max", "lots"}, {"/sys/fs/cgroup/memory.max", ""}};
    EXPECT_FALSE(base::cgroup::cpu_quota(invented("", "")));
    EXPECT_FALSE(base::cgroup::cpu_quota(invented("0::/\n", v2_mount)));
    EXPECT_FALSE(base::cgroup::memory_limit(invented("0::/../..\n:::\nx", v2_mount)));
    EXPECT_FALSE(base::cgroup::memory_limit(invented("0::/\n", "1 2\n\n- - -\n")));
}
