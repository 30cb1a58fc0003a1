// Helper threads: they copy what is left to them, make progress while nobody else does, and each byte is counted once.

#include "conformance/engine_worlds.hpp"

#include <cstring>
#include <optional>

#include <unistd.h>

using namespace engine_worlds;
namespace heap = towline::heap;

namespace {

/// Over threads, whatever TOWLINE_ONLOAD says; over processes where it says `on`.
class engine_onload : public every_fabric {
protected:
    static void with_helpers(peer size, body const& f, options o = {})
    {
        if (!maps(GetParam()))
            GTEST_SKIP() << "nothing is copied by its receiver";
        if (GetParam() == fabric::shm_processes && !onloaded())
            GTEST_SKIP() << "needs TOWLINE_ONLOAD=on";
        o.onload = true;
        run(size, f, o);
    }
};
EVERY_FABRIC(engine_onload);

constexpr std::size_t big = std::size_t{3} << 20;

struct arriving {
    std::vector<std::byte> into = std::vector<std::byte>(big);
    std::atomic<int> ended{0};
    std::atomic<bool> fine{false};
    std::atomic<bool> kept{false};
    bool at_once = true;  ///< the handler fetches; else it keeps the message
    std::optional<eng::incoming> message;

    static void on(void* context, eng::engine&, eng::incoming& m)
    {
        auto& self = *static_cast<arriving*>(context);
        if (self.at_once)
            return self.fetch(m);
        m.keep();
        self.message.emplace(std::move(m));
        self.kept = true;
    }
    void fetch(eng::incoming& m)
    {
        m.fetch(0, into.data(), eng::incoming::pace::may_lag);
        eng::incoming::when_ready(
            std::move(m),
            [](void* context, bool ok, eng::incoming&) {
                auto& self = *static_cast<arriving*>(context);
                self.fine = ok;
                ++self.ended;
            },
            this);
    }
};

/// Something to lend, in an arena or not.
struct lent {
    std::vector<std::byte> plain;
    void* data;
    std::atomic<int> sent{0};
    explicit lent(bool in_arena, std::uint64_t seed) : plain(in_arena ? 0 : big), data(in_arena ? heap::allocate(big) : plain.data())
    {
        fill(data, big, seed);
    }
    ~lent()
    {
        if (plain.empty())
            heap::deallocate(data);
    }
    void send(eng::engine& e, peer to, eng::handler_id id)
    {
        eng::block const b{data, big, eng::lending::lend, false};
        e.send({.to = to, .handler = id, .blocks = {&b, 1}, .sent = {[](void* n, bool ok) {
                                                                         auto& s = *static_cast<std::atomic<int>*>(n);
                                                                         s = ok ? 1 : -1;
                                                                     },
                                                                     &sent}});
    }
};

/// Waits without making progress.
bool becomes(std::function<bool()> const& condition)
{
    auto const end = std::chrono::steady_clock::now() + 60s;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end)
            return false;
        ::usleep(100);
    }
    return true;
}

TEST_P(engine_onload, a_transfer_goes_on_while_both_programs_compute)
{
    with_helpers(2, [](rank_context& c) {
        arriving a;
        auto const id = c.engine.add_handler(&arriving::on, &a);
        c.barrier();
        require(c.engine.onloads(), "a helper");
        int rounds = 0;
        std::uint64_t before = 0;
        for (bool const in_arena : {true, false}) {
            ++rounds;
            lent l(in_arena, c.rank + 5);
            l.send(c.engine, 1 - c.rank, id);
            c.engine.attend(eng::engine::transfer::receive);
            // From here on nobody but the helpers polls.
            require(becomes([&] { return a.ended == rounds && l.sent == 1; }), "nobody made progress");
            require(a.fine && filled(a.into.data(), big, 6 - c.rank), "bytes");
            c.engine.publish_counts();  // the helper may sleep before it does
            if (in_arena || c.counted(c.rank, counter::bytes_cma) != 0)
                require(c.counted(c.rank, counter::bytes_onloaded) > before, "the helper copied");
            before = c.counted(c.rank, counter::bytes_onloaded);  // behind the barrier the other rank sends, and it copies again
            c.barrier();
        }
        c.barrier();
        require(c.total(counter::bytes_copied_once) + c.total(counter::bytes_copied_twice) == 4 * big, "each byte is counted once");
        c.barrier();
    });
}

TEST_P(engine_onload, a_thread_that_goes_on_leaves_the_copy_to_the_helper)
{
    with_helpers(2, [](rank_context& c) {
        arriving a;
        a.at_once = false;
        auto const id = c.engine.add_handler(&arriving::on, &a);
        c.barrier();
        lent l(true, 7);
        if (c.rank == 0) {
            l.send(c.engine, 1, id);
            c.until([&] { return l.sent == 1; });
        } else {
            c.until([&] { return a.kept.load(); });
            a.fetch(*a.message);
            require(becomes([&] { return a.ended == 1; }), "the helper ends what it copied");
            require(a.fine && filled(a.into.data(), big, 7), "bytes");
            require(c.counted(1, counter::bytes_onloaded) == big, "all of it by the helper");
            require(c.counted(1, counter::bytes_mapped) == big && c.counted(1, counter::copied_once) == 1, "counted once");
        }
        c.barrier();
    });
}

TEST_P(engine_onload, whoever_waits_helps)
{
    with_helpers(2, [](rank_context& c) {
        arriving a;
        a.at_once = false;
        auto const id = c.engine.add_handler(&arriving::on, &a);
        c.barrier();
        for (int round = 0; round < 5; ++round) {
            lent l(round % 2 == 0, round);
            if (c.rank == 0) {
                l.send(c.engine, 1, id);
                c.until([&] { return l.sent == 1; });
            } else {
                std::fill(a.into.begin(), a.into.end(), std::byte{0});
                c.until([&] { return a.kept.load(); });
                a.kept = false;
                a.fetch(*a.message);
                c.until([&] { return a.ended == round + 1; }, "a fetch");
                require(a.fine && filled(a.into.data(), big, round), "bytes");
            }
            c.barrier();
        }
        require(c.total(counter::bytes_copied_once) + c.total(counter::bytes_copied_twice) == 5 * big, "each byte is counted once");
        require(c.total(counter::bytes_onloaded) <= 5 * big, "the helper's share");
        c.barrier();
    });
}

TEST_P(engine_onload, many_transfers_both_ways_with_waits_and_computation_between_them)
{
    with_helpers(3, [](rank_context& c) {
        constexpr int times = 60;
        struct count {
            std::uint64_t expected = 0;
            std::atomic<int> ended{0};
            std::atomic<int> wrong{0};
            std::mutex mutex;
            struct one {
                count* owner;
                std::vector<std::byte> into;
                std::uint64_t seed;
            };
            static void on(void* context, eng::engine&, eng::incoming& m)
            {
                auto& self = *static_cast<count*>(context);
                auto* const o = new one{&self, std::vector<std::byte>(m.block_size(0)), 0};
                std::memcpy(&o->seed, m.head().data(), sizeof o->seed);
                m.fetch(0, o->into.data(), eng::incoming::pace::may_lag);
                eng::incoming::when_ready(
                    std::move(m),
                    [](void* arg, bool ok, eng::incoming&) {
                        std::unique_ptr<one> const mine(static_cast<one*>(arg));
                        if (!ok || !filled(mine->into.data(), mine->into.size(), mine->seed))
                            ++mine->owner->wrong;
                        ++mine->owner->ended;
                    },
                    o);
            }
        } in;
        auto const id = c.engine.add_handler(&count::on, &in);
        c.barrier();
        std::mt19937 random(static_cast<unsigned>(test_seed()) + c.rank);
        std::atomic<int> sent{0};
        std::deque<std::vector<std::byte>> out;
        for (int i = 0; i < times; ++i) {
            std::uint64_t const seed = random();
            out.emplace_back(random() % 300000 + 1);
            fill(out.back().data(), out.back().size(), seed);
            eng::block const b{out.back().data(), out.back().size(), i % 5 == 0 ? eng::lending::copy : eng::lending::lend, false};
            c.engine.send({.to = (c.rank + 1 + i % 2) % 3, .handler = id, .head = std::as_bytes(std::span(&seed, 1)), .blocks = {&b, 1},
                           .sent = {[](void* n, bool) { ++*static_cast<std::atomic<int>*>(n); }, &sent}});
            switch (random() % 4) {
            case 0: c.engine.attend(eng::engine::transfer::receive); break;
            case 1: ::usleep(static_cast<unsigned>(random() % 300)); break;
            case 2: (void)c.engine.progress(); break;
            default: break;
            }
        }
        c.until([&] { return sent == times && in.ended == times; });
        require(in.wrong == 0, "bytes");
        c.barrier();
    });
}

TEST_P(engine_onload, an_engine_ends_with_copies_under_way)
{
    if (GetParam() != fabric::shm_threads)
        GTEST_SKIP() << "once is enough";
    with_helpers(2, [](rank_context& c) {
        static std::atomic<int> ends;  // of a forked child
        struct keeper {
            std::deque<eng::incoming> kept;
            std::atomic<int> count{0};
            static void on(void* context, eng::engine&, eng::incoming& m)
            {
                m.keep();
                auto& self = *static_cast<keeper*>(context);
                self.kept.push_back(std::move(m));
                ++self.count;
            }
        };
        static std::deque<keeper> keepers(2);  // they outlive the engines
        static std::vector<std::byte> into(big * 4);
        auto const id = c.engine.add_handler(&keeper::on, &keepers[c.rank]);
        c.barrier();
        if (c.rank == 0) {
            std::vector<void*> blocks;
            for (int i = 0; i < 4; ++i) {
                void* const data = heap::allocate(big);
                fill(data, big, i);
                eng::block const b{data, big, eng::lending::give, false};
                c.engine.send({.to = 1, .handler = id, .blocks = {&b, 1}});
            }
        } else {
            c.until([&] { return keepers[1].count == 4; });
            for (int i = 0; i < 4; ++i) {
                auto& m = keepers[1].kept[i];
                m.fetch(0, into.data() + i * big, eng::incoming::pace::may_lag);
                eng::incoming::when_ready(std::move(m), [](void*, bool, eng::incoming&) { ++ends; }, nullptr);
            }
        }
        c.barrier();
        if (c.rank == 1) {
            c.engine.close();
            std::atexit([] {
                if (ends != 4)
                    ::_exit(9);
            });
        }
    });
}

} // namespace
