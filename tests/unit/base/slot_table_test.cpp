#include "base/slot_table.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace {

using namespace towline;

struct thing {
    int value = 0;
};

TEST(SlotTable, FindsWhatIsClaimedAndNothingElse)
{
    base::slot_table<thing> table;
    thing& a = table.claim();
    thing& b = table.claim();
    a.value = 1;
    b.value = 2;
    auto const first = table.number_of(a);
    auto const second = table.number_of(b);
    EXPECT_NE(first, 0u);
    EXPECT_NE(first, second);
    EXPECT_EQ(table.find(first), &a);
    EXPECT_EQ(table.find(second), &b);
    EXPECT_EQ(table.find(0), nullptr);
    EXPECT_EQ(table.find(first + (std::uint64_t{1} << 32)), nullptr) << "the next generation is not given out yet";
    EXPECT_EQ(table.find(second + 1), nullptr);
    EXPECT_TRUE(table.has_index_of(second));
    EXPECT_FALSE(table.has_index_of(second + 1));
}

TEST(SlotTable, FreedNumberFindsNothingAndItsSlotIsUsedAgain)
{
    base::slot_table<thing> table;
    thing& a = table.claim();
    a.value = 7;
    auto const old = table.number_of(a);
    table.free(a);
    EXPECT_EQ(table.find(old), nullptr);
    EXPECT_EQ(table.find(table.number_of(a)), nullptr) << "its next number, before it is given out";
    thing& again = table.claim();
    EXPECT_EQ(&again, &a);
    EXPECT_EQ(again.value, 7) << "contents stay";
    EXPECT_EQ(table.find(old), nullptr);
    EXPECT_EQ(table.find(table.number_of(again)), &again);
}

TEST(SlotTable, NumbersAreNeverZeroAndReturnAfterAllGenerations)
{
    base::slot_table<thing, 2> table;  // generations 1, 2, 3
    std::vector<std::uint64_t> numbers;
    for (int i = 0; i < 4; ++i) {
        thing& t = table.claim();
        numbers.push_back(table.number_of(t));
        table.free(t);
    }
    EXPECT_EQ(std::set<std::uint64_t>(numbers.begin(), numbers.end()).size(), 3u);
    EXPECT_EQ(numbers[0], numbers[3]);
    for (auto const n : numbers) {
        EXPECT_NE(n, 0u);
        EXPECT_LT(n >> 32, 4u) << "the upper bits are the owner's";
    }
}

TEST(SlotTable, WalkVisitsClaimedSlotsAndMayFreeThem)
{
    base::slot_table<thing> table;
    std::vector<thing*> all;
    for (int i = 0; i < 100; ++i) {
        all.push_back(&table.claim());
        all.back()->value = i;
    }
    for (int i = 0; i < 100; i += 2)
        table.free(*all[static_cast<std::size_t>(i)]);
    int seen = 0;
    table.for_each([&](thing& t) {
        EXPECT_EQ(t.value % 2, 1);
        ++seen;
        table.free(t);
    });
    EXPECT_EQ(seen, 50);
    table.for_each([](thing&) { FAIL() << "all are free"; });
}

} // namespace
