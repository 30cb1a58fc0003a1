#include "base/clock.hpp"
#include "base/event_count.hpp"
#include "base/futex.hpp"
#include "base/idle.hpp"
#include "base/machine.hpp"
#include "base/printable.hpp"
#include "base/settings.hpp"
#include "base/unique_fd.hpp"
#include "towline/error.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <map>
#include <thread>
#include <vector>

namespace base = towline::base;
using namespace std::chrono_literals;

namespace {

struct environment {
    char const* name;
    environment(char const* n, char const* value) : name(n) { setenv(n, value, 1); }
    ~environment() { unsetenv(name); }
};

template <class Function>
std::string message_of(Function&& function)
{
    try {
        function();
    } catch (towline::usage_error const& e) {
        return e.what();
    }
    return "(nothing was thrown)";
}

} // namespace

TEST(error, names_the_call_and_the_reason)
{
    towline::system_error const e("opening the door", EACCES);
    EXPECT_EQ(e.code(), EACCES);
    EXPECT_STREQ(e.what(), "opening the door: Permission denied");
}

TEST(settings, bytes)
{
    EXPECT_EQ(base::parse_bytes("0"), 0u);
    EXPECT_EQ(base::parse_bytes("4096"), 4096u);
    EXPECT_EQ(base::parse_bytes("64k"), 65536u);
    EXPECT_EQ(base::parse_bytes("16MiB"), std::uint64_t{16} << 20);
    EXPECT_EQ(base::parse_bytes("2GB"), std::uint64_t{2} << 30);
    EXPECT_EQ(base::parse_bytes("1T"), std::uint64_t{1} << 40);
    for (auto bad : {"", "K", "-1", "1.5G", "12 K", "12Q", "99999999999999999999", "16777216T", "1Kx", "0x10"})
        EXPECT_FALSE(base::parse_bytes(bad)) << bad;
}

TEST(settings, times)
{
    EXPECT_EQ(base::parse_time("2"), 2s);
    EXPECT_EQ(base::parse_time("1.5s"), 1500ms);
    EXPECT_EQ(base::parse_time("250us"), 250us);
    EXPECT_EQ(base::parse_time("7ns"), 7ns);
    EXPECT_EQ(base::parse_time("3m"), 180s);
    for (auto bad : {"", "s", "-1s", "nan", "inf", "1e300s", "3 s", "4weeks"})
        EXPECT_FALSE(base::parse_time(bad)) << bad;
}

TEST(settings, a_wrong_value_is_named)
{
    environment const number("TOWLINE_TEST_NUMBER", "70");
    EXPECT_EQ(base::setting_number("TOWLINE_TEST_NUMBER", 3), 70);
    EXPECT_EQ(message_of([] { (void)base::setting_number("TOWLINE_TEST_NUMBER", 3, 1, 64); }),
              "TOWLINE_TEST_NUMBER='70' is not a whole number from 1 to 64");
    environment const text("TOWLINE_TEST_TEXT", "maybe");
    EXPECT_EQ(message_of([] { (void)base::setting_switch("TOWLINE_TEST_TEXT", true); }),
              "TOWLINE_TEST_TEXT='maybe' is not a switch: write on or off");
    EXPECT_EQ(message_of([] {
                  (void)base::setting_choice("TOWLINE_TEST_TEXT", {"core", "none"}, 0);
              }),
              "TOWLINE_TEST_TEXT='maybe' is not one of: core, none");
    EXPECT_THROW((void)base::setting_bytes("TOWLINE_TEST_TEXT", 0), towline::usage_error);
    EXPECT_THROW((void)base::setting_time("TOWLINE_TEST_TEXT", 0ns), towline::usage_error);
}

TEST(settings, unset_and_empty_mean_the_default)
{
    environment const empty("TOWLINE_TEST_EMPTY", "");
    EXPECT_EQ(base::setting_bytes("TOWLINE_TEST_EMPTY", 5), 5u);
    EXPECT_EQ(base::setting_number("TOWLINE_TEST_UNSET", 6), 6);
    EXPECT_TRUE(base::setting_switch("TOWLINE_TEST_UNSET", true));
    EXPECT_EQ(base::setting_choice("TOWLINE_TEST_UNSET", {"a", "b"}, 1), 1u);
}

TEST(clock, ticks_measure_what_the_kernel_measures)
{
    auto const from_tick = base::ticks();
    auto const from = base::monotonic_ns();
    while (base::monotonic_ns() - from < 5'000'000) {
    }
    auto const ticks = static_cast<double>(base::to_ns(base::ticks() - from_tick).count());
    auto const kernel = static_cast<double>(base::monotonic_ns() - from);
    EXPECT_GT(ticks, 0);
    EXPECT_LT(ticks, kernel * 4);  // no finer: a preemption between two stamps is allowed
    EXPECT_NEAR(static_cast<double>(base::to_ns(base::to_ticks(1s)).count()), 1e9, 10);
}

TEST(clock, deadlines)
{
    EXPECT_TRUE(base::deadline(0ns).passed());
    EXPECT_TRUE(base::deadline(-5s).passed());
    EXPECT_FALSE(base::deadline(1h).passed());
    EXPECT_EQ(base::deadline(std::chrono::nanoseconds::max()).left(), std::chrono::nanoseconds::max());
    EXPECT_LE(base::deadline(1h).left(), 1h);
}

TEST(unique_fd, closes_once)
{
    int raw = -1;
    {
        base::unique_fd a(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        raw = a.get();
        base::unique_fd b(std::move(a));
        EXPECT_FALSE(a);
        EXPECT_EQ(b.get(), raw);
        base::unique_fd& alias = b;
        b = std::move(alias);
        EXPECT_EQ(b.get(), raw);
    }
    EXPECT_EQ(fcntl(raw, F_GETFD), -1);
}

TEST(futex, times_out_and_notices_a_changed_word)
{
    std::atomic<std::uint32_t> word{7};
    EXPECT_TRUE(base::futex_wait(word, 6, std::chrono::nanoseconds::max()));
    EXPECT_FALSE(base::futex_wait(word, 7, 1ms));
    EXPECT_FALSE(base::futex_wait(word, 7, -1ms));
}

TEST(idle, spins_then_yields_then_sleeps)
{
    base::idle_strategy idle({3, 2});
    int moments = 0;
    while (!idle.idle())
        ++moments;
    EXPECT_EQ(moments, 5);
    EXPECT_TRUE(idle.idle());
    idle.reset();
    EXPECT_FALSE(idle.idle());
}

class event_count : public testing::TestWithParam<base::fence_side> {
protected:
    void SetUp() override
    {
        if (GetParam() == base::fence_side::sleeper_fences && !base::register_membarrier())
            GTEST_SKIP() << "membarrier(2) is refused here";
    }
};

TEST_P(event_count, cancel_leaves_no_sleeper)
{
    base::event_count event;
    (void)event.prepare_wait(GetParam());
    EXPECT_EQ(event.sleepers.load(), 1u);
    event.cancel_wait();
    EXPECT_EQ(event.sleepers.load(), 0u);
}

TEST_P(event_count, a_notify_between_prepare_and_wait_is_not_lost)
{
    base::event_count event;
    auto const key = event.prepare_wait(GetParam());
    event.notify(GetParam());
    EXPECT_TRUE(event.wait(key, std::chrono::nanoseconds::max()));
    EXPECT_EQ(event.sleepers.load(), 0u);
}

TEST_P(event_count, times_out)
{
    base::event_count event;
    EXPECT_FALSE(event.wait(event.prepare_wait(GetParam()), 1ms));
    EXPECT_EQ(event.sleepers.load(), 0u);
}

TEST_P(event_count, notify_without_sleepers_touches_nothing)
{
    base::event_count event;
    event.notify(GetParam());
    EXPECT_EQ(event.epoch.load(), 0u);
}

// Two threads hand a turn to and fro, sleeping each time: one lost wake-up and the test never ends.
TEST_P(event_count, no_wake_up_is_lost)
{
    constexpr int rounds = 3000;
    std::array<base::event_count, 2> events;
    std::atomic<int> turn{0};
    auto player = [&](int me) {
        for (int i = 0; i < rounds; ++i) {
            while (turn.load(std::memory_order_acquire) != me) {
                auto const key = events[me].prepare_wait(GetParam());
                if (turn.load(std::memory_order_acquire) == me)
                    events[me].cancel_wait();
                else
                    events[me].wait(key, std::chrono::nanoseconds::max());
            }
            turn.store(1 - me, std::memory_order_release);
            events[1 - me].notify(GetParam());
        }
    };
    std::thread other(player, 1);
    player(0);
    other.join();
}

INSTANTIATE_TEST_SUITE_P(sides, event_count, testing::Values(base::fence_side::sleeper_fences, base::fence_side::notifier_fences),
                         [](auto const& sides) {
                             return sides.param == base::fence_side::sleeper_fences ? "sleeper_fences" : "notifier_fences";
                         });

TEST(machine, tells_the_truth_about_this_one)
{
    EXPECT_FALSE(base::allowed_cpus().empty());
    EXPECT_GE(base::usable_cores(), 1u);
    EXPECT_LE(base::usable_cores(), base::allowed_cpus().size());
    EXPECT_GT(base::total_memory(), 1u << 20);
    EXPECT_FALSE(base::first_line("/nowhere/at/all"));
}

TEST(machine, cross_memory_read_of_nothing_is_refused)
{
    char byte = 'x';
    EXPECT_EQ(base::try_cross_memory_read(getpid(), nullptr, 1) == 0, false);
    EXPECT_EQ(base::try_cross_memory_read(999'999'999, &byte, 1) == 0, false);
}

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

    files = {{"/cg/memory/inner/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"}};
    auto const v1 = invented("4:memory:/docker/abc/inner\n", v1_mounts);
    EXPECT_EQ(base::cgroup::memory_kills(v1), 3u);
    EXPECT_FALSE(base::cgroup::memory_bound(v1));
    EXPECT_FALSE(base::cgroup::pids_bound(v1));
    files = {{"/cg/memory/inner/memory.oom_control", "oom_kill_disable 0\n"}};
    EXPECT_FALSE(base::cgroup::memory_kills(v1));
    EXPECT_FALSE(base::cgroup::memory_kills(invented("", "")));
}

TEST(printable, leaves_text_and_takes_what_steers_a_terminal)
{
    for (char const* const text : {"", "plain ~ text", "\u00e4\u20ac\U0001f600", "\u00a0"})
        EXPECT_EQ(base::printable(text), text);
    EXPECT_EQ(base::printable("\x1b[2Jx\x7f\r\n\t"), "?[2Jx????");
    EXPECT_EQ(base::printable("\u009b2J\u202e"), "??2J???");                             // C1 as UTF-8, a change of direction
    EXPECT_EQ(base::printable("\x9b\xc3"), "??");                                       // alone, cut
    EXPECT_EQ(base::printable("\xc0\xaf|\xe0\x80\xaf|\xed\xa0\x80|\xf4\x90\x80\x80"), "??|???|???|????");  // overlong, surrogate, beyond
    EXPECT_EQ(base::printable(std::string_view("a\0b", 3)), "a?b");
}

TEST(cgroup, nothing_and_nonsense_mean_no_limit)
{
    files = {{"/sys/fs/cgroup/cpu.max", "lots"}, {"/sys/fs/cgroup/memory.max", ""}};
    EXPECT_FALSE(base::cgroup::cpu_quota(invented("", "")));
    EXPECT_FALSE(base::cgroup::cpu_quota(invented("0::/\n", v2_mount)));
    EXPECT_FALSE(base::cgroup::memory_limit(invented("0::/../..\n:::\nx", v2_mount)));
    EXPECT_FALSE(base::cgroup::memory_limit(invented("0::/\n", "1 2\n\n- - -\n")));
}
