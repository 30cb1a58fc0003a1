// The table of settings, and the check of a whole environment.

#include "base/settings.hpp"
#include "base/settings_table.hpp"
#include "towline/error.hpp"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>
#include <vector>

namespace base = towline::base;

namespace {

std::string complaint(std::vector<char const*> const& variables)
{
    try {
        base::check_settings(variables);
    } catch (towline::usage_error const& e) {
        return e.what();
    }
    return "";
}

std::string complaint_of(std::string const& variable)
{
    return complaint(std::vector<char const*>{variable.c_str()});
}

} // namespace

TEST(settings_table, has_each_name_once_and_all_its_words)
{
    std::vector<std::string> names;
    for (auto const& s : base::settings_table()) {
        EXPECT_TRUE(std::string(s.name).starts_with("TOWLINE_")) << s.name;
        for (char const* text : {s.form, s.otherwise, s.meaning})
            EXPECT_TRUE(text != nullptr && *text != '\0') << s.name;
        EXPECT_LT(std::string(s.meaning).size(), 90u) << s.name;
        names.emplace_back(s.name);
    }
    EXPECT_GE(names.size(), 17u);
    std::ranges::sort(names);
    EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST(settings_table, takes_what_the_manual_says)
{
    for (auto good : {"HEAP=on", "HEAP=No", "HEAP=", "HEAP_THRESHOLD=128k", "HEAP_KEEP=0", "MAX_MESSAGE=1T", "SEGMENT=16M", "SEGMENT=64G",
                      "WORKERS=1", "WORKERS=1024", "STACK=64", "STACK=64K", "STACK=16", "STACK=1M", "STACK=1G", "STACK=1048576", "ONLOAD=off",
                      "ONLOAD=on", "ONLOAD=auto", "MEMBARRIER=off", "LANES=first", "LANES=ON", "DETERMINISTIC=1", "WATCHDOG=60",
                      "WATCHDOG=0.5", "WATCHDOG=1", "WATCHDOG=500ms", "WATCHDOG=off", "WATCHDOG=0", "WATCHDOG=OFF", "WATCHDOG_ABORT=true",
                      "TUNING=/no/where", "XPMEM=off", "CHECK=on", "CHECK=off", "CHECK=types,collectives", "LOG=debug", "LOG=Off"})
        EXPECT_EQ(complaint_of(std::string("TOWLINE_") + good), "") << good;
}

TEST(settings_table, names_what_is_wrong_and_what_would_be_right)
{
    EXPECT_EQ(complaint_of("TOWLINE_STACK=64Q"), "TOWLINE_STACK='64Q' is not a size from 16K to 1G: KiB, or a number with K, M or G behind it");
    EXPECT_EQ(complaint_of("TOWLINE_LANES=x"), "TOWLINE_LANES='x' is not on, off or first");
    EXPECT_EQ(complaint_of("TOWLINE_LOG=loud"), "TOWLINE_LOG='loud' is not one of off, error, warning, info, debug");
    for (auto bad : {"HEAP=maybe", "HEAP_THRESHOLD=-1", "HEAP_KEEP=some", "MAX_MESSAGE=1.5G", "SEGMENT=24M", "SEGMENT=8M", "SEGMENT=0",
                     "WORKERS=0", "WORKERS=1025", "WORKERS=two", "STACK=15", "STACK=15K", "STACK=2G", "STACK=1048577", "STACK=0x40",
                     "STACK=99999999999999999999", "ONLOAD=yes", "ONLOAD=-1", "ONLOAD=99999", "MEMBARRIER=2", "LANES=yes", "DETERMINISTIC=x",
                     "WATCHDOG=soon", "WATCHDOG=0.1", "WATCHDOG=-1", "WATCHDOG_ABORT=124", "XPMEM=?", "CHECK=everything",
                     "CHECK=types,", "LOG=3"}) {
        std::string const variable = std::string("TOWLINE_") + bad;
        auto const equals = variable.find('=');
        EXPECT_TRUE(complaint_of(variable).starts_with(variable.substr(0, equals) + "='" + variable.substr(equals + 1) + "' is not "))
            << bad << ": " << complaint_of(variable);
    }
}

TEST(settings_table, knows_the_cores_that_this_process_may_use)
{
    cpu_set_t before, after;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    int core = 0;
    while (!CPU_ISSET(static_cast<std::size_t>(core), &before))
        ++core;
    EXPECT_EQ(complaint_of("TOWLINE_ONLOAD=" + std::to_string(core)), "");
    EXPECT_NE(complaint_of("TOWLINE_ONLOAD=" + std::to_string(CPU_SETSIZE - 1)), "");
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(settings_table, tells_all_that_is_wrong_at_once)
{
    EXPECT_EQ(complaint({"HOME=/", "TOWLINE_LANES=x", "PATH", "TOWLINE_HEAP=on", "TOWLINE_LOG=loud", "TOWLINE_LANES=y"}),
              "TOWLINE_LANES='x' is not on, off or first\nTOWLINE_LOG='loud' is not one of off, error, warning, info, debug");
    EXPECT_EQ(complaint({"TOWLINE_LANES=on", "TOWLINE_LANES=x"}), "");  // the first counts, as for getenv
    EXPECT_EQ(complaint({"LANES=x", "towline_lanes=x", "TOWLINE_TEST_SEED=x", "TOWLINE_FOO=x"}), "");
}

TEST(settings_table, finds_the_nearest_of_an_unknown_name)
{
    std::vector<char const*> const variables{"TOWLINE_LANE=off",  "TOWLINE_STAK=1",     "TOWLINE_WATCH_DOG=2",  "TOWLINE_TEST_MARK=3",
                                             "TOWLINE_JOB=5:0",   "TOWLINE_RANK=0",     "TOWLINE_SIZE=1",       "TOWLINE_CORES=0",
                                             "TOWLINE_LANES=off", "TOWLINE_BENCH_N=1",  "TOWLINE_FUZZ_SEED=1",  "TOWLINE_SANITIZE=",
                                             "PATH=/bin",         "TOWLINE_LANE=twice", "TOWLINE_WRITE_GOLDEN=1"};
    EXPECT_EQ(base::unknown_settings(variables),
              (std::vector<std::string>{"TOWLINE_LANE is set, and is no setting of Towline; the nearest is TOWLINE_LANES",
                                        "TOWLINE_STAK is set, and is no setting of Towline; the nearest is TOWLINE_STACK",
                                        "TOWLINE_WATCH_DOG is set, and is no setting of Towline; the nearest is TOWLINE_WATCHDOG"}));
}

TEST(settings, bare_numbers_count_what_they_are_told_to)
{
    EXPECT_EQ(base::parse_bytes("64", 1024), 65536u);
    EXPECT_EQ(base::parse_bytes("64K", 1024), 65536u);
    EXPECT_EQ(base::parse_bytes("64B", 1024), 64u);
    EXPECT_FALSE(base::parse_bytes("18446744073709551615", 1024));
    EXPECT_EQ(base::parse_time_or_off("off"), std::chrono::nanoseconds::max());
    EXPECT_EQ(base::parse_time_or_off("2s"), std::chrono::seconds(2));
    EXPECT_FALSE(base::parse_time_or_off("on"));
}
