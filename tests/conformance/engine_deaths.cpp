// Deaths: at each phase of a message, in the simulated network by a seeded schedule and with processes by a real kill.

#include "conformance/engine_worlds.hpp"

#include <towline/error.hpp>

#include <csignal>
#include <cstring>

using namespace engine_worlds;
namespace heap = towline::heap;
namespace sim = towline::transport::sim;

namespace {

/// Completions run on any thread that polls. Who has seen both ends may destroy it.
struct tally {
    std::atomic<int> sent{0};
    std::atomic<int> delivered{0};
    std::atomic<int> failed{0};
    [[nodiscard]] bool over() const { return sent == 1 && delivered == 1; }
    static void on_sent(void* c, bool ok)
    {
        static_cast<tally*>(c)->failed += ok ? 0 : 1;
        ++static_cast<tally*>(c)->sent;
    }
    static void on_delivered(void* c, bool ok)
    {
        static_cast<tally*>(c)->failed += ok ? 0 : 1;
        ++static_cast<tally*>(c)->delivered;
    }
};

/// One peer of a simulated world that one thread drives, or a process, where handlers run on any thread that polls.
struct player {
    std::unique_ptr<eng::engine> engine;
    eng::handler_id id = 0;
    eng::handler_id kick = 0;
    std::function<void()> errand;
    std::atomic<std::uint64_t> handled{0};
    std::atomic<std::uint64_t> fetched{0};
    std::atomic<std::uint64_t> broken{0};
    std::atomic<std::uint64_t> begun{0};
    std::atomic<bool> wrong{false};

    std::vector<peer> buried() const
    {
        std::lock_guard const lock(mutex);
        return graves;
    }
    static void on_death(void* c, peer who)
    {
        auto& self = *static_cast<player*>(c);
        std::lock_guard const lock(self.mutex);
        self.graves.push_back(who);
    }

    struct landing {
        player* self;
        std::vector<std::byte> into;
        std::uint64_t seed;
    };
    static void on(void* context, eng::engine& e, eng::incoming& m)
    {
        auto& self = *static_cast<player*>(context);
        auto const dead = self.buried();
        ++self.handled;
        std::uint64_t words[2];
        std::memcpy(words, m.head().data(), sizeof words);
        if (std::find(dead.begin(), dead.end(), m.source()) == dead.end() && words[1] % 3 == 0) {
            try {
                std::uint64_t const answer[2] = {words[0], 1};
                e.send_small(m.source(), self.id, std::as_bytes(std::span(answer)));
            } catch (towline::peer_error const&) {
            }
        }
        if (m.blocks() == 0)
            return;
        ++self.begun;
        auto* l = new landing{&self, std::vector<std::byte>(m.block_size(0)), words[0]};
        m.fetch(0, l->into.data());
        eng::incoming::when_ready(
            std::move(m),
            [](void* c, bool ok, eng::incoming&) {
                std::unique_ptr<landing> const done(static_cast<landing*>(c));
                if (!ok)
                    ++done->self->broken;
                else if (filled(done->into.data(), done->into.size(), done->seed))
                    ++done->self->fetched;
                else
                    done->self->wrong = true;
            },
            l);
    }

private:
    mutable std::mutex mutex;
    std::vector<peer> graves;
};

class engine_deaths : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(over, engine_deaths, testing::Bool(), [](auto const& p) { return p.param ? "sim_get" : "sim"; });

// 200 peers, random messages, random deaths; one thread, so a seed repeats it all.
TEST_P(engine_deaths, two_hundred_peers_and_random_deaths)
{
    std::uint64_t const seed = test_seed();
    SCOPED_TRACE("TOWLINE_TEST_SEED=" + std::to_string(seed));
    std::fprintf(stderr, "seed %llu\n", static_cast<unsigned long long>(seed));
    bool const with_get = GetParam();
    EXPECT_EQ(ranks::status_of(ranks::spawn([seed, with_get] {
        constexpr peer size = 200;
        sim::options o;
        o.can_get = with_get;
        o.max_in_flight = 3;
        sim::network net(seed, size, o);
        std::mt19937_64 random(seed);
        std::deque<player> players(size);
        std::deque<tally> tallies;
        std::deque<std::vector<std::byte>> buffers;
        for (peer p = 0; p < size; ++p) {
            players[p].engine = std::make_unique<eng::engine>(setup_over(net, p, size));
            players[p].id = players[p].engine->add_handler(&player::on, &players[p]);
            players[p].kick = players[p].engine->add_handler(
                [](void* c, eng::engine&, eng::incoming&) { std::exchange(static_cast<player*>(c)->errand, nullptr)(); }, &players[p]);
            players[p].engine->on_death(&player::on_death, &players[p]);
        }
        std::vector<bool> dead(size, false);
        struct expected {
            peer from;
            peer to;
            tally* t;
        };
        std::vector<expected> all;
        for (int round = 0; round < 3000; ++round) {
            peer const from = static_cast<peer>(random() % size);
            if (dead[from])
                continue;
            // Mostly to a few, so that queues fill.
            peer const to = static_cast<peer>(random() % (random() % 4 == 0 ? size : 8));
            std::uint64_t const head[2] = {random(), random() % 100};
            auto& t = tallies.emplace_back();
            auto& b = buffers.emplace_back(random() % 3 == 0 ? 0 : random() % 5000);
            fill(b.data(), b.size(), head[0]);
            eng::block const block{b.data(), b.size(), random() % 2 == 0 ? eng::lending::lend : eng::lending::copy, false};
            for (auto& p : players) {
                if (random() % 4 == 0)
                    p.engine->progress();
            }
            // From a handler: a plain send would wait for room at a peer that this very thread drives.
            bool wrong = false;
            player& me = players[from];
            me.errand = [&] {
                try {
                    bool const bare = b.empty();
                    me.engine->send({.to = to, .handler = me.id, .head = std::as_bytes(std::span(head)),
                                     .blocks = bare ? std::span<eng::block const>{} : std::span(&block, 1),
                                     .sent = {&tally::on_sent, &t}, .delivered = {&tally::on_delivered, &t}});
                    all.push_back({from, to, &t});
                } catch (towline::peer_error const&) {
                    wrong = t.sent != 0 || t.delivered != 0;
                }
            };
            try {
                me.engine->send_small(from, me.kick, {});
            } catch (towline::peer_error const&) {
                continue;  // it is dead itself
            }
            for (int i = 0; i < 1000 && me.errand; ++i)
                me.engine->progress();
            me.errand = nullptr;
            require(!wrong, "a send that throws calls nothing");
            if (round % 100 == 99) {
                peer const victim = static_cast<peer>(random() % size);
                net.kill_at(victim, net.steps() + random() % 3000);
                dead[victim] = true;
            }
        }
        auto const over = [&] {
            for (auto const& e : all) {
                if (!net.is_dead(e.from) && !e.t->over())
                    return false;
            }
            for (peer p = 0; p < size; ++p) {
                if (!net.is_dead(p) && players[p].begun != players[p].fetched + players[p].broken)
                    return false;
            }
            return true;
        };
        for (int round = 0; round < 20000 && (round % 50 != 0 || !over()); ++round) {
            for (auto& p : players)
                p.engine->progress();
        }
        require(over(), "every message of the living ends");
        std::uint64_t fetched = 0;
        for (auto const& e : all) {
            require(e.t->sent <= 1 && e.t->delivered <= 1, "at most once");
            // Nothing fails between peers that live.
            if (!net.is_dead(e.from) && !net.is_dead(e.to))
                require(e.t->failed == 0, "failed without a death");
        }
        for (peer p = 0; p < size; ++p) {
            auto buried = players[p].buried();
            std::sort(buried.begin(), buried.end());
            require(std::adjacent_find(buried.begin(), buried.end()) == buried.end(), "buried twice");
            require(!players[p].wrong, "wrong bytes");
            fetched += players[p].fetched;
        }
        require(fetched > 100, "something was fetched");
        // The engines of the dead stopped in the middle; what they were fetching ends with them.
        for (auto& p : players) {
            p.engine.reset();
            require(p.begun == p.fetched + p.broken, "every fetch ends");
        }
    })), 0);
}

// What a peer said before it died is heard before its death.
TEST_P(engine_deaths, last_words_are_heard_first)
{
    bool const with_get = GetParam();
    EXPECT_EQ(ranks::status_of(ranks::spawn([with_get] {
        for (std::uint64_t seed = 1; seed < 30; ++seed) {
            sim::options o;
            o.can_get = with_get;
            sim::network net(seed, 2, o);
            std::deque<player> players(2);
            std::uint64_t handled_at_death = 0;
            struct at_death {
                player* self;
                std::uint64_t* handled;
            } context{&players[1], &handled_at_death};
            for (peer p = 0; p < 2; ++p) {
                players[p].engine = std::make_unique<eng::engine>(setup_over(net, p, 2));
                players[p].id = players[p].engine->add_handler(&player::on, &players[p]);
            }
            players[1].engine->on_death(
                [](void* c, peer) {
                    auto const& d = *static_cast<at_death*>(c);
                    *d.handled = d.self->handled;
                },
                &context);
            std::uint64_t const head[2] = {seed, 1};
            for (int i = 0; i < 20; ++i)
                players[0].engine->send_small(1, players[0].id, std::as_bytes(std::span(head)));
            net.kill(0);
            require(players[1].engine->wait([&] { return handled_at_death != 0; }, "a death", 20s), "the death is noticed");
            require(handled_at_death == 20, "all its words came first");
        }
    })), 0);
}

// Whoever always finds something to handle hears of a death, too.
TEST_P(engine_deaths, a_flood_of_others_hides_no_death)
{
    bool const with_get = GetParam();
    EXPECT_EQ(ranks::status_of(ranks::spawn([with_get] {
        sim::options o;
        o.can_get = with_get;
        o.max_delay = 0;
        sim::network net(1, 3, o);
        std::deque<player> players(3);
        for (peer p = 0; p < 3; ++p) {
            players[p].engine = std::make_unique<eng::engine>(setup_over(net, p, 3));
            players[p].id = players[p].engine->add_handler(&player::on, &players[p]);
            players[p].engine->on_death(&player::on_death, &players[p]);
        }
        net.kill(2);
        std::uint64_t const head[2] = {1, 1};
        for (std::uint64_t i = 1; i < 10000 && players[1].buried().empty(); ++i) {
            players[0].engine->send_small(1, players[0].id, std::as_bytes(std::span(head)));
            require(players[1].engine->progress() != 0 && players[1].handled == i, "there is always something to do");
        }
        require(players[1].buried() == std::vector<peer>{2}, "the death is noticed");
    })), 0);
}

// Processes: a receiver is killed while it holds lent blocks, a sender while its blocks are read.
TEST(engine_deaths_of_processes, killed_at_any_moment)
{
    std::mt19937_64 random(test_seed());
    for (int round = 0; round < 12; ++round) {
        auto const file = towline::job::create_job_file(3, {.segment_bytes = std::uint64_t{1} << 28, .keep_going = true});
        towline::job::control_view control(file.get());
        ranks::board const board;
        std::vector<pid_t> children;
        for (int r = 0; r < 3; ++r) {
            children.push_back(ranks::spawn_rank(file.get(), r, [&](int) {
                // Before the engine, whose background thread runs handlers and completions until it ends.
                player me;
                std::deque<tally> tallies;
                std::deque<std::vector<std::byte>> buffers;
                auto const e = eng::process_engine(round % 2 == 0);
                me.id = e->add_handler(&player::on, &me);
                e->on_death(&player::on_death, &me);
                towline::job::membership::instance().fence();
                board[2].fetch_add(1);
                std::uint64_t number = 0;
                std::vector<tally*> mine;
                auto const end_all = [&] {
                    auto const over = [&] { return std::all_of(mine.begin(), mine.end(), [](tally* x) { return x->over(); }); };
                    require(e->wait(over, "completions", 30s), "completions come, death or not");
                    mine.clear();
                    tallies.clear();
                    buffers.clear();
                };
                while (me.buried().empty() || number < 50) {
                    std::uint64_t const head[2] = {++number, number};
                    auto& t = tallies.emplace_back();
                    auto& b = buffers.emplace_back(number % 4 * 30000 + 8);
                    fill(b.data(), b.size(), number);
                    eng::block block{b.data(), b.size(), eng::lending::lend, number % 2 == 0};
                    if (number % 3 == 0) {
                        void* const p = heap::allocate(b.size());
                        std::memcpy(p, b.data(), b.size());
                        block = {p, b.size(), eng::lending::give, false};
                    }
                    peer const to = static_cast<peer>((e->rank() + 1 + number % 2) % 3);
                    try {
                        e->send({.to = to, .handler = me.id, .head = std::as_bytes(std::span(head)), .blocks = {&block, 1},
                                 .sent = {&tally::on_sent, &t}, .delivered = {&tally::on_delivered, &t}});
                        mine.push_back(&t);
                    } catch (towline::peer_error const&) {
                        require(t.sent == 0 && t.delivered == 0, "a send that throws calls nothing");
                    }
                    if (number % 16 == 0)
                        end_all();
                }
                end_all();
                require(e->drain(30s), "drain");
                require(me.buried() == std::vector<peer>{1} && !me.wrong, "one death, once");
                // Those who live wait for each other.
                board[3].fetch_add(1);
                require(e->wait([&] { return board[3].load() == 2; }, "the other", 30s), "the other");
            }));
        }
        board.wait(2, 3);
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
        kill(children[1], SIGKILL);
        int const status = ranks::status_of(children[1]);
        EXPECT_TRUE(WIFSIGNALED(status));
        control.mark_dead(1, status);
        EXPECT_EQ(ranks::status_of(children[0]), 0);
        EXPECT_EQ(ranks::status_of(children[2]), 0);
    }
}

} // namespace
