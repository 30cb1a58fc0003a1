#include "base/clock.hpp"
#include "base/event_count.hpp"
#include "base/futex.hpp"
#include "base/machine.hpp"
#include "base/printable.hpp"
#include "base/settings.hpp"
#include "base/unique_fd.hpp"
#include "towline/error.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
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
