// Copies of strided blocks against a plain loop: random shapes, in any order of dimensions, forwards and backwards.

#include "layout/strided.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

using towline::layout::copy_strided;
using towline::layout::strided_dimension;
using i64 = std::int64_t;

/// Memory of one side: what lies where, and how far the lowest byte is from the first element.
struct side {
    std::vector<i64> steps;
    i64 low = 0, high = 0;
};

class maker {
public:
    explicit maker(unsigned seed) : random_(seed) {}
    i64 pick(i64 from, i64 to) { return std::uniform_int_distribution<i64>(from, to)(random_); }

    /// Elements that do not overlap, their dimensions in any order in memory, with gaps or without; where they may repeat, steps of 0, too.
    side make(std::vector<i64> const& extents, i64 bytes, bool may_repeat)
    {
        side s{std::vector<i64>(extents.size())};
        std::vector<std::size_t> order(extents.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        if (pick(0, 2) == 0)
            std::shuffle(order.begin(), order.end(), random_);
        i64 row = bytes;
        for (std::size_t const i : std::vector(order.rbegin(), order.rend())) {
            i64 const step = row + (pick(0, 2) == 0 ? pick(0, 40) : 0);
            row = step * extents[i];
            s.steps[i] = pick(0, 4) == 0 ? -step : may_repeat && pick(0, 6) == 0 ? 0 : step;
            (s.steps[i] < 0 ? s.low : s.high) += (extents[i] - 1) * s.steps[i];
        }
        s.high += bytes;
        return s;
    }
    std::vector<std::byte> bytes(i64 n)
    {
        std::vector<std::byte> all(static_cast<std::size_t>(n));
        for (std::size_t at = 0; at < all.size(); at += 8) {
            std::uint64_t const word = random_();
            std::memcpy(all.data() + at, &word, std::min<std::size_t>(8, all.size() - at));
        }
        return all;
    }

private:
    std::mt19937_64 random_;
};

void by_hand(std::byte* to, std::byte const* from, std::vector<strided_dimension> const& all, std::size_t i, i64 bytes)
{
    if (i == all.size()) {
        std::memcpy(to, from, static_cast<std::size_t>(bytes));
        return;
    }
    for (i64 k = 0; k < all[i].extent; ++k)
        by_hand(to + k * all[i].to_step, from + k * all[i].from_step, all, i + 1, bytes);
}

TEST(strided, copies_what_a_loop_copies)
{
    char const* const given = std::getenv("TOWLINE_TEST_SEED");
    unsigned const seed = given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : std::random_device{}();
    maker random(seed);
    constexpr i64 sizes[]{1, 2, 4, 8, 12, 16, 24, 3, 40};
    for (int round = 0; round < 5000; ++round) {
        std::vector<i64> extents(static_cast<std::size_t>(random.pick(1, 5)));
        i64 all = 1;
        for (i64& e : extents)
            all *= e = random.pick(0, 20) == 0 ? random.pick(0, 1) : random.pick(1, std::clamp<i64>(3000 / std::max<i64>(1, all), 2, 70));
        i64 const bytes = sizes[random.pick(0, 8)];
        side const to = random.make(extents, bytes, false), from = random.make(extents, bytes, true);
        std::vector<strided_dimension> dimensions;
        for (std::size_t i = 0; i < extents.size(); ++i)
            dimensions.push_back({extents[i], to.steps[i], from.steps[i]});
        if (all == 0) {
            copy_strided(nullptr, nullptr, dimensions, bytes);
            continue;
        }
        auto const source = random.bytes(from.high - from.low);
        auto const before = random.bytes(to.high - to.low);
        auto expected = before, got = before;
        by_hand(expected.data() - to.low, source.data() - from.low, dimensions, 0, bytes);
        copy_strided(got.data() - to.low, source.data() - from.low, dimensions, bytes);
        ASSERT_EQ(got, expected) << "seed " << seed << ", round " << round;
    }
}

TEST(strided, one_element_needs_no_dimension)
{
    int const from = 7;
    int to = 0;
    copy_strided(&to, &from, {}, sizeof to);
    EXPECT_EQ(to, 7);
}

} // namespace
