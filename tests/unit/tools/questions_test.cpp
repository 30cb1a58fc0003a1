// The front's account of questions: who has answered, who is gone.

#include "questions.hpp"

#include <gtest/gtest.h>

namespace {

using towline::tools::questions;

TEST(questions, are_complete_when_all_have_answered_or_are_gone)
{
    questions all;
    all.begin(0, 7, {1, 2, 3});
    all.begin(questions::front, 1, {0, 1, 2, 3});
    all.answered(0, 7, 1);
    all.answered(0, 6, 2);  // to an earlier one
    EXPECT_TRUE(all.take_complete().empty());
    all.lost(2);
    all.answered(0, 7, 3);
    auto const done = all.take_complete();
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0], (questions::question{0, 7, {}}));
    EXPECT_TRUE(all.is_open(questions::front));
    for (std::uint32_t const n : {0, 1, 3})
        all.answered(questions::front, 1, n);
    EXPECT_EQ(all.take_complete().size(), 1u);
    EXPECT_FALSE(all.is_open(questions::front));
}

TEST(questions, a_new_one_replaces_the_old_and_ends_with_its_node)
{
    questions all;
    all.begin(0, 1, {1});
    all.begin(0, 2, {1});
    all.answered(0, 1, 1);
    EXPECT_TRUE(all.take_complete().empty());
    all.lost(0);
    EXPECT_FALSE(all.is_open(0));
    EXPECT_TRUE(all.take_complete().empty());
    all.begin(1, 1, {});  // nobody is left to ask
    EXPECT_EQ(all.take_complete().size(), 1u);
}

} // namespace
