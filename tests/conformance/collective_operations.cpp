// Collective operations over every fabric: results, many at a time, threads, deaths.

#include "conformance/collective_worlds.hpp"

#include <csignal>
#include <random>

using namespace collective_worlds;

namespace {

class collective_operations : public every_matching {};
EVERY_FABRIC(collective_operations);

constexpr std::size_t some_sizes[] = {0, 1, 100, 9000, 100000};

void move_data(player& p, col::team& t)
{
    std::size_t const size = p.world.size;
    std::size_t const rank = p.world.rank;
    for (std::size_t const n : some_sizes) {
        for (std::size_t root = 0; root < size; ++root) {
            auto const top = static_cast<int>(root);
            auto const own = bytes(n, rank);
            auto data = rank == root ? own : bytes(n, 99);
            well(perform(p, t, [&](col::schedule& s) { col::build(s, t, col::bcast(data.data(), n, top)); }));
            require(filled(data.data(), n, root), "bcast");
            std::vector<std::byte> all(rank == root ? n * size : 0);
            well(perform(p, t, [&](col::schedule& s) { col::build(s, t, col::gather(own.data(), all.data(), n, top)); }));
            for (std::size_t i = 0; i < size && rank == root; ++i)
                require(filled(all.data() + n * i, n, i), "gather");
            auto back = bytes(n, 98);
            well(perform(p, t, [&](col::schedule& s) { col::build(s, t, col::scatter(all.data(), back.data(), n, top)); }));
            require(back == own, "scatter");
        }
        auto const own = bytes(n, rank);
        std::vector<std::byte> all(n * size);
        well(perform(p, t, [&](col::schedule& s) { col::build(s, t, col::allgather(own.data(), n, all.data(), n)); }));
        for (std::size_t i = 0; i < size; ++i)
            require(filled(all.data() + n * i, n, i), "allgather");
        std::vector<std::byte> out;
        for (std::size_t i = 0; i < size; ++i) {
            auto const b = bytes(n, rank * 100 + i);
            out.insert(out.end(), b.begin(), b.end());
        }
        well(perform(p, t, [&](col::schedule& s) { col::build(s, t, col::alltoall(out.data(), n, all.data(), n)); }));
        for (std::size_t i = 0; i < size; ++i)
            require(filled(all.data() + n * i, n, i * 100 + rank), "alltoall");
    }
}

void reduce_data(player& p, col::team& t)
{
    std::uint64_t const size = p.world.size;
    std::uint64_t const rank = p.world.rank;
    for (std::uint64_t const n : {1, 2, 13, 1200, 40000}) {
        std::vector<std::uint64_t> in(n);
        std::vector<std::uint64_t> out(n);
        for (std::uint64_t i = 0; i < n; ++i)
            in[i] = rank * 1000 + i;
        auto const total = [&](std::uint64_t i, std::uint64_t ranks) { return ranks * (ranks - 1) / 2 * 1000 + ranks * i; };
        well(perform(p, t, [&](col::schedule& s) { col::build(s, t, col::allreduce(in.data(), out.data(), n, sum)); }));
        for (std::uint64_t i = 0; i < n; ++i)
            require(out[i] == total(i, size), "allreduce");
        auto const root = static_cast<int>(n % size);
        well(perform(p, t, [&](col::schedule& s) { col::build(s, t, col::reduce(in.data(), out.data(), n, sum, root)); }));
        for (std::uint64_t i = 0; i < n && static_cast<int>(rank) == root; ++i)
            require(out[i] == total(i, size), "reduce");
        well(perform(p, t, [&](col::schedule& s) { col::build(s, t, col::scan(in.data(), out.data(), n, sum)); }));
        for (std::uint64_t i = 0; i < n; ++i)
            require(out[i] == total(i, rank + 1), "scan");
        std::vector<std::uint64_t> wide(n * size, rank + 1);
        well(perform(p, t, [&](col::schedule& s) { col::build(s, t, col::reduce_scatter_block(wide.data(), out.data(), n, sum)); }));
        for (std::uint64_t const x : out)
            require(x == size * (size + 1) / 2, "reduce_scatter_block");

        std::vector<affine> steps(n);
        std::vector<affine> end(n);
        affine whole{1, 0};
        for (std::uint64_t i = 0; i < size; ++i)
            whole = after(whole, {i + 3, i + 7});
        std::fill(steps.begin(), steps.end(), affine{rank + 3, rank + 7});
        well(perform(p, t, [&](col::schedule& s) { col::build(s, t, col::allreduce(steps.data(), end.data(), n, in_order)); }));
        for (affine const& x : end)
            require(x == whole, "allreduce in order");
        well(perform(p, t, [&](col::schedule& s) { col::build(s, t, col::reduce(steps.data(), end.data(), n, in_order, root)); }));
        for (std::uint64_t i = 0; i < n && static_cast<int>(rank) == root; ++i)
            require(end[i] == whole, "reduce in order");
    }
}

TEST_P(collective_operations, move_data)
{
    for (peer const size : {1, 2, 3, 6}) {
        run_matching(size, [](player& p) {
            col::team t = world_team(p, 40);
            move_data(p, t);
        });
    }
}

TEST_P(collective_operations, reduce)
{
    for (peer const size : {1, 2, 3, 6}) {
        run_matching(size, [](player& p) {
            col::team t = world_team(p, 40);
            reduce_data(p, t);
        });
    }
}

TEST_P(collective_operations, work_where_everything_waits_for_its_receiver)
{
    // Nothing is eager, and senders are held back at once.
    run_matching(
        4,
        [](player& p) {
            col::team t = world_team(p, 40);
            move_data(p, t);
            reduce_data(p, t);
        },
        {.eager = 0, .unexpected = 1});
}

TEST_P(collective_operations, many_at_a_time_between_messages_of_the_program)
{
    run_matching(4, [](player& p) {
        col::team t = world_team(p, 40);
        constexpr std::size_t many = 40;
        constexpr std::size_t n = 3000;
        std::deque<col::collective_request> requests(many);
        std::vector<std::vector<std::uint64_t>> in(many, std::vector<std::uint64_t>(n));
        auto out = in;
        std::uint64_t const size = p.world.size;
        peer const next = (p.world.rank + 1) % p.world.size;
        for (std::size_t k = 0; k < many; ++k) {
            std::fill(in[k].begin(), in[k].end(), p.world.rank + k);
            auto& s = requests[k].schedule();
            if (k % 4 == 0)
                col::build(s, t, col::barrier());
            else if (k % 4 == 1)
                col::build(s, t, col::allreduce(in[k].data(), out[k].data(), k % 8 == 1 ? n : 3, sum));
            else
                col::build(s, t, col::bcast(in[k].data(), k % 8 == 3 ? 8 * n : 24, static_cast<int>(k % size)));
            requests[k].start(p.m, t, t.next_sequence());
            match::request r;
            auto const letter = bytes(50, k);
            p.m.start_send(r, next, p.letter(static_cast<std::int32_t>(k)), letter.data(), letter.size());
            p.receive(static_cast<std::int32_t>((p.world.rank + size - 1) % size), static_cast<std::int32_t>(k), 50, k);
            p.m.wait(r);
        }
        for (std::size_t i = 0; i < many; ++i) {
            std::size_t const k = i * 7 % many;  // in an order of its own
            require(p.m.wait_until([&] { return requests[k].done(); }, "one of many", 60s), "one of many hangs");
            well(requests[k].result());
            if (k % 4 == 1)
                require(out[k][2] == size * (size - 1) / 2 + size * k, "allreduce");
            else if (k % 4 != 0)
                require(in[k][2] == k % size + k, "bcast");
        }
    });
}

TEST_P(collective_operations, of_two_threads_in_two_contexts)
{
    options o;
    o.background = true;
    run_matching(
        3,
        [](player& p) {
            col::team a = world_team(p, 40);
            col::team b = world_team(p, 41);
            std::string failed;
            std::thread other([&] {
                try {
                    for (int i = 0; i < 4; ++i)
                        reduce_data(p, b);
                } catch (std::exception const& e) {
                    failed = e.what();
                }
            });
            for (int i = 0; i < 3; ++i)
                move_data(p, a);
            other.join();
            require(failed.empty(), failed);
        },
        {}, o);
}

TEST_P(collective_operations, that_disagree_end_as_a_mismatch)
{
    run_matching(3, [](player& p) {
        col::team t = world_team(p, 40);
        bool const odd = p.world.rank == 2;
        for (std::size_t const n : {40, 5000, 50000}) {
            auto data = bytes(n, 1);
            auto const longer = perform(p, t, [&](col::schedule& s) { col::build(s, t, col::bcast(data.data(), odd ? n - 10 : n, 0)); });
            require(longer == (odd ? col::ending::mismatch : col::ending::ok), "too long");
            auto const shorter = perform(p, t, [&](col::schedule& s) { col::build(s, t, col::bcast(data.data(), odd ? n : n - 10, 0)); });
            require(shorter == (odd ? col::ending::mismatch : col::ending::ok), "too short");
            std::uint64_t v = 1;
            std::uint64_t w = 0;
            well(perform(p, t, [&](col::schedule& s) { col::build(s, t, col::allreduce(&v, &w, 1, sum)); }));
            require(w == 3, "the next is well");
        }
    });
}

/// Operations small and big, the same ones on all ranks that live; each ends.
void go_on(match::matcher& m, col::team& t, int rounds)
{
    auto small = bytes(100, 1);
    auto big = bytes(200000, 2);
    std::vector<std::uint64_t> in(5000);
    auto out = in;
    for (int i = 0; i < rounds; ++i) {
        int const root = i % t.size();
        col::collective_request r;
        if (i % 4 == 0)
            col::build(r.schedule(), t, col::barrier());
        else if (i % 4 == 1)
            col::build(r.schedule(), t, col::bcast(small.data(), small.size(), root));
        else if (i % 4 == 2)
            col::build(r.schedule(), t, col::allreduce(in.data(), out.data(), in.size(), sum));
        else
            col::build(r.schedule(), t, col::bcast(big.data(), big.size(), root));
        r.start(m, t, t.next_sequence());
        require(m.wait_until([&] { return r.done(); }, "an end", 30s), "operation " + std::to_string(i) + " ends");
    }
}

TEST(collective_deaths_of_processes, killed_at_any_moment)
{
    std::uint64_t const seed = test_seed();
    SCOPED_TRACE("TOWLINE_TEST_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    for (int round = 0; round < 4; ++round) {
        constexpr int size = 4;
        auto const victim = static_cast<int>(random() % size);
        auto const file = towline::job::create_job_file(size, {.segment_bytes = std::uint64_t{1} << 28, .keep_going = true});
        towline::job::control_view control(file.get());
        ranks::board const board;
        std::vector<pid_t> children;
        for (int rank = 0; rank < size; ++rank) {
            children.push_back(ranks::spawn_rank(file.get(), rank, [&](int) {
                auto const e = eng::process_engine(round % 2 == 0);
                match::matcher m(*e, {.eager = 4096});
                col::team t(40, rank, {size, &same_number, nullptr});
                towline::job::membership::instance().fence();
                board[2].fetch_add(1);
                go_on(m, t, 300);
                // Who is killed has no part in what follows, so the others can tell, also if they were done with all before it.
                if (rank == victim)
                    e->wait([] { return false; }, "its end", 60s);
                // Nobody is told that all have come when one cannot.
                require(e->wait([&] { return board[3].load() == 1; }, "the parent", 30s), "the parent");
                col::collective_request r;
                col::build(r.schedule(), t, col::barrier());
                r.start(m, t, t.next_sequence());
                require(m.wait_until([&] { return r.done(); }, "an end", 30s), "the last ends");
                require(r.result() == col::ending::peer_died, "the last fails");
                board[4].fetch_add(1);
                require(e->wait([&] { return board[4].load() == size - 1; }, "the others", 30s), "the others");
                require(m.drain(20s) && m.pending().empty(), "nothing is left");
                e->close();
            }));
        }
        board.wait(2, size);
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
        kill(children[static_cast<std::size_t>(victim)], SIGKILL);
        int const status = ranks::status_of(children[static_cast<std::size_t>(victim)]);
        EXPECT_TRUE(WIFSIGNALED(status));
        control.mark_dead(victim, status);
        board[3].store(1);
        for (int rank = 0; rank < size; ++rank) {
            if (rank != victim) {
                EXPECT_EQ(ranks::status_of(children[static_cast<std::size_t>(rank)]), 0);
            }
        }
    }
}

TEST(collective_deaths, of_simulated_peers_at_any_step)
{
    EXPECT_EQ(ranks::status_of(ranks::spawn([] {
        namespace sim = towline::transport::sim;
        std::size_t troubled = 0;
        for (std::uint64_t seed = test_seed(), last = seed + 24; seed < last; ++seed) {
            constexpr int size = 5;
            auto const victim = static_cast<peer>(seed % size);
            sim::network net(seed, size, {.can_get = seed % 2 == 0});
            net.kill_at(victim, seed * 31 % 500);
            std::vector<std::unique_ptr<eng::engine>> engines;
            std::vector<std::unique_ptr<match::matcher>> matchers;
            std::deque<col::team> teams;
            std::vector<std::vector<std::uint64_t>> in(size, std::vector<std::uint64_t>(900));
            auto out = in;
            std::deque<col::collective_request> requests(size * 8);
            for (peer p = 0; p < size; ++p) {
                eng::setup s = setup_over(net, p, size);
                s.background = false;
                engines.push_back(std::make_unique<eng::engine>(std::move(s)));
                matchers.push_back(std::make_unique<match::matcher>(*engines[p], match::options{.eager = seed % 3 * 300}));
                teams.emplace_back(40, static_cast<int>(p), col::members{size, &same_number, nullptr});
            }
            for (std::size_t k = 0; k < 8; ++k) {
                for (std::size_t p = 0; p < size; ++p) {
                    auto& r = requests[k * size + p];
                    if (k % 2 == 0)
                        col::build(r.schedule(), teams[p], col::allreduce(in[p].data(), out[p].data(), 900, sum));
                    else
                        col::build(r.schedule(), teams[p], col::barrier());
                    r.start(*matchers[p], teams[p], teams[p].next_sequence());
                }
            }
            auto const over = [&] {
                for (std::size_t i = 0; i < requests.size(); ++i) {
                    if (i % size != victim && !requests[i].done())
                        return false;
                }
                return true;
            };
            for (int turns = 0; !over(); ++turns) {
                require(turns < 200000, "all who live end, seed " + std::to_string(seed));
                for (auto& e : engines)
                    e->progress();
            }
            for (std::size_t i = 0; i < requests.size(); ++i)
                troubled += i % size != victim && requests[i].result() != col::ending::ok ? 1 : 0;
            // The dead one has operations under way, with which neither its matcher nor its engine may end: as in a process that is dead.
            static auto* const left_behind = new std::deque<std::pair<std::unique_ptr<eng::engine>, std::unique_ptr<match::matcher>>>;
            left_behind->emplace_back(std::move(engines[victim]), std::move(matchers[victim]));
            matchers.clear();
        }
        require(troubled > 24, "deaths come in time: " + std::to_string(troubled));
    })), 0);
}

} // namespace
