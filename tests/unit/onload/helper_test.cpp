// The helper thread: where it runs, when it sleeps, who wakes it, what it does besides copying, and how it ends.

#include "onload/helper_engine.hpp"
#include "onload/placement.hpp"

#include "base/machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace towline::onload;
using namespace std::chrono_literals;
using bytes = std::vector<unsigned char>;

bool becomes(std::function<bool()> const& condition)
{
    auto const end = std::chrono::steady_clock::now() + 60s;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end)
            return false;
        std::this_thread::sleep_for(100us);
    }
    return true;
}

completion take(copy_engine& e)
{
    completion c;
    EXPECT_TRUE(becomes([&] { return e.poll({&c, 1}) == 1; }));
    return c;
}

/// The thread's directory in /proc, by its name.
std::filesystem::path find_thread(std::string const& name)
{
    for (auto const& entry : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string comm;
        std::getline(std::ifstream(entry.path() / "comm") >> std::ws, comm);
        if (comm == name)
            return entry.path();
    }
    return {};
}
/// A field of its `status`: "S (sleeping)" for "State".
std::string status_of(std::filesystem::path const& thread, std::string const& field)
{
    std::ifstream file(thread / "status");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(field + ":")) {
            auto const at = line.find_first_not_of(" \t", field.size() + 1);
            return at == line.npos ? "" : line.substr(at);
        }
    return {};
}

std::unique_ptr<helper_engine> started(helper_options const& o)
{
    std::string why;
    auto h = start_helper(o, why);
    EXPECT_NE(h, nullptr) << why;
    return h;
}

TEST(onload_helper, sleeps_until_a_submit_wakes_it)
{
    auto const h = started({.spin = 0ns, .thread_name = "onload test 1"});
    std::filesystem::path thread;
    ASSERT_TRUE(becomes([&] { return !(thread = find_thread("onload test 1")).empty(); }));
    EXPECT_TRUE(becomes([&] { return status_of(thread, "State").starts_with("S"); }));
    auto const blocked = std::stoull(status_of(thread, "SigBlk"), nullptr, 16);  // the program's signals are not its
    for (int const s : {SIGINT, SIGTERM, SIGUSR1, SIGCHLD, SIGALRM})
        EXPECT_NE(blocked >> (s - 1) & 1, 0u) << s;
    bytes from(200000, 5);
    bytes to(200000);
    range const r{to.data(), from.data(), to.size()};
    ASSERT_NE(h->submit({.ranges = {&r, 1}}), 0u);
    EXPECT_EQ(take(*h).onloaded, to.size());
    EXPECT_EQ(to, from);
    EXPECT_TRUE(becomes([&] { return status_of(thread, "State").starts_with("S"); }));
}

TEST(onload_helper, loses_no_wake_up)
{
    unsigned const seed = std::random_device{}();
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    auto const h = started({.slots = 4, .spin = 0ns});
    bytes from(64, 5);
    bytes to(64);
    range const r{to.data(), from.data(), to.size()};
    for (int i = 0; i < 3000; ++i) {
        ASSERT_NE(h->submit({.ranges = {&r, 1}}), 0u);
        ASSERT_EQ(take(*h).error, 0);
        for (auto n = random() % 2000; n != 0; --n)
            std::atomic_signal_fence(std::memory_order_seq_cst);
    }
}

TEST(onload_helper, runs_on_its_core)
{
    int const core = towline::base::allowed_cpus().back();
    auto const h = started({.cores = {core}, .thread_name = "onload test 2"});
    std::filesystem::path thread;
    ASSERT_TRUE(becomes([&] { return !(thread = find_thread("onload test 2")).empty(); }));
    EXPECT_EQ(status_of(thread, "Cpus_allowed_list"), std::to_string(core));
}

TEST(onload_helper, that_cannot_be_is_said_and_replaced)
{
    std::string why;
    EXPECT_EQ(start_helper({.cores = {4000}}, why), nullptr);
    EXPECT_NE(why.find("core 4000"), why.npos) << why;
    placement p;
    p.on = true;
    p.cores = {4000};
    auto const e = open(p, {});
    ASSERT_NE(e, nullptr);
    EXPECT_FALSE(e->caps().own_pace);
    p.cores = {};
    EXPECT_TRUE(open(p, {})->caps().own_pace);
    p.on = false;
    EXPECT_FALSE(open(p, {})->caps().own_pace);
}

/// The helper in an idle function that returns only when it is let go.
struct gate {
    std::atomic<bool> held{true};
    std::atomic<int> calls{0};
    std::atomic<bool> inside{false};
    static std::chrono::nanoseconds idle(void* self)
    {
        auto& g = *static_cast<gate*>(self);
        ++g.calls;
        g.inside = true;
        while (g.held)
            std::this_thread::sleep_for(50us);
        g.inside = false;
        return std::chrono::nanoseconds::max();
    }
};

TEST(onload_helper, is_helped_by_the_poller)
{
    gate g;
    auto const h = started({.chunk = 4096, .idle = &gate::idle, .context = &g});
    ASSERT_TRUE(becomes([&] { return g.inside.load(); }));
    bytes from(100000);
    for (std::size_t i = 0; i < from.size(); ++i)
        from[i] = static_cast<unsigned char>(i >> 4);
    bytes to(from.size());
    range const r{to.data(), from.data(), to.size()};
    ASSERT_NE(h->submit({.ranges = {&r, 1}}), 0u);
    int chunks = 0;
    while (h->help())
        ++chunks;
    EXPECT_EQ(chunks, 25);
    completion const c = take(*h);
    EXPECT_EQ(c.bytes, from.size());
    EXPECT_EQ(c.onloaded, 0u);
    EXPECT_EQ(to, from);

    // One chunk of ours, the rest of the helper: each byte counts once.
    std::fill(to.begin(), to.end(), 0);
    ASSERT_NE(h->submit({.ranges = {&r, 1}}), 0u);
    EXPECT_TRUE(h->help());
    g.held = false;
    completion const d = take(*h);
    EXPECT_EQ(d.bytes, from.size());
    EXPECT_EQ(d.onloaded, from.size() - 4096);
    EXPECT_EQ(to, from);
    EXPECT_FALSE(h->help());
}

TEST(onload_helper, and_poller_share_every_chunk_once)
{
    unsigned const seed = std::random_device{}();
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    auto const h = started({.slots = 8, .chunk = 512});
    struct job {
        bytes from, to;
        bool ended = true;
    };
    std::vector<job> jobs(8);
    int ended = 0;
    for (int left = 2000; ended < 2000;) {
        for (job& j : jobs) {
            if (!j.ended || left == 0)
                continue;
            j.from.resize(random() % 5000);
            for (auto& x : j.from)
                x = static_cast<unsigned char>(random());
            j.to.assign(j.from.size(), 0);
            range const r{j.to.data(), j.from.data(), j.to.size()};
            // Ends come in any order, slots are given out in theirs: it may be busy though another slot is free.
            j.ended = h->submit({.ranges = {&r, 1}, .context = &j}) == 0;
            left -= j.ended ? 0 : 1;
        }
        if (random() % 2 == 0)
            h->help();
        completion ends[3];
        for (std::size_t n = h->poll(ends); n != 0; --n) {
            job& j = *static_cast<job*>(ends[n - 1].context);
            ASSERT_FALSE(j.ended);
            j.ended = true;
            ++ended;
            ASSERT_EQ(ends[n - 1].bytes, j.from.size());
            ASSERT_LE(ends[n - 1].onloaded, j.from.size());
            ASSERT_EQ(j.to, j.from);
        }
    }
}

TEST(onload_helper, wakes_whoever_polls)
{
    std::atomic<int> ends{0};
    auto const h = started({.ended = [](void* n) { ++*static_cast<std::atomic<int>*>(n); }, .context = &ends});
    bytes from(1000, 1);
    bytes to(1000);
    range const r{to.data(), from.data(), to.size()};
    for (int i = 1; i <= 20; ++i) {
        ASSERT_NE(h->submit({.ranges = {&r, 1}}), 0u);
        ASSERT_TRUE(becomes([&] { return ends.load() == i; }));
        EXPECT_TRUE(h->ready());  // signalled before it is told
        (void)take(*h);
    }
}

TEST(onload_helper, has_other_work_when_idle)
{
    struct counted {
        std::atomic<int> calls{0};
        std::atomic<bool> restless{false};
        std::atomic<int> called_back{0};
    } c;
    auto h = started({.idle =
                          [](void* self) {
                              auto& mine = *static_cast<counted*>(self);
                              ++mine.calls;
                              return mine.restless ? 0ns : std::chrono::nanoseconds::max();
                          },
                      .context = &c});
    ASSERT_TRUE(becomes([&] { return c.calls > 0; }));
    // It sleeps now, or is about to: each wake makes it look again.
    for (int i = 0; i < 200; ++i) {
        int const before = c.calls;
        h->wake();
        ASSERT_TRUE(becomes([&] { return c.calls > before; }));
    }
    c.restless = true;
    h->wake();
    int const before = c.calls;
    ASSERT_TRUE(becomes([&] { return c.calls > before + 100; }));
    bytes from(100000, 1);
    bytes to(100000);
    range const r{to.data(), from.data(), to.size()};
    ASSERT_NE(h->submit({.ranges = {&r, 1}}), 0u);
    EXPECT_EQ(take(*h).onloaded, to.size());
    h.reset();  // though its other work never ends
    int const after = c.calls;
    std::this_thread::sleep_for(1ms);
    EXPECT_EQ(c.calls, after);
}

TEST(onload_helper, is_called_back_from_other_work)
{
    gate g;
    auto const h = started({.idle = &gate::idle, .call_back = [](void* self) { static_cast<gate*>(self)->held = false; }, .context = &g});
    ASSERT_TRUE(becomes([&] { return g.inside.load(); }));
    bytes from(100000, 1);
    bytes to(100000);
    range const r{to.data(), from.data(), to.size()};
    ASSERT_NE(h->submit({.ranges = {&r, 1}}), 0u);
    EXPECT_EQ(take(*h).onloaded, to.size());
}

TEST(onload_helper, does_not_live_in_a_forked_child)
{
    auto h = started({});
    bytes from(1000, 1);
    bytes to(1000);
    range const r{to.data(), from.data(), to.size()};
    ASSERT_NE(h->submit({.ranges = {&r, 1}}), 0u);
    pid_t const child = fork();
    if (child == 0) {
        alarm(30);
        bool const fine = h->submit({.ranges = {&r, 1}}) == 0 && !h->help() && h->under_way() == 0;
        h.reset();  // waits for no thread
        _exit(fine ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(take(*h).bytes, 1000u);
    ASSERT_NE(h->submit({.ranges = {&r, 1}}), 0u);
    EXPECT_EQ(take(*h).bytes, 1000u);
}

} // namespace
