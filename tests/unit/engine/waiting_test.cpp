// Waiting, waking, taking over, forks; and what happens when the kernel stops letting us read a peer's memory.

#include "base/note.hpp"
#include "engine/process_engine.hpp"
#include "heap/heap.hpp"
#include "job/job.hpp"
#include "unit/engine/scripted.hpp"
#include "unit/heap/ranks.hpp"

#include "engine/wire.hpp"

#include <towline/error.hpp>

#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <optional>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

namespace eng = towline::engine;
namespace wire = towline::engine::wire;
namespace job = towline::job;
using namespace std::chrono_literals;
using scripted::peer;

namespace {

double cpu_seconds()
{
    rusage u{};
    getrusage(RUSAGE_SELF, &u);
    return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

struct one_rank {
    towline::base::event_count event;
    scripted::script script;
    std::array<char, 192> waiting_for{};
    std::array<std::atomic<std::uint64_t>, 32> counters{};
    std::unique_ptr<eng::engine> engine;
    std::atomic<int> handled{0};
    std::atomic<bool> echoes{false};  ///< each message brings the next
    eng::handler_id id = 0;

    explicit one_rank(bool background, bool oversubscribed = true, std::uint32_t cores = 0)
    {
        eng::setup s;
        s.size = 2;
        s.transports.push_back(std::make_unique<scripted::component>(script));
        s.event = &event;
        s.waiting_for = waiting_for;
        s.counters = counters;
        s.background = background;
        s.oversubscribed = oversubscribed;
        s.cores = cores;
        engine = std::make_unique<eng::engine>(std::move(s));
        auto const handler = [](void* c, eng::engine&, eng::incoming&) {
            auto& r = *static_cast<one_rank*>(c);
            ++r.handled;
            if (r.echoes)
                r.arrive();
        };
        id = engine->add_handler(handler, this);
    }
    void arrive()
    {
        script.arrive(1, wire::first_direct + id, {});
        event.notify(towline::base::fence_side::notifier_fences);
    }
    [[nodiscard]] std::uint64_t sleeps() const { return counters[static_cast<std::size_t>(job::counter::sleeps)].load(); }
};

TEST(engine_wait, a_sleeper_wakes_for_a_message_and_says_what_it_waits_for)
{
    one_rank r(false);
    std::thread t([&] {
        while (r.sleeps() == 0)
            std::this_thread::sleep_for(1ms);
        char seen[192];
        for (std::size_t i = 0; i < sizeof seen; ++i)
            seen[i] = __atomic_load_n(&r.waiting_for[i], __ATOMIC_RELAXED);
        EXPECT_STREQ(seen, "the first message");
        r.arrive();
    });
    EXPECT_TRUE(r.engine->wait([&] { return r.handled == 1; }, "the first message", 60s));
    t.join();
    EXPECT_EQ(r.waiting_for[0], '\0');
}

TEST(engine_wait, the_background_thread_leaves_the_note_of_others_alone)
{
    one_rank r(true);
    towline::base::write_note(r.waiting_for, "a fence");
    while (r.sleeps() == 0)
        std::this_thread::sleep_for(1ms);
    std::uint64_t const before = r.sleeps();
    r.arrive();
    while (r.handled == 0 || r.sleeps() == before)
        std::this_thread::sleep_for(1ms);
    EXPECT_STREQ(r.waiting_for.data(), "a fence");
}

TEST(engine_wait, a_sleeper_wakes_for_notify)
{
    one_rank r(false);
    std::atomic<bool> go{false};
    std::thread t([&] {
        while (r.sleeps() == 0)
            std::this_thread::sleep_for(1ms);
        go = true;
        r.engine->notify();
    });
    EXPECT_TRUE(r.engine->wait([&] { return go.load(); }, "go", 60s));
    t.join();
}

// Whoever polls may leave at any moment: somebody else must notice what comes next.
TEST(engine_wait, waiters_hand_the_polling_on)
{
    one_rank r(false);
    constexpr int messages = 400;
    constexpr int waiters = 4;
    std::vector<std::thread> threads;
    std::atomic<int> next{0};
    for (int t = 0; t < waiters; ++t) {
        threads.emplace_back([&, t] {
            // Waiter t leaves after messages t, t + 4, ...: the one that polls changes all the time.
            for (int n = t + 1; n <= messages; n += waiters)
                EXPECT_TRUE(r.engine->wait([&] { return r.handled >= n; }, "its turn", 60s));
            ++next;
        });
    }
    for (int n = 1; n <= messages; ++n) {
        r.arrive();
        if (n % 16 == 0)
            std::this_thread::sleep_for(1ms);
    }
    for (auto& t : threads)
        t.join();
    EXPECT_EQ(r.handled, messages);
}

/// A wait for message `number`, whose handler wakes its thread.
struct own_wait : eng::wait_detail {
    std::atomic<eng::berth*> told{nullptr};
    std::atomic<int> withdrawn{0};
    own_wait() noexcept
    {
        announce = [](eng::wait_detail const& self, eng::berth& b) noexcept {
            const_cast<own_wait&>(static_cast<own_wait const&>(self)).told = &b;
            return true;
        };
        withdraw = [](eng::wait_detail const& self) noexcept {
            auto& me = const_cast<own_wait&>(static_cast<own_wait const&>(self));
            me.told = nullptr;
            ++me.withdrawn;
        };
    }
};

// One thread waits for everything that comes and sleeps where senders wake it; another waits for one thing, asleep in its berth. What is not
// for it must not wake it; when nobody else is left, it polls.
TEST(engine_wait, a_thread_in_its_berth_sleeps_through_what_is_not_for_it)
{
    for (std::uint32_t const cores : {1U, 1000U}) {
        one_rank r(false, true, cores);
        constexpr int messages = 100;
        std::atomic<bool> go{false};
        std::atomic<int> looks{0};
        own_wait about;
        std::thread other([&] { EXPECT_TRUE(r.engine->wait([&] { return r.handled >= messages; }, "all", 60s)); });
        while (r.sleeps() == 0)
            std::this_thread::sleep_for(1ms);
        std::thread own([&] {
            auto const ready = [&] {
                ++looks;
                return go.load() || r.handled > messages;
            };
            EXPECT_TRUE(r.engine->wait(ready, "its own", 60s, &about));
            EXPECT_TRUE(r.engine->wait([&] { return r.handled > messages; }, "one more", 60s, &about));
        });
        while (about.told == nullptr)
            std::this_thread::sleep_for(1ms);
        std::this_thread::sleep_for(5ms);
        int const before = looks;
        for (int n = 1; n < messages; ++n) {
            std::uint64_t const slept = r.sleeps();
            r.arrive();
            while (r.handled < n || r.sleeps() == slept)
                std::this_thread::sleep_for(200us);
        }
        EXPECT_LT(looks - before, messages * 50) << "it spins anew for every message";
        eng::berth* const b = about.told;
        go = true;
        if (b != nullptr)
            r.engine->wake(*b);
        while (about.withdrawn == 0)
            std::this_thread::sleep_for(1ms);
        while (about.told == nullptr)  // it waits for one more
            std::this_thread::sleep_for(1ms);
        r.arrive();  // the other one leaves
        other.join();
        r.arrive();
        own.join();
        EXPECT_EQ(r.handled, messages + 1);
    }
}

// A program that waits for a message and then goes on without us: its sender must not be left to wait for what found no room.
TEST(engine_wait, who_leaves_sees_off_what_is_queued)
{
    one_rank r(false);
    struct answering {
        one_rank* r;
        eng::handler_id id = 0;
    } answer{&r};
    answer.id = r.engine->add_handler(
        [](void* c, eng::engine& e, eng::incoming&) {
            auto const& a = *static_cast<answering*>(c);
            ++a.r->handled;
            e.send_small(1, a.id, {});
        },
        &answer);
    auto const wait_for = [&](int number, auto&& last) {
        r.script.arrive(1, wire::first_direct + answer.id, {});
        r.script.busy = true;
        return r.engine->wait([&] { return r.handled == number && last(); }, "a question", 60s);
    };
    auto const make_room = [&] {
        EXPECT_TRUE(r.script.sent.size() < static_cast<std::size_t>(r.handled));
        r.script.busy = false;  // at the last look of this wait
        return true;
    };
    EXPECT_TRUE(wait_for(1, make_room));
    EXPECT_EQ(r.script.sent.size(), 1U);
    // A peer that is away is waited for once.
    EXPECT_TRUE(wait_for(2, [] { return true; }));
    EXPECT_TRUE(wait_for(3, make_room));
    EXPECT_EQ(r.script.sent.size(), 1U);
    // Until it is back.
    r.engine->progress();
    EXPECT_EQ(r.script.sent.size(), 3U);
    EXPECT_TRUE(wait_for(4, make_room));
    EXPECT_EQ(r.script.sent.size(), 4U);
}

// Both may spin for long, as far as they know, and each would do so while the other is the one to answer.
TEST(engine_wait, two_on_one_core_find_out_and_give_way)
{
    struct side {
        one_rank rank{false, false};
        std::uint64_t polls = 0;
    };
    std::array<side, 2> sides;
    for (side& s : sides) {
        s.rank.engine->on_poll([](void* polls) { return ++*static_cast<std::uint64_t*>(polls), 0; }, &s.polls);
        s.rank.engine->ask_polls(1);
    }
    cpu_set_t allowed, first;
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    CPU_ZERO(&first);
    for (int c = 0; c < CPU_SETSIZE && CPU_COUNT(&first) == 0; ++c)
        if (CPU_ISSET(c, &allowed))
            CPU_SET(c, &first);
    constexpr int trips = 300;
    auto const play = [&](std::size_t me) {
        ASSERT_EQ(sched_setaffinity(0, sizeof first, &first), 0);
        for (int i = 1; i <= trips; ++i) {
            if (me == 0)
                sides[1].rank.arrive();
            ASSERT_TRUE(sides[me].rank.engine->wait([&] { return sides[me].rank.handled == i; }, "the other", 60s));
            if (me == 1)
                sides[0].rank.arrive();
        }
    };
    std::thread one(play, 0), other(play, 1);
    one.join();
    other.join();
    EXPECT_LT(sides[0].polls + sides[1].polls, 2 * trips * std::uint64_t{eng::thresholds::spins} / 4);
}

TEST(engine_wait, a_long_wait_costs_little)
{
    for (bool const oversubscribed : {false, true}) {
        one_rank r(true, oversubscribed);
        double const before = cpu_seconds();
        EXPECT_FALSE(r.engine->wait([] { return false; }, "nothing", 500ms));
        // The promise is 2 % of a core; a machine under load and sanitizers get room. A spin would be 100 %.
        EXPECT_LT(cpu_seconds() - before, 0.15);
    }
}

TEST(engine_background, answers_while_nobody_polls_and_idles_for_free)
{
    one_rank r(true);
    for (int n = 1; n <= 20; ++n) {
        r.arrive();
        auto const end = std::chrono::steady_clock::now() + 30s;
        while (r.handled < n && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(100us);
        ASSERT_EQ(r.handled, n);
        if (n % 5 == 0) {
            EXPECT_FALSE(r.engine->wait([] { return false; }, "nothing", 3ms));
        }
    }
    std::this_thread::sleep_for(20ms);
    auto const sleeps = r.sleeps();
    double const before = cpu_seconds();
    std::this_thread::sleep_for(300ms);
    EXPECT_LE(r.sleeps(), sleeps + 2);
    EXPECT_LT(cpu_seconds() - before, 0.05);
}

TEST(engine_background, gives_way_to_a_waiter)
{
    one_rank r(true);
    for (int n = 1; n <= 200; ++n) {
        std::thread t([&] {
            if (n % 3 == 0)
                std::this_thread::sleep_for(200us);
            r.arrive();
        });
        EXPECT_TRUE(r.engine->wait([&] { return r.handled >= n; }, "a message", 60s));
        t.join();
    }
}

TEST(engine_background, gives_way_to_one_look)
{
    one_rank r(true);
    r.echoes = true;
    r.arrive();
    int found = 0;
    int const looks = 20;
    for (int i = 0; i < looks; ++i) {
        int const seen = r.handled;
        auto const end = std::chrono::steady_clock::now() + 30s;
        while (r.handled < seen + 100 && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(100us);
        EXPECT_GE(r.handled, seen + 100) << "the background thread polls, and finds something each time";
        found += r.engine->progress() != 0 ? 1 : 0;
    }
    r.echoes = false;
    // Not all: the machine may keep that thread from running for longer than a look waits for it.
    EXPECT_GT(found, looks / 2);
}

TEST(engine_fork, a_child_is_refused_and_harms_nothing)
{
    EXPECT_EQ(ranks::status_of(ranks::spawn([] {
        one_rank r(true);
        r.engine->send_small(1, r.id, {});
        for (int i = 0; i < 50; ++i) {  // the background thread learns to nap, and naps when the fork comes
            r.engine->progress();
            std::this_thread::sleep_for(100us);
        }
        pid_t const child = fork();
        if (child == 0) {
            int refused = 0;
            auto const attempt = [&](auto&& f) {
                try {
                    f();
                } catch (towline::usage_error const& e) {
                    refused += std::strstr(e.what(), "forked") != nullptr;
                }
            };
            attempt([&] { r.engine->send_small(1, r.id, {}); });
            attempt([&] { r.engine->send({.to = 1, .handler = r.id}); });
            attempt([&] { (void)r.engine->wait([] { return false; }, "nothing"); });
            attempt([&] { (void)r.engine->add_handler(nullptr, nullptr); });
            if (r.engine->progress() != 0)
                refused = 0;
            r.engine.reset();
            _exit(refused == 4 ? 0 : 1);
        }
        CHECK_THAT(ranks::status_of(child) == 0);
        r.arrive();
        CHECK_THAT(r.engine->wait([&] { return r.handled == 1; }, "a message", 60s));
        r.engine->send_small(1, r.id, {});
        CHECK_THAT(r.script.sent.size() == 2);
    })), 0);
}

TEST(engine_end, threads_that_call_too_late_are_told)
{
    one_rank r(true);
    std::atomic<bool> told{false};
    std::atomic<bool> begun{false};
    std::thread t([&] {
        try {
            (void)r.engine->wait([&] {
                begun = true;
                return false;
            }, "for ever");
        } catch (towline::usage_error const&) {
            told = true;
        }
        EXPECT_THROW(r.engine->send_small(1, r.id, {}), towline::usage_error);
    });
    while (!begun)
        sched_yield();
    std::this_thread::sleep_for(5ms);
    r.engine->close();
    t.join();
    EXPECT_TRUE(told);
}

/// From now on the kernel refuses process_vm_readv to this process, to all its threads.
void refuse_reads(unsigned code)
{
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog const program{4, filter};
    CHECK_THAT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK_THAT(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
}

struct fetcher {
    std::vector<std::byte> into;
    bool ok = false;
    std::atomic<bool> ended{false};  ///< a helper thread may receive, and be told that something was sent
    static void note(void* flag, bool ok) { *static_cast<std::atomic<bool>*>(flag) = ok; }
    static void on(void* c, eng::engine&, eng::incoming& m)
    {
        auto& self = *static_cast<fetcher*>(c);
        self.into.assign(m.block_size(0), std::byte{0});
        m.fetch(0, self.into.data());
        eng::incoming::when_ready(
            std::move(m),
            [](void* x, bool came, eng::incoming&) {
                static_cast<fetcher*>(x)->ok = came;
                static_cast<fetcher*>(x)->ended = true;
            },
            c);
    }
};

// The probe passed, then a filter came: the data take another way and nothing is lost.
TEST(engine_attach, refused_at_run_time)
{
    for (unsigned const code : {EPERM, ENOSYS}) {
        ranks::board const board;
        ranks::run(2, std::uint64_t{1} << 28, [&](int rank) {
            auto const e = eng::process_engine(false);
            fetcher f;
            auto const id = e->add_handler(&fetcher::on, &f);
            if (rank == 1)
                refuse_reads(code);  // before anything comes that a helper thread might receive by itself
            job::membership::instance().fence();
            std::vector<std::byte> data(300000, std::byte{0});
            for (std::size_t i = 0; i < data.size(); ++i)
                data[i] = static_cast<std::byte>(i * 7 + i / 1000);
            if (rank == 0) {
                std::atomic<bool> sent{false};
                eng::block const b{data.data(), data.size(), eng::lending::lend, false};
                e->send({.to = 1, .handler = id, .blocks = {&b, 1}, .sent = {&fetcher::note, &sent}});
                CHECK_THAT(e->wait([&] { return sent.load(); }, "sent", 60s));
            } else {
                CHECK_THAT(e->wait([&] { return f.ended.load(); }, "the fetch", 60s));
                CHECK_THAT(f.ok && f.into == data);
                auto const& counters = job::membership::instance().self().counters;
                CHECK_THAT(counters[static_cast<std::size_t>(job::counter::bytes_cma)] == 0);
                CHECK_THAT(counters[static_cast<std::size_t>(job::counter::bytes_copied_twice)] == data.size());
            }
            CHECK_THAT(e->drain(30s));
            job::membership::instance().fence();
        });
    }
}

// Lent memory that is not there fails the fetch, not the program.
TEST(engine_attach, memory_that_is_gone)
{
    ranks::run(2, std::uint64_t{1} << 28, [&](int rank) {
        auto const e = eng::process_engine(false);
        auto sizes = eng::thresholds::sizes{};
        sizes.push_most = 1;  // a sender that pushes looks at it itself
        e->set_sizes(sizes);
        fetcher f;
        auto const id = e->add_handler(&fetcher::on, &f);
        job::membership::instance().fence();
        if (rank == 0) {
            std::atomic<bool> sent{false};
            auto* const gone = static_cast<std::byte*>(mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
            munmap(gone + (1 << 19), 1 << 19);
            eng::block const b{gone, 1 << 20, eng::lending::lend, false};
            if (eng::engine::probe_cross_memory_attach(getpid(), &sent, 1)) {
                e->send({.to = 1, .handler = id, .blocks = {&b, 1}, .sent = {&fetcher::note, &sent}});
                CHECK_THAT(e->wait([&] { return sent.load(); }, "sent", 60s));
            }
        } else if (eng::engine::may_read_memory_of(job::membership::instance().slot(0).pid)) {
            CHECK_THAT(e->wait([&] { return f.ended.load(); }, "the fetch", 60s));
            CHECK_THAT(!f.ok);
        }
        job::membership::instance().fence();
        CHECK_THAT(e->drain(30s));
        job::membership::instance().fence();
    });
}

} // namespace
