// PMI_process_mapping: which rank runs on which node.

#include "job/launch/process_mapping.hpp"

#include <gtest/gtest.h>

namespace towline::job::launch {
namespace {

using nodes = std::vector<std::uint32_t>;

TEST(process_mapping, blocks_put_ranks_on_nodes)
{
    EXPECT_EQ(parse_process_mapping("(vector,(0,1,4))", 4), (nodes{0, 0, 0, 0}));
    EXPECT_EQ(parse_process_mapping("(vector,(0,2,2))", 4), (nodes{0, 0, 1, 1}));
    EXPECT_EQ(parse_process_mapping("(vector,(0,1,1),(1,2,2))", 5), (nodes{0, 1, 1, 2, 2}));
}

TEST(process_mapping, blocks_go_round_until_all_ranks_have_a_node)
{
    EXPECT_EQ(parse_process_mapping("(vector,(0,2,1))", 5), (nodes{0, 1, 0, 1, 0}));
    EXPECT_EQ(parse_process_mapping("(vector,(0,1,100))", 2), (nodes{0, 0}));
}

TEST(process_mapping, nodes_are_numbered_as_ranks_meet_them)
{
    EXPECT_EQ(parse_process_mapping("(vector,(7,1,1),(3,1,2))", 3), (nodes{0, 1, 1}));
    EXPECT_EQ(parse_process_mapping("(vector,(4294967295,2,1))", 2), (nodes{0, 1}));
    EXPECT_EQ(numbered_anew({9, 2, 9, 5}), (nodes{0, 1, 0, 2}));
}

TEST(process_mapping, another_form_is_nothing)
{
    for (char const* const text : {"", "(vector)", "(vector,)", "(vector,(0,0,1))", "(vector,(0,1,0))", "(vector,(0,1,1)", "(vector,(0,1))",
                                   "(vector,(0,1,1)) ", "(vector,(-1,1,1))", "(vector,(0,1,99999999999))", "(list,(0,1,1))", "vector,(0,1,1)"})
        EXPECT_FALSE(parse_process_mapping(text, 2)) << text;
}

} // namespace
} // namespace towline::job::launch
