// Round trips of the everyday types, and what chunks carry.

#include "unit/archive/round_trip.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

using namespace towline;
using towline::test::packed;
using towline::test::round_trip;

namespace {

enum class color : std::uint8_t { red, green, blue };
struct vec3 {
    float x, y, z;
    bool operator==(vec3 const&) const = default;
};
struct weapon {
    std::string name;
    std::int16_t damage;
    bool operator==(weapon const&) const = default;
};
struct monster {
    std::string name;
    vec3 at;
    std::int16_t mana, hp;
    color look;
    std::vector<std::uint8_t> inventory;
    std::vector<weapon> weapons;
    weapon equipped;
    std::vector<vec3> path;
    int grid[2][3];
    bool alive;
    bool operator==(monster const&) const = default;
};
struct empty {
    bool operator==(empty const&) const = default;
};
struct tree {
    int value = 0;
    std::vector<tree> children;
    bool operator==(tree const&) const = default;
};

monster some_monster()
{
    return {"Orc of the considerably longer name", {1, 2, 3}, 150, 80, color::blue, {1, 2, 3, 4, 5}, {{"axe", 3}, {"sword", 5}}, {"axe", 3},
            {{1, 2, 3}, {4, 5, 6}}, {{1, 2, 3}, {4, 5, 6}}, true};
}

TEST(archive, numbers_strings_vectors)
{
    EXPECT_EQ(round_trip(42), 42);
    EXPECT_EQ(round_trip(-1LL), -1LL);
    EXPECT_EQ(round_trip(2.5), 2.5);
    EXPECT_EQ(round_trip(2.5L), 2.5L);
    EXPECT_EQ(round_trip(true), true);
    EXPECT_EQ(round_trip('x'), 'x');
    EXPECT_EQ(round_trip(color::blue), color::blue);
    EXPECT_EQ(round_trip(std::string("hello")), "hello");
    EXPECT_EQ(round_trip(std::u16string(u"hello")), u"hello");
    EXPECT_EQ(round_trip(std::vector<int>{1, 2, 3}), (std::vector<int>{1, 2, 3}));
    EXPECT_EQ(round_trip(std::vector<bool>{true, false, true, true, false, false, true, false, true}),
              (std::vector<bool>{true, false, true, true, false, false, true, false, true}));
    EXPECT_EQ(round_trip(std::vector<std::string>{"a", "", std::string(500, 'x')}),
              (std::vector<std::string>{"a", "", std::string(500, 'x')}));
    EXPECT_EQ(round_trip(std::vector<std::vector<double>>{{1}, {}, {2, 3}}), (std::vector<std::vector<double>>{{1}, {}, {2, 3}}));
}

TEST(archive, aggregates_tuples_optionals)
{
    EXPECT_EQ(round_trip(some_monster()), some_monster());
    EXPECT_EQ(round_trip(std::vector<monster>(20, some_monster())), std::vector<monster>(20, some_monster()));
    EXPECT_EQ(round_trip(empty{}), empty{});
    EXPECT_EQ(round_trip(std::vector<empty>(7)).size(), 7U);
    EXPECT_EQ(round_trip(tree{1, {{2, {}}, {3, {{4, {}}}}}}), (tree{1, {{2, {}}, {3, {{4, {}}}}}}));
    EXPECT_EQ(round_trip(std::tuple(1, std::string("a"), 2.5, true)), std::tuple(1, std::string("a"), 2.5, true));
    EXPECT_EQ(round_trip(std::tuple<>()), std::tuple<>());
    EXPECT_EQ(round_trip(std::pair(1, std::string("a"))), std::pair(1, std::string("a")));
    EXPECT_EQ(round_trip(std::optional<int>()), std::nullopt);
    EXPECT_EQ(round_trip(std::optional<std::string>("x")), "x");
    EXPECT_EQ(round_trip(std::array<std::string, 2>{"a", "b"}), (std::array<std::string, 2>{"a", "b"}));
    EXPECT_EQ(round_trip(std::array<int, 0>{}), (std::array<int, 0>{}));
}

TEST(archive, big_ranges_become_chunks)
{
    std::vector<double> const big(2000, 1.5);
    packed const a(big);
    ASSERT_EQ(a.chunks().size(), 1U);
    EXPECT_EQ(a.chunks()[0].data, big.data());
    EXPECT_EQ(a.chunks()[0].size, 16000U);
    EXPECT_EQ(a.chunks()[0].kind, chunk_kind::pointer);
    EXPECT_EQ(round_trip(big), big);
    EXPECT_EQ(round_trip(std::string(100000, 'x')), std::string(100000, 'x'));
    EXPECT_TRUE(packed(std::vector<double>(1000, 1)).chunks().empty());
    std::vector<std::vector<int>> const many(30, std::vector<int>(3000, 7));
    EXPECT_EQ(packed(many).chunks().size(), 30U);
    EXPECT_EQ(round_trip(many), many);
}

TEST(archive, views_look_into_the_message)
{
    struct view {
        std::string_view name;
        std::span<double const> values;
    };
    struct owner {
        std::string name;
        std::vector<double> values;
    };
    static_assert(is_view<view> && !is_view<owner> && is_view<std::vector<std::string_view>>);
    for (std::size_t n : {5U, 5000U}) {
        owner const o{"a name", std::vector<double>(n, 2.0)};
        packed a(o);
        auto r = a.reader();
        auto const v = r.read<view>();
        r.finish();
        EXPECT_EQ(v.name, "a name");
        ASSERT_EQ(v.values.size(), n);
        EXPECT_EQ(v.values[n - 1], 2.0);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(v.values.data()) % alignof(double), 0U);
        EXPECT_EQ(v.values.data() == o.values.data(), n == 5000U);
    }
}

} // namespace
