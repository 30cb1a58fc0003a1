// Whether lent memory is found to change.
#include "engine/lent_habit.hpp"

#include <gtest/gtest.h>

namespace {

using towline::engine::lent_habit;

TEST(lent_habit, knows_what_changes_from_the_second_time_on)
{
    lent_habit h;
    EXPECT_FALSE(h.is_rewritten(0x1000));
    h.note(0x1000, 10);
    EXPECT_FALSE(h.is_rewritten(0x1000));
    h.note(0x1000, 20);
    EXPECT_TRUE(h.is_rewritten(0x1000));
    h.note(0x1000, 20);
    EXPECT_FALSE(h.is_rewritten(0x1000));
    h.note(0x2000, 30);
    EXPECT_FALSE(h.is_rewritten(0x2000));
}

TEST(lent_habit, a_block_that_takes_the_place_of_another_is_new)
{
    lent_habit h;
    for (std::uint64_t block = 1; block <= 4096; ++block) {
        h.note(block * 4096, block * 2);
        EXPECT_FALSE(h.is_rewritten(block * 4096));
    }
    EXPECT_FALSE(h.is_rewritten(4096));
}

} // namespace
