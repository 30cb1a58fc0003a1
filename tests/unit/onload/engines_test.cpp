// What every copy engine promises, over each of them.

#include "onload/helper_engine.hpp"
#include "onload/inline_engine.hpp"
#include "unit/onload/peer_process.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace towline::onload;
using bytes = std::vector<unsigned char>;

struct subject {
    char const* name;
    std::unique_ptr<copy_engine> (*make)();
    std::size_t room;
};

constexpr std::uint32_t slots = 16;

std::unique_ptr<copy_engine> helper_of(std::uint64_t chunk)
{
    std::string why;
    auto made = start_helper({.slots = slots, .chunk = chunk}, why);
    EXPECT_EQ(why, "");
    return made;
}

class copy_engines : public testing::TestWithParam<subject> {
protected:
    std::unique_ptr<copy_engine> engine = GetParam().make();

    completion next()
    {
        completion c;
        auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (engine->poll({&c, 1}) == 0) {
            if (std::chrono::steady_clock::now() > end) {
                ADD_FAILURE() << "waited in vain for the end of a task";
                return c;
            }
            sched_yield();
        }
        return c;
    }
    ticket put(task const& t)
    {
        ticket n = 0;
        while ((n = engine->submit(t)) == 0)
            sched_yield();
        return n;
    }
};

bytes numbered(std::size_t n, unsigned seed)
{
    bytes b(n);
    std::minstd_rand r(seed + 1);
    for (auto& x : b)
        x = static_cast<unsigned char>(r() >> 8);
    return b;
}

TEST_P(copy_engines, move_a_range_and_tell_its_end_once)
{
    for (std::size_t const size : {std::size_t{0}, std::size_t{1}, std::size_t{4095}, std::size_t{4096}, std::size_t{1} << 20, std::size_t{3000001}}) {
        bytes const from = numbered(size, 1);
        bytes to(size);
        int mine = 0;
        ticket n = 0;
        {
            range const r{to.data(), from.data(), size};
            n = put({.ranges = {&r, 1}, .context = &mine});  // the description of a single range may go at once
        }
        completion const c = next();
        EXPECT_EQ(c.number, n);
        EXPECT_EQ(c.context, &mine);
        EXPECT_EQ(c.error, 0);
        EXPECT_EQ(c.bytes, size);
        EXPECT_EQ(c.onloaded, engine->caps().own_pace ? size : 0);
        EXPECT_EQ(to, from);
        EXPECT_EQ(engine->under_way(), 0u);
        EXPECT_FALSE(engine->ready());
        completion none;
        EXPECT_EQ(engine->poll({&none, 1}), 0u);
    }
}

TEST_P(copy_engines, move_lists_with_ranges_of_any_size)
{
    unsigned const seed = std::random_device{}();
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    for (int round = 0; round < 20; ++round) {
        std::size_t const count = random() % 3000;  // from none at all to far more than a system call takes
        bytes const from = numbered(1 << 20, static_cast<unsigned>(round));
        bytes to(from.size());
        std::vector<range> list;
        std::size_t at = 0;
        std::size_t total = 0;
        bytes expected(from.size());
        for (std::size_t i = 0; i < count && at < from.size(); ++i) {
            std::size_t const n = std::min<std::size_t>(random() % 8 == 0 ? random() % 20000 : random() % 100, from.size() - at);
            list.push_back({to.data() + at, from.data() + at, n});
            std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at), n, expected.begin() + static_cast<std::ptrdiff_t>(at));
            total += n;
            at += n + random() % 50;
        }
        (void)put({.ranges = list});
        completion const c = next();
        EXPECT_EQ(c.error, 0);
        EXPECT_EQ(c.bytes, total);
        EXPECT_EQ(to, expected);
    }
}

TEST_P(copy_engines, say_busy_when_full_and_go_on_after_a_poll)
{
    bytes const from = numbered(100, 3);
    bytes to(100);
    range const r{to.data(), from.data(), to.size()};
    for (int round = 0; round < 5; ++round) {
        std::map<ticket, int> seen;
        for (std::size_t i = 0; i < GetParam().room; ++i) {
            ticket const n = engine->submit({.ranges = {&r, 1}});
            ASSERT_NE(n, 0u) << i;
            seen[n] = 0;
        }
        EXPECT_EQ(engine->submit({.ranges = {&r, 1}}), 0u);
        EXPECT_EQ(engine->under_way(), GetParam().room);
        while (engine->under_way() != 0)
            ++seen[next().number];
        EXPECT_EQ(seen.size(), GetParam().room);
        for (auto const& [n, times] : seen)
            EXPECT_EQ(times, 1) << n;
    }
}

TEST_P(copy_engines, take_tasks_of_many_threads)
{
    constexpr int submitters = 4;
    constexpr int each = 300;
    unsigned const seed = std::random_device{}();
    SCOPED_TRACE(seed);
    struct job {
        bytes from;
        bytes to;
        int ends = 0;
    };
    std::vector<std::vector<job>> jobs(submitters);
    std::vector<std::thread> threads;
    for (int t = 0; t < submitters; ++t) {
        for (int i = 0; i < each; ++i)
            jobs[t].push_back({numbered((i * 7919u) % 20000, seed + static_cast<unsigned>(i)), bytes((i * 7919u) % 20000), 0});
        threads.emplace_back([&, t] {
            for (job& j : jobs[t]) {
                range const r{j.to.data(), j.from.data(), j.to.size()};
                (void)put({.ranges = {&r, 1}, .context = &j});
            }
        });
    }
    for (int left = submitters * each; left != 0; --left) {
        if (left % 3 == 0)
            engine->help();
        completion const c = next();
        ASSERT_NE(c.context, nullptr);
        job& j = *static_cast<job*>(c.context);
        ++j.ends;
        ASSERT_EQ(j.to, j.from);
    }
    for (auto& t : threads)
        t.join();
    for (auto const& list : jobs)
        for (auto const& j : list)
            ASSERT_EQ(j.ends, 1);
    EXPECT_EQ(engine->under_way(), 0u);
}

TEST_P(copy_engines, read_and_write_memory_of_another_process)
{
    peer_process const peer(std::size_t{1} << 20);
    if (!peer.readable())
        GTEST_SKIP() << "process_vm_readv is refused here";
    bytes here(peer.size());
    range const all{here.data(), peer.address(), here.size()};
    (void)put({.ranges = {&all, 1}, .where = reach::reads_peer, .pid = peer.pid()});
    completion c = next();
    EXPECT_EQ(c.error, 0);
    EXPECT_EQ(c.bytes, here.size());
    for (std::size_t i = 0; i < here.size(); ++i)
        ASSERT_EQ(here[i], peer_process::pattern(i)) << i;

    // 700 scattered pieces, written there and read back.
    bytes const fresh = numbered(peer.size(), 9);
    bytes back(peer.size());
    std::vector<range> there;
    std::vector<range> again;
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < 700; ++i) {
        std::size_t const at = i * 1400;
        std::size_t const n = i % 1300;
        there.push_back({static_cast<char*>(peer.address()) + at, fresh.data() + at, n});
        again.push_back({back.data() + at, static_cast<char*>(peer.address()) + at, n});
        total += n;
    }
    (void)put({.ranges = there, .where = reach::writes_peer, .pid = peer.pid()});
    c = next();
    EXPECT_EQ(c.error, 0);
    EXPECT_EQ(c.bytes, total);
    (void)put({.ranges = again, .where = reach::reads_peer, .pid = peer.pid()});
    EXPECT_EQ(next().bytes, total);
    for (std::size_t i = 0; i < 700; ++i)
        ASSERT_EQ(std::memcmp(back.data() + i * 1400, fresh.data() + i * 1400, i % 1300), 0) << i;
}

TEST_P(copy_engines, tell_what_could_not_be_moved)
{
    peer_process const peer(std::size_t{64} << 10);
    if (!peer.readable())
        GTEST_SKIP() << "process_vm_readv is refused here";
    // The peer's memory ends in the middle of what is asked for.
    bytes here(peer.size() * 2);
    std::size_t const from = peer.size() - 6000;
    range const beyond{here.data(), static_cast<char*>(peer.address()) + from, 60000};
    (void)put({.ranges = {&beyond, 1}, .where = reach::reads_peer, .pid = peer.pid()});
    completion const c = next();
    EXPECT_EQ(c.error, EFAULT);
    EXPECT_LE(c.bytes, 6000u);
    // A process that is not there.
    pid_t const gone = fork();
    if (gone == 0)
        _exit(0);
    ASSERT_EQ(waitpid(gone, nullptr, 0), gone);
    range const some{here.data(), peer.address(), 1000};
    (void)put({.ranges = {&some, 1}, .where = reach::reads_peer, .pid = gone});
    completion const d = next();
    EXPECT_EQ(d.error, ESRCH);
    EXPECT_EQ(d.bytes, 0u);
}

TEST_P(copy_engines, stop_with_work_under_way)
{
    std::size_t const size = std::size_t{8} << 20;
    bytes const from(size, 7);
    std::vector<bytes> to(6, bytes(size));
    std::map<ticket, std::size_t> which;
    for (std::size_t i = 0; i < to.size(); ++i) {
        range const r{to[i].data(), from.data(), size};
        which[put({.ranges = {&r, 1}})] = i;
    }
    engine->stop();
    range const r{to[0].data(), from.data(), size};
    EXPECT_EQ(engine->submit({.ranges = {&r, 1}}), 0u);
    std::vector<completion> ends(10);
    std::size_t const told = engine->poll(ends);
    EXPECT_EQ(told, to.size());
    for (std::size_t i = 0; i < told; ++i) {
        completion const& c = ends[i];
        ASSERT_EQ(which.count(c.number), 1u);
        bytes const& copy = to[which[c.number]];
        EXPECT_TRUE(c.error == 0 || c.error == ECANCELED) << c.error;
        EXPECT_EQ(copy == from, c.error == 0);
        EXPECT_EQ(static_cast<std::uint64_t>(std::count(copy.begin(), copy.end(), 7)), c.bytes);
        which.erase(c.number);
    }
    EXPECT_EQ(engine->under_way(), 0u);
    engine->stop();
}

TEST_P(copy_engines, end_with_ends_that_nobody_polled)
{
    bytes const from(1 << 20, 7);
    bytes to(1 << 20);
    range const r{to.data(), from.data(), to.size()};
    for (int i = 0; i < 5; ++i)
        (void)put({.ranges = {&r, 1}});
    engine.reset();
}

std::string name_of(testing::TestParamInfo<subject> const& p) { return p.param.name; }

INSTANTIATE_TEST_SUITE_P(
    over, copy_engines,
    testing::Values(subject{"inline", &make_inline, 64},
                    subject{"helper", +[] { return helper_of(128 * 1024); }, slots},
                    subject{"helper_of_small_chunks", +[] { return helper_of(1024); }, slots}),
    name_of);

} // namespace
