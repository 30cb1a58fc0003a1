// What is told of remote calls: short names, and the calls that are under way.

#include "remote/calls.hpp"
#include "remote/fiber.hpp"
#include "remote/waits.hpp"
#include "remote/workers.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace remoting = towline::remoting;
namespace detail = towline::detail;

TEST(short_name, is_the_function_without_arguments)
{
    EXPECT_EQ(remoting::short_name("count"), "count");
    EXPECT_EQ(remoting::short_name("count(std::vector<particle, std::allocator<particle> > const&, int)"), "count");
    EXPECT_EQ(remoting::short_name("(anonymous namespace)::count(int)"), "count");
    EXPECT_EQ(remoting::short_name("solver::(anonymous namespace)::step(int)"), "solver::(anonymous namespace)::step");
    EXPECT_EQ(remoting::short_name("apply<void (*)(int)>(int)"), "apply<void (*)(int)>");
    EXPECT_EQ(remoting::short_name("main::{lambda(int)#1}"), "main::{lambda(int)#1}");
    EXPECT_EQ(remoting::short_name(""), "");
}

TEST(call_table, shows_what_is_under_way)
{
    remoting::call_table table;
    auto const seen = [&] {
        std::vector<std::uint32_t> peers;
        table.look([&](detail::state_base const*, remoting::action_entry const*, std::uint32_t peer) { peers.push_back(peer); });
        return peers;
    };
    EXPECT_TRUE(seen().empty());
    auto const first = table.acquire({}, 7);
    auto const second = table.acquire({}, 9);
    EXPECT_EQ(seen().size(), 2u);
    ASSERT_TRUE(table.take(first, 7).has_value());
    EXPECT_EQ(seen(), std::vector<std::uint32_t>{9});
    ASSERT_TRUE(table.take(second, 9).has_value());
    EXPECT_TRUE(seen().empty());
    EXPECT_EQ(table.answered(), 0u);
    table.ended();
    EXPECT_EQ(table.answered(), 1u);
}

TEST(workers, show_what_they_run_and_what_it_waits_for)
{
    struct job : detail::task {
        std::atomic<int> stage{0};
    } one;
    remoting::workers pool(nullptr, 1);
    one.run = [](detail::task* t) noexcept {
        auto& self = *static_cast<job*>(t);
        auto* const f = remoting::fiber::current();
        f->rename("solve", 5);
        self.stage = 1;
        while (self.stage == 1)
            std::this_thread::yield();
        {
            remoting::fiber::waiting const told(*f, "a future", nullptr);
            self.stage = 3;
            while (self.stage == 3)
                std::this_thread::yield();
        }
        self.stage = 5;
        while (self.stage == 5)
            std::this_thread::yield();
    };
    struct found {
        int fibers = 0, calls = 0, caller = -1;
        std::string name, waits;
    };
    auto const look = [&] {
        found all;
        pool.for_each_fiber([&](remoting::fiber const& f) {
            ++all.fibers;
            auto const [name, caller] = f.running();
            if (name == nullptr)
                return;
            ++all.calls;
            all.name = name;
            all.caller = caller;
            all.waits = f.waits_for() != nullptr ? f.waits_for() : "";
        });
        return all;
    };
    auto const until = [&](int stage) {
        while (one.stage != stage)
            std::this_thread::yield();
        return look();
    };
    EXPECT_EQ(look().fibers, 0);
    pool.push(one);
    found const runs = until(1);
    EXPECT_EQ(runs.calls, 1);
    EXPECT_EQ(runs.name, "solve");
    EXPECT_EQ(runs.caller, 5);
    EXPECT_EQ(runs.waits, "");
    one.stage = 2;
    EXPECT_EQ(until(3).waits, "a future");
    one.stage = 4;
    EXPECT_EQ(until(5).waits, "");
    one.stage = 6;
    while (pool.unfinished() != 0)
        std::this_thread::yield();
    EXPECT_EQ(look().calls, 0);
    EXPECT_EQ(look().fibers, 1);  // kept
}
