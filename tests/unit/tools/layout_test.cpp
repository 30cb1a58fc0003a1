// What `towline layout` says of a layout besides its own words.

#include "layout.hpp"

#include "layout/copy_plan.hpp"
#include "layout/stream.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace {

using namespace towline;
using tools::parse_layout;

/// As the stream tells blocks one by one.
std::int64_t counted(tools::layout_message const& m)
{
    layout::stream const s(m.type, m.count);
    std::vector<layout::block> some(64);
    std::int64_t all = 0;
    for (std::int64_t at = 0; at < s.size();)
        all += static_cast<std::int64_t>(s.blocks(at, s.size(), some, at));
    return all;
}

} // namespace

TEST(layout, pieces_are_blocks_in_a_row)
{
    auto const nested = [](int levels) {
        std::string text = "vector(2,1,2,char)";
        for (int i = 0; i < levels; ++i)
            text = "hindexed([1,2],[0,5]," + text + ")";
        return text;
    };
    for (std::string const text :
         {"int", "contiguous(7,double)", "vector(512,1,4,double)", "3*vector(4,2,5,int)", "indexed([1,2,3],[0,4,9],int)",
          "subarray([8,8,8],[3,4,5],[1,1,1],double)", "100*resized(struct([1,3],[0,16],[int,double]),0,48)",
          "100*resized(struct([1,3],[0,16],[int,double]),0,40)", "vector(3,1,7,indexed_block(1,[0,2,9,11],char))",
          "indexed([1,1],[0,5],vector(3,2,3,int))", "hindexed([1,2],[0,5],hindexed([1,2],[0,5],vector(2,1,2,char)))"}) {
        auto const m = parse_layout(text);
        EXPECT_EQ(tools::pieces_of(*layout::elements_of(m.type, m.count).tree), counted(m)) << text;
    }
    // Parts that are shared again and again are looked at once.
    EXPECT_GT(tools::pieces_of(*layout::elements_of(parse_layout(nested(36)).type, 1).tree), std::int64_t{1} << 50);
}

TEST(layout, spans)
{
    auto const of = [](char const* text) {
        auto const s = tools::span_of(parse_layout(text));
        return std::pair(s.low, s.high);
    };
    EXPECT_EQ(of("int"), std::pair(0L, 4L));
    EXPECT_EQ(of("0*int"), std::pair(0L, 0L));
    EXPECT_EQ(of("contiguous(0,int)"), std::pair(0L, 0L));
    EXPECT_EQ(of("3*vector(2,1,4,int)"), std::pair(0L, 60L));
    EXPECT_EQ(of("vector(3,1,-2,int)"), std::pair(-16L, 4L));
    EXPECT_EQ(of("3*resized(int,0,-8)"), std::pair(-16L, 4L));
    EXPECT_EQ(of("hindexed([1],[100],int)"), std::pair(100L, 104L));
}

TEST(layout, every_step_and_design_is_measured)
{
    for (auto const& [from, to] : {std::pair{"vector(16,1,4,double)", "vector(16,1,-4,double)"}, {"3*int", "2*resized(int,0,-8)"}}) {
        std::string names;
        for (auto const& t : tools::measure_layouts(parse_layout(from), parse_layout(to))) {
            names += t.name + " ";
            EXPECT_GT(t.ns, 0) << t.name;
        }
        EXPECT_EQ(names, "memcpy packing unpacking writing reading joining pack basic memo optimized ");
    }
}
