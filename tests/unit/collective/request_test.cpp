// Requests and schedules as such: many under way, restarts, completion, memory; and the table of algorithms.

#include "collective/choice.hpp"
#include "unit/collective/simulation.hpp"

using namespace simulated;

namespace {

void add_words(void const* in, void* inout, std::uint64_t count, void*)
{
    for (std::uint64_t i = 0; i < count; ++i)
        static_cast<std::uint32_t*>(inout)[i] += static_cast<std::uint32_t const*>(in)[i];
}
constexpr col::combination sum{&add_words, nullptr, 4, true};

} // namespace

TEST(request, many_of_one_communicator_keep_apart)
{
    constexpr int p = 9;
    constexpr std::size_t many = 60;
    world w(p);
    std::vector<std::vector<std::uint32_t>> in(p, std::vector<std::uint32_t>(many));
    auto out = in;
    std::vector<std::vector<std::unique_ptr<operation>>> all(many);
    for (std::size_t k = 0; k < many; ++k) {
        for (std::size_t i = 0; i < p; ++i)
            in[i][k] = static_cast<std::uint32_t>(1000 * k + i);
    }
    // Each rank starts its own in the same order; how far the others are is chance.
    std::vector<std::size_t> started(p);
    std::deque<col::lane_queue> queues;
    int asked = 0;
    for (int i = 0; i < p; ++i)
        queues.emplace_back([](void* count, int change) { *static_cast<int*>(count) += change; }, &asked);
    for (std::size_t total = 0; total < many * p;) {
        auto const i = static_cast<std::size_t>(w.net.draw(p));
        if (std::size_t const k = started[i]; k < many) {
            auto o = std::make_unique<operation>();
            col::team& t = w.teams[i];
            o->schedule().allow(t.lanes());
            if (k % 3 == 0)
                col::build(o->schedule(), t, col::allreduce(&in[i][k], &out[i][k], 1, sum));
            else if (k % 3 == 1)
                col::build(o->schedule(), t, col::scan(&in[i][k], &out[i][k], 1, sum));
            else
                col::build(o->schedule(), t, col::barrier());
            o->start(w.end(static_cast<int>(i)), t, t.next_sequence());
            if (o->is_over_lanes() && !o->done())
                queues[i].leave(*o);
            all[k].push_back(std::move(o));
            ++started[i];
            ++total;
        }
        if (w.net.draw(3) == 0)
            w.net.step();
        if (w.net.draw(3) == 0)
            (void)queues[w.net.draw(p)].poll();
    }
    w.run_dry();
    for (int round = 0; asked != 0 && round < 100 * p; ++round)
        for (auto& q : queues)
            (void)q.poll();
    EXPECT_EQ(asked, 0);
    for (std::size_t k = 0; k < many; ++k) {
        for (auto const& o : all[k])
            ASSERT_TRUE(o->done() && o->result() == col::ending::ok);
        for (std::uint32_t i = 0; i < p; ++i) {
            auto const base = static_cast<std::uint32_t>(1000 * k);
            std::uint32_t const members = k % 3 == 0 ? p : i + 1;
            ASSERT_EQ(out[i][k], k % 3 == 2 ? 0 : base * members + members * (members - 1) / 2);
        }
    }
    w.net.expect_empty();
}

TEST(request, a_schedule_runs_again_with_its_sequence)
{
    constexpr int p = 6;
    world w(p);
    std::vector<std::uint32_t> in(p);
    std::vector<std::uint32_t> out(p);
    auto operations = w.make([&](col::schedule& s, col::team& t, int i) {
        auto const at = static_cast<std::size_t>(i);
        col::build(s, t, col::allreduce(&in[at], &out[at], 1, sum));
    });
    auto others = w.make([&](col::schedule& s, col::team& t, int) { col::build(s, t, col::barrier()); });
    std::vector<std::uint32_t> sequences;
    for (auto& t : w.teams)
        sequences.push_back(t.next_sequence());
    for (std::uint32_t round = 0; round < 20; ++round) {
        for (std::uint32_t i = 0; i < p; ++i)
            in[i] = round * i;
        for (std::size_t i = 0; i < p; ++i)
            operations[i]->start(w.end(static_cast<int>(i)), w.teams[i], sequences[i]);
        w.start(others);
        w.run_dry(operations);
        for (std::size_t i = 0; i < p; ++i) {
            ASSERT_TRUE(operations[i]->done() && operations[i]->result() == col::ending::ok);
            ASSERT_EQ(out[i], round * 15);
            ASSERT_TRUE(others[i]->done());
        }
    }
}

TEST(request, may_start_again_from_its_then_and_be_gone_after_it)
{
    constexpr int p = 4;
    world w(p);
    struct one {
        world* w;
        std::size_t rank;
        int left = 5;
        int calls = 0;
        std::unique_ptr<operation> o = std::make_unique<operation>();
    };
    std::vector<one> all;
    for (std::size_t i = 0; i < p; ++i)
        all.push_back({&w, i});
    for (one& x : all) {
        col::build(x.o->schedule(), w.teams[x.rank], col::barrier());
        x.o->user = &x;
        x.o->then = [](operation& o) {
            EXPECT_TRUE(o.done());
            one& self = *static_cast<one*>(o.user);
            ++self.calls;
            if (--self.left == 0)
                return self.o.reset();
            col::team& t = self.w->teams[self.rank];
            o.start(self.w->end(static_cast<int>(self.rank)), t, t.next_sequence());
        };
    }
    for (one& x : all)
        x.o->start(w.end(static_cast<int>(x.rank)), w.teams[x.rank], w.teams[x.rank].next_sequence());
    w.run_dry();
    for (one const& x : all) {
        EXPECT_EQ(x.calls, 5);
        EXPECT_EQ(x.o, nullptr);
    }
}

TEST(request, ends_inside_its_start_where_nothing_is_to_be_waited_for)
{
    world w(1);
    operation o;
    int calls = 0;
    o.user = &calls;
    o.then = [](operation& x) { ++*static_cast<int*>(x.user); };
    col::build(o.schedule(), w.teams[0], col::barrier());
    o.start(w.end(0), w.teams[0], 0);
    EXPECT_TRUE(o.done());
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(o.result(), col::ending::ok);
    EXPECT_EQ(w.net.messages, 0u);
}

TEST(request, is_not_started_twice)
{
    world w(2);
    auto operations = w.make([](col::schedule& s, col::team& t, int) { col::build(s, t, col::barrier()); });
    operations[0]->start(w.end(0), w.teams[0], 0);
    EXPECT_FALSE(operations[0]->done());
    EXPECT_THROW(operations[0]->start(w.end(0), w.teams[0], 1), towline::usage_error);
    operations[1]->start(w.end(1), w.teams[1], 0);
    w.run_dry(operations);
    EXPECT_TRUE(operations[0]->done());
}

TEST(team, sequences_wrap_and_tags_tell_groups_apart)
{
    world w(1);
    EXPECT_EQ(w.teams[0].next_sequence(), 0u);
    EXPECT_EQ(w.teams[0].next_sequence(), 1u);
    constexpr std::uint32_t last = (1u << 28) - 1;
    for (std::uint32_t const number : {last, col::team::check_sequence(last), col::team::introduction_sequence}) {
        EXPECT_GE(col::team::tag(number, col::side::remote), 0);
        EXPECT_LT(last, number + (number == last));  // no operation has the others
    }
    EXPECT_NE(col::team::tag(last, col::side::remote), col::team::tag(last, col::side::local));
    EXPECT_NE(col::team::tag(4, col::side::remote), col::team::tag(5, col::side::local));
}

TEST(schedule, scratch_is_aligned_stays_and_is_used_again)
{
    col::schedule s;
    std::vector<std::byte*> all;
    for (std::size_t n : {1, 64, 5000, 10, 100000, 3}) {
        all.push_back(s.scratch(n));
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(all.back()) % 64, 0u);
        std::memset(all.back(), static_cast<int>(all.size()), n);
    }
    EXPECT_EQ(*all[0], std::byte{1});
    EXPECT_EQ(all[2][4999], std::byte{3});
    EXPECT_EQ(all[4][99999], std::byte{5});
    s.clear();
    EXPECT_EQ(s.scratch(1), all[0]);
}

TEST(schedule, leaves_out_what_does_nothing)
{
    col::schedule s;
    std::byte b{};
    s.wait();
    s.copy(&b, &b, 1);
    s.copy(nullptr, nullptr, 0);
    s.combine(sum, &b, &b, 0);
    s.send_any(0, nullptr, 0);
    s.receive_any(0, nullptr, 0);
    EXPECT_TRUE(s.steps().empty());
    s.send(0, &b, 1);
    s.receive(0, &b, 1);
    s.wait();
    s.wait();
    s.send(0, nullptr, 0);
    EXPECT_EQ(s.steps().size(), 4u);
    EXPECT_EQ(s.width(), 2u);
    s.clear();
    EXPECT_EQ(s.width(), 0u);
}

TEST(choice, every_operation_has_a_rule_for_everything)
{
    using col::routine;
    for (auto what = routine::barrier; what <= routine::exchange; what = static_cast<routine>(static_cast<int>(what) + 1)) {
        bool last_is_general = false, is_one_run = true, has_ended = false;
        for (auto const& r : col::rules()) {
            if (r.what != what) {
                has_ended = has_ended || last_is_general;
                continue;
            }
            is_one_run = is_one_run && !has_ended;
            last_is_general = r.below_bytes == ~std::uint64_t{0} && r.from_ranks <= 1 && r.below_ranks > 1 << 30 &&
                              r.only == col::where::anywhere;
        }
        EXPECT_TRUE(last_is_general && is_one_run) << col::name_of(what);
        EXPECT_EQ(col::choose({what, 1, 4, col::where::one_node | col::where::shown}), col::algorithm::over_lanes) << col::name_of(what);
        bool const is_scan = what == col::routine::scan || what == col::routine::exscan;
        EXPECT_EQ(col::is_over_lanes_on_a_node(what), !is_scan) << col::name_of(what);
        for (std::uint64_t const bytes : {std::uint64_t{0}, std::uint64_t{1} << 50})
            for (int const ranks : {1, 9, 5000})
                EXPECT_TRUE(is_scan || col::choose({what, bytes, ranks, col::where::one_node | col::where::crowded | col::where::in_order}) ==
                                           col::algorithm::over_lanes) << col::name_of(what);
    }
}

TEST(choice, only_algorithms_that_keep_the_order_are_chosen_where_it_counts)
{
    using col::algorithm;
    using col::routine;
    using col::where;
    for (std::uint64_t bytes = 1; bytes < std::uint64_t{1} << 40; bytes *= 2) {
        for (int p = 1; p < 300; ++p) {
            EXPECT_EQ(col::choose({routine::reduce, bytes, p, where::element_for_all}), algorithm::binomial);
            EXPECT_EQ(col::choose({routine::allreduce, bytes, p, where::element_for_all}), algorithm::doubling);
            EXPECT_EQ(col::choose({routine::reduce_scatter, bytes, p, where::element_for_all}), algorithm::direct);
            EXPECT_TRUE((p & (p - 1)) == 0 || col::choose({routine::allgather, bytes, p}) != algorithm::doubling);
        }
    }
    EXPECT_EQ(col::choose({routine::allreduce, 1 << 20, 8}), algorithm::rabenseifner);
    EXPECT_EQ(col::choose({routine::allreduce, 1 << 20, 8, where::commutative}), algorithm::doubling) << "fewer elements than ranks";
    EXPECT_EQ(col::choose({routine::allreduce, 64, 8}), algorithm::doubling);
}

TEST(choice, scans_of_lent_bytes_by_many_ranks_send_messages)
{
    using col::algorithm;
    using col::routine;
    using col::where;
    EXPECT_EQ(col::choose({routine::scan, 1 << 20, 8, where::one_node}), algorithm::over_lanes);
    EXPECT_EQ(col::choose({routine::scan, 1 << 20, 9, where::one_node}), algorithm::doubling);
    EXPECT_EQ(col::choose({routine::exscan, 64, 9, where::one_node | where::shown}), algorithm::over_lanes);
}
