// What is decided from measured times: from clean figures, from noisy ones, and from such as say nothing.

#include "crossing.hpp"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>

namespace {

using towline::tools::comparison;
using towline::tools::compare;
using towline::tools::find_best;
using towline::tools::find_crossing;

constexpr std::size_t beyond = 1 << 20;

std::vector<comparison> clear(std::vector<std::pair<std::size_t, double>> const& ratios)
{
    std::vector<comparison> all;
    for (auto const& [size, ratio] : ratios)
        all.push_back({size, ratio, std::abs(std::log(ratio)) > 0.03});
    return all;
}

} // namespace

TEST(median, of_odd_even_and_none)
{
    EXPECT_EQ(towline::tools::median({3, 1, 2}), 2);
    EXPECT_EQ(towline::tools::median({4, 1, 2, 3}), 2.5);
    EXPECT_TRUE(std::isnan(towline::tools::median({})));
}

TEST(compare, needs_a_difference_and_agreement)
{
    std::vector<double> const one(10, 1.0);
    auto c = compare(64, one, std::vector<double>(10, 0.5));
    EXPECT_EQ(c.size, 64u);
    EXPECT_DOUBLE_EQ(c.ratio, 0.5);
    EXPECT_TRUE(c.clear);
    EXPECT_FALSE(compare(64, one, std::vector<double>(10, 1.02)).clear);
    EXPECT_FALSE(compare(64, one, std::vector<double>(10, 0.98)).clear);
    EXPECT_FALSE(compare(64, one, {{1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 0.5, 0.5}}).clear);  // a coin does that
    std::vector<double> const many(100, 1.0);
    std::vector<double> mixed(70, 1.5);
    mixed.resize(100, 0.5);
    EXPECT_TRUE(compare(64, many, mixed).clear);
    std::fill_n(mixed.begin() + 60, 10, 0.5);
    EXPECT_FALSE(compare(64, many, mixed).clear);
    EXPECT_FALSE(compare(64, {}, {}).clear);
    EXPECT_FALSE(compare(64, std::vector<double>{0}, std::vector<double>{1}).clear);
}

TEST(crossing, is_where_the_second_way_begins_to_win)
{
    auto const measured = clear({{1, 2.0}, {2, 1.5}, {4, 1.1}, {8, 0.9}, {16, 0.7}});
    EXPECT_EQ(find_crossing(measured, 2, beyond).value, 8u);
    EXPECT_EQ(find_crossing(measured, 16, beyond).value, 8u);
    EXPECT_EQ(find_crossing(measured, 8, beyond).value, std::nullopt);
    EXPECT_EQ(find_crossing(measured, 5, beyond).value, std::nullopt);  // means the same at all measured sizes
}

TEST(crossing, may_be_before_all_sizes_or_behind)
{
    auto const always = clear({{4, 0.5}, {8, 0.5}});
    EXPECT_EQ(find_crossing(always, 16, beyond).value, 4u);
    EXPECT_EQ(find_crossing(always, 1, beyond).value, std::nullopt);
    auto const never = clear({{4, 2.0}, {8, 2.0}});
    EXPECT_EQ(find_crossing(never, 4, beyond).value, beyond);
    EXPECT_EQ(find_crossing(never, 16, beyond).value, std::nullopt);
}

TEST(crossing, stays_where_it_is_not_worth_moving)
{
    EXPECT_EQ(find_crossing(clear({{1, 1.5}, {2, 1.0}, {4, 1.0}, {8, 0.5}}), 4, beyond).value, std::nullopt);
    EXPECT_EQ(find_crossing(clear({{1, 1.0}, {2, 1.0}}), 1, beyond).why, "no clear difference at any size");
    EXPECT_EQ(find_crossing({}, 1, beyond).value, std::nullopt);
    // One size whose figures contradict all others' does not move it by itself.
    EXPECT_EQ(find_crossing(clear({{1, 1.8}, {2, 1.7}, {4, 0.9}, {8, 1.3}, {16, 0.6}, {32, 0.5}}), 16, beyond).value, std::nullopt);
    // Where the ways win by turns, nothing is said.
    EXPECT_EQ(find_crossing(clear({{1, 0.5}, {2, 2.0}, {4, 0.5}, {8, 2.0}, {16, 0.5}}), 4, beyond).value, std::nullopt);
}

TEST(crossing, goes_no_further_than_the_figures_ask)
{
    // Ties between: nearest to what is shipped, from either side.
    auto const measured = clear({{1, 2.0}, {2, 1.0}, {4, 1.0}, {8, 0.5}, {16, 0.5}});
    EXPECT_EQ(find_crossing(measured, 16, beyond).value, 8u);
    EXPECT_EQ(find_crossing(measured, 1, beyond).value, 2u);
}

TEST(crossing, is_found_through_noise)
{
    char const* const given = std::getenv("TOWLINE_TEST_SEED");
    unsigned const seed = given != nullptr ? static_cast<unsigned>(std::atoi(given)) : std::random_device{}();
    SCOPED_TRACE("TOWLINE_TEST_SEED=" + std::to_string(seed));
    std::mt19937 random(seed);
    std::lognormal_distribution<double> noise(0, 0.05);
    for (int turn = 0; turn < 200; ++turn) {
        // The second way costs 100 more, and half as much a byte: they cross at 200.
        std::vector<comparison> measured;
        for (std::size_t size = 8; size <= 8192; size *= 2) {
            std::vector<double> a, b;
            for (int i = 0; i < 21; ++i) {
                double const outlier = random() % 10 == 0 ? 5 : 1;
                a.push_back((300 + static_cast<double>(size)) * noise(random) * outlier);
                b.push_back((400 + static_cast<double>(size) / 2) * noise(random) * outlier);
            }
            measured.push_back(compare(size, a, b));
        }
        auto const d = find_crossing(measured, 8192, beyond);
        ASSERT_TRUE(d.value.has_value());
        EXPECT_GE(*d.value, 128u);
        EXPECT_LE(*d.value, 512u);
        EXPECT_EQ(find_crossing(measured, 200, beyond).value, std::nullopt);
    }
}

TEST(best, must_be_clearly_better)
{
    EXPECT_EQ(find_best(clear({{4, 1.2}, {16, 0.99}}), 8).value, std::nullopt);
    EXPECT_EQ(find_best(clear({{4, 0.9}, {16, 0.8}}), 8).value, 16u);
    EXPECT_EQ(find_best(clear({{2, 0.8}, {4, 0.804}, {64, 0.805}}), 8).value, 4u);
    EXPECT_EQ(find_best({}, 8).value, std::nullopt);
}
