// The contest of ways, against a made-up machine that says what each way costs.
#include "matching/ways.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <random>

namespace {

using towline::matching::send_way;
using towline::matching::way_contest;
using towline::matching::way_table;

/// Sends messages, each of which costs what its way costs, times noise that only adds.
struct machine {
    std::array<double, towline::matching::send_ways> cost;
    std::uint64_t now = 0;
    std::array<int, towline::matching::send_ways> taken{};
    std::mt19937 random{12345};
    double noise = 0.3;
    double compute = 0;  ///< of the program, between two messages
    unsigned ways = towline::matching::send_ways;

    void send(way_contest& c, int messages)
    {
        for (int i = 0; i < messages; ++i) {
            auto const w = static_cast<std::size_t>(c.choose([this] { return now; }, ways));
            ++taken[w];
            std::exponential_distribution<double> more(1 / noise);
            double const spent = cost[w] * (1 + (noise == 0 ? 0 : more(random))) + compute;
            now += static_cast<std::uint64_t>(spent);
        }
    }
    [[nodiscard]] double total(std::size_t w) const { return cost[w] * taken[w]; }
};

TEST(way_contest, finds_the_best_way_within_a_hundred_messages)
{
    for (std::size_t best = 0; best < 3; ++best) {
        machine m{{10000, 10000, 10000}};
        m.cost[best] = 6000;
        way_contest c;
        EXPECT_FALSE(c.is_settled());
        m.send(c, 100);
        EXPECT_TRUE(c.is_settled());
        EXPECT_EQ(static_cast<std::size_t>(c.best()), best);
        m.taken = {};
        m.send(c, 400);
        EXPECT_EQ(m.taken[best], 400);
    }
}

TEST(way_contest, keeps_its_way_where_another_is_hardly_better)
{
    machine m{{10000, 9800, 9700}};
    m.noise = 0.001;
    way_contest c;
    m.send(c, 50000);
    EXPECT_EQ(c.best(), send_way::direct);
}

TEST(way_contest, trying_costs_little_also_where_a_way_is_very_slow)
{
    machine m{{10000, 12000, 100000}};
    way_contest c;
    m.send(c, 1000);
    double const first = (m.total(0) + m.total(1) + m.total(2)) / (m.cost[0] * 1000);
    EXPECT_LT(first, 1.2);
    m.send(c, 100000);
    double const all = (m.total(0) + m.total(1) + m.total(2)) / (m.cost[0] * 101000);
    EXPECT_LT(all, 1.04);
}

// The bounds of first use: chosen within 45 messages, a trial costs at most ten messages of each way, and the first 1,000 messages take
// less than 1.5 times what they take by the best way.
TEST(way_contest, a_trial_costs_no_more_than_ten_messages_of_each_way)
{
    std::array<double, 3> costs{1000, 2000, 10000};
    do {
        machine m{costs};
        m.noise = 0;
        auto const best = static_cast<std::size_t>(std::ranges::min_element(costs) - costs.begin());
        way_contest c;
        int messages = 0;
        for (; !c.is_settled(); ++messages)
            m.send(c, 1);
        EXPECT_LE(messages, 46);
        EXPECT_EQ(static_cast<std::size_t>(c.best()), best);
        for (std::size_t w = 0; w < 3; ++w) {
            if (w != best) {
                EXPECT_LE(m.taken[w], 10) << "the third round leaves out what costs 1.5 times the best";
            }
        }
        m.send(c, 1000 - messages);
        EXPECT_LT(m.total(0) + m.total(1) + m.total(2), 1.25 * 1000 * costs[best]);
        EXPECT_GE(m.taken[best], 1000 - 40);
        // Later, while trials confirm it: one in 4096 messages.
        double const before = m.total(0) + m.total(1) + m.total(2);
        m.send(c, 100000);
        EXPECT_LT(m.total(0) + m.total(1) + m.total(2) - before, 1.03 * 100000 * costs[best]);
    } while (std::ranges::next_permutation(costs).found);
}

// Any two ways: up to 25 times the best, the first 1,000 messages stay below 1.5 times.
TEST(way_contest, the_first_thousand_messages_stay_below_one_and_a_half_times_the_best_way)
{
    for (double const worse : {1.06, 1.5, 2.0, 5.0, 10.0, 20.0, 25.0}) {
        for (std::size_t best = 0; best < 3; ++best) {
            machine m{{1000 * worse, 1000 * worse, 1000 * worse}};
            m.cost[best] = 1000;
            m.cost[(best + 1) % 3] = 1000;
            m.noise = 0;
            way_contest c;
            m.send(c, 1000);
            EXPECT_LT(m.total(0) + m.total(1) + m.total(2), 1.5 * 1000 * 1000) << worse << ", best " << best;
        }
    }
}

TEST(way_contest, counts_its_trials)
{
    machine m{{10000, 6000, 12000}};
    way_contest c;
    EXPECT_EQ(c.trials(), 0u);
    m.send(c, 100);
    EXPECT_EQ(c.trials(), 1u);
    m.send(c, static_cast<int>(way_contest::first_hold));
    EXPECT_EQ(c.trials(), 2u);
    EXPECT_NEAR(static_cast<double>(c.cost(send_way::relay)), 6000, 2000);
}

TEST(way_contest, follows_a_machine_that_changes)
{
    machine m{{10000, 6000, 12000}};
    way_contest c;
    m.send(c, 20000);
    EXPECT_EQ(c.best(), send_way::relay);
    m.cost = {10000, 14000, 5000};
    m.send(c, 2 * static_cast<int>(way_contest::later_hold));
    EXPECT_EQ(c.best(), send_way::relay_past);
}

TEST(way_contest, sees_the_way_behind_what_the_program_computes)
{
    machine m{{10000, 6000, 12000}};
    m.compute = 15000;
    way_contest c;
    m.send(c, 100);
    EXPECT_EQ(c.best(), send_way::relay);
}

TEST(way_contest, a_burst_of_other_work_in_a_trial_does_not_decide)
{
    for (int burst = 0; burst < 45; ++burst) {
        machine m{{10000, 6000, 12000}};
        m.noise = 0;
        way_contest c;
        m.send(c, burst);
        m.now += 1000000;
        m.send(c, 100 - burst);
        EXPECT_EQ(c.best(), send_way::relay) << burst;
    }
}

TEST(way_contest, takes_only_the_ways_that_it_is_given)
{
    for (std::size_t best = 0; best < 2; ++best) {
        machine m{{10000, 10000, 1}};
        m.cost[best] = 6000;
        m.ways = 2;
        way_contest c;
        m.send(c, 20000);
        EXPECT_EQ(static_cast<std::size_t>(c.best()), best);
        EXPECT_EQ(m.taken[2], 0);
        EXPECT_LT(m.taken[1 - best], 200);
    }
}

TEST(laid_way_table, has_contests_for_each_layout_and_forgets_the_older_of_two_in_one_place)
{
    auto const table = std::make_unique<towline::matching::laid_way_table>();
    std::size_t const places = table->places.size();
    way_contest& c = table->of(7, true);
    EXPECT_NE(&table->of(7, false), &c);
    EXPECT_NE(&table->of(8, true), &c);
    machine m{{10000, 6000, 1}};
    m.ways = 2;
    m.send(c, 100);
    EXPECT_EQ(table->of(7, true).best(), send_way::relay);
    EXPECT_EQ(&table->of(7 + places, true), &c);
    EXPECT_FALSE(c.is_settled());
    EXPECT_EQ(c.best(), send_way::direct);
}

TEST(calm, looks_at_few_messages_once_many_were_left_alone)
{
    namespace thresholds = towline::matching::thresholds;
    towline::matching::calm c;
    for (int i = 0; i < thresholds::relay_calm_after; ++i) {
        EXPECT_FALSE(c.skips());
        c.saw(false);
    }
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < thresholds::relay_calm_skips; ++i)
            EXPECT_TRUE(c.skips());
        EXPECT_FALSE(c.skips());
        c.saw(false);
    }
    for (int i = 0; i < thresholds::relay_calm_skips; ++i)
        EXPECT_TRUE(c.skips());
    for (int i = 0; i < 100; ++i) {
        EXPECT_FALSE(c.skips());
        c.saw(true);
    }
}

TEST(way_table, has_a_contest_for_each_kind_of_message)
{
    way_table t;
    EXPECT_EQ(&t.of(1536, false, true), &t.contests[0][0][1]);
    EXPECT_EQ(&t.of(2049, true, false), &t.contests[1][1][0]);
    EXPECT_EQ(&t.of(2048, true, false), &t.contests[0][1][0]);
    EXPECT_EQ(&t.of(std::uint64_t{1} << 20, false, false), &t.contests[way_table::sizes - 1][0][0]);
}

} // namespace
