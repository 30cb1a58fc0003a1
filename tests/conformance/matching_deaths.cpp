// What waits for a peer that dies ends.

#include "conformance/matching_worlds.hpp"

#include <towline/error.hpp>

#include <csignal>

using namespace matching_worlds;
namespace sim = towline::transport::sim;

namespace {

class matching_deaths : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(over, matching_deaths, testing::Bool(), [](auto const& p) { return p.param ? "sim_get" : "sim"; });

bool everybody(void*, peer)
{
    return true;
}
bool not_the_first(void*, peer p)
{
    return p != 0;
}

TEST_P(matching_deaths, everything_for_the_dead_ends)
{
    bool const with_get = GetParam();
    EXPECT_EQ(ranks::status_of(ranks::spawn([with_get] {
        for (std::uint64_t seed = 1; seed < 20; ++seed) {
            sim::options o;
            o.can_get = with_get;
            sim::network net(seed, 3, o);
            std::vector<std::unique_ptr<match::matcher>> matchers(3);
            std::vector<std::unique_ptr<eng::engine>> engines;
            for (peer p = 0; p < 3; ++p) {
                engines.push_back(std::make_unique<eng::engine>(setup_over(net, p, 3)));
                matchers[p] = std::make_unique<match::matcher>(*engines[p], match::options{.threaded = seed % 2 == 0});
            }
            match::matcher& m = *matchers[1];
            m.set_members(5, &everybody, nullptr);
            m.set_members(6, &not_the_first, nullptr);
            std::vector<std::byte> big(50000);
            std::uint64_t in[8] = {};
            std::uint64_t v = 7;
            // Its last words, which come before its death.
            matchers[0]->send(1, {5, 0, 1}, &v, 8);
            match::request lent_by_dead;
            matchers[0]->start_send(lent_by_dead, 1, {5, 0, 2}, big.data(), big.size());

            std::deque<match::request> r(7);
            m.start_receive(r[0], {5, 0, 9}, 0, {&in[0], 8});               // from the dead: ends
            m.start_receive(r[1], {5, any_source, 9}, no_peer, {&in[1], 8}); // it might have been the dead: ends
            m.start_receive(r[2], {6, any_source, 9}, no_peer, {&in[2], 8}); // its context has no dead: waits
            m.start_receive(r[3], {7, any_source, 9}, no_peer, {&in[3], 8}); // nobody knows its context: waits
            m.start_receive(r[4], {5, 2, 9}, 2, {&in[4], 8});               // of another: waits
            m.start_send(r[5], 0, {5, 1, 1}, &v, 8, send_mode::synchronous);
            m.start_send(r[6], 0, {5, 1, 1}, big.data(), big.size(), seed % 3 == 0 ? send_mode::synchronous : send_mode::standard);
            for (int i = 0; i < static_cast<int>(seed) * 3; ++i)
                engines[seed % 2]->progress();
            net.kill(0);
            for (std::size_t const i : {0, 1, 5, 6}) {
                m.wait(r[i]);
                require(r[i].result().error == outcome::peer_died, "it ended with an error: " + std::to_string(i));
            }
            for (std::size_t const i : {2, 3, 4})
                require(!r[i].done(), "it waits on: " + std::to_string(i));
            // What is begun after the death ends at once.
            match::request late;
            m.start_receive(late, {5, 0, 9}, 0, {&in[5], 8});
            require(late.done() && late.result().error == outcome::peer_died, "a late receive");
            m.start_receive(late, {5, any_source, 9}, no_peer, {&in[5], 8});
            require(late.done() && late.result().error == outcome::peer_died, "a late receive from anybody");
            require(m.probe({5, 0, 9}, 0).error == outcome::peer_died, "a probe");
            require(!m.mprobe({5, 0, 9}, 0), "a probe that takes");
            for (auto const mode : {send_mode::standard, send_mode::synchronous}) {
                for (std::size_t const n : {std::size_t{8}, big.size()}) {
                    m.start_send(late, 0, {5, 1, 1}, big.data(), n, mode);
                    require(late.done() && late.result().error == outcome::peer_died, "a late send");
                    bool thrown = false;
                    try {
                        thrown = m.send(0, {5, 1, 1}, big.data(), n, mode).error == outcome::peer_died;
                    } catch (towline::peer_error const& e) {
                        thrown = e.rank() == 0;
                    }
                    require(thrown, "a late send that waits");
                }
            }
            // The last words are there; what was lent may be lost.
            require(m.receive({5, 0, 1}, 0, {&in[5], 8}).error == outcome::ok && in[5] == 7, "last words");
            auto const end = m.receive({5, 0, 2}, 0, {big.data(), big.size()}).error;
            require(end == outcome::lost || end == outcome::peer_died || end == outcome::ok, "the lent one ends");
            // The living go on.
            matchers[2]->send(1, {5, 2, 9}, &v, 8);
            matchers[2]->send(1, {6, 2, 9}, &v, 8);
            matchers[2]->send(1, {7, 2, 9}, &v, 8);
            for (std::size_t const i : {2, 3, 4}) {
                m.wait(r[i]);
                require(r[i].result().error == outcome::ok && in[i] == 7, "the living go on");
            }
            require(m.pending().empty() && m.numbers().unexpected == 0, "nothing is left");
            for (auto& e : engines)
                e->close();
            matchers.clear();
        }
    })), 0);
}

// Processes: a rank is killed in the midst of traffic of all kinds; the others' operations all end.
TEST(matching_deaths_of_processes, killed_at_any_moment)
{
    std::uint64_t const seed = test_seed();
    SCOPED_TRACE("TOWLINE_TEST_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    for (int round = 0; round < 8; ++round) {
        auto const file = towline::job::create_job_file(3, {.segment_bytes = std::uint64_t{1} << 28, .keep_going = true});
        towline::job::control_view control(file.get());
        ranks::board const board;
        std::vector<pid_t> children;
        for (int rank = 0; rank < 3; ++rank) {
            children.push_back(ranks::spawn_rank(file.get(), rank, [&](int) {
                auto const e = eng::process_engine(round % 2 == 0);
                match::matcher m(*e, {.eager = 4096, .unexpected = 100000});
                m.set_members(1, &everybody, nullptr);
                towline::job::membership::instance().fence();
                board[2].fetch_add(1);
                auto const me = static_cast<std::int32_t>(e->rank());
                // The living are never more than a round apart; after the first error they do some more rounds, the same ones, and stop.
                auto const error_in = [&](int i) {
                    std::uint64_t expected = 0;
                    board[4].compare_exchange_strong(expected, static_cast<std::uint64_t>(i) + 4);
                };
                for (int i = 0; board[4] == 0 || static_cast<std::uint64_t>(i) < board[4]; ++i) {
                    std::deque<match::request> all;
                    std::deque<std::vector<std::byte>> buffers;
                    // A receive from anybody fails with the death, so that nobody may wait for it to match.
                    bool const any = i % 5 == 0;
                    std::size_t const n = any ? 16 : i % 4 == 0 ? 60000 : i % 4 == 1 ? 3000 : 8;
                    bool const synchronous = !any && i % 3 == 0;
                    for (peer to = 0; to < 3; ++to) {
                        auto& b = buffers.emplace_back(bytes(n, static_cast<std::uint64_t>(i)));
                        auto& r = all.emplace_back();
                        m.start_send(r, to, {1, me, i}, b.data(), n, synchronous ? send_mode::synchronous : send_mode::standard);
                        auto& in = buffers.emplace_back(n);
                        m.start_receive(all.emplace_back(), {1, any ? any_source : static_cast<std::int32_t>(to), i}, any ? no_peer : to,
                                        {in.data(), n});
                    }
                    for (auto& r : all) {
                        require(e->wait([&] { return r.done(); }, "an end", 30s), "everything ends");
                        if (r.result().error != outcome::ok)
                            error_in(i);
                    }
                }
                // The others may wait for us no more than we for them: they heard of the death too.
                board[3].fetch_add(1);
                require(e->wait([&] { return board[3].load() == 2; }, "the other", 30s), "the other");
                e->close();
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
