// What is told of the ways of a job, from boards that say nothing, something, or anything.

#include "ways.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

namespace {

using namespace towline;
using job::message_kind;
using job::way_board;

std::span<way_board const> one(std::unique_ptr<way_board> const& b) { return {b.get(), 1}; }

TEST(ways, sizes_have_classes)
{
    EXPECT_EQ(way_board::class_of(0), 0u);
    EXPECT_EQ(way_board::class_of(1024), 0u);
    EXPECT_EQ(way_board::class_of(1025), 1u);
    EXPECT_EQ(way_board::class_of(65536), 6u);
    EXPECT_EQ(way_board::class_of(std::uint64_t{8} << 20), 13u);
    EXPECT_EQ(way_board::class_of(~std::uint64_t{0}), 13u);
    for (unsigned c = 0; c < way_board::sizes; ++c)
        EXPECT_EQ(way_board::class_of(way_board::most_of(c)), c);
}

TEST(ways, nothing_chosen_is_no_table)
{
    auto const b = std::make_unique<way_board>();
    EXPECT_EQ(tools::ways_table(one(b)), "");
    EXPECT_EQ(tools::ways_json(*b).dump(), R"({"messages":[],"blocks":[]})");
}

TEST(ways, each_kind_says_why)
{
    std::vector<way_board> boards(2);
    auto& measured = boards[0].of(message_kind::plain_rewritten, 40000);
    for (int i = 0; i < 3; ++i)
        measured.count(1, i == 0);
    measured.ns[0] = 5200;
    measured.ns[1] = 3600;
    measured.won[1] = 2;
    auto& other = boards[1].of(message_kind::plain_rewritten, 40000);
    other.count(0, false);
    other.ns[1] = 3500;
    boards[1].of(message_kind::heap_untouched, 5000).count(0, false);
    boards[0].of(message_kind::set, 1024).count(2, false);
    boards[1].of(message_kind::eager, 2000).count(0, false);
    boards[1].arrived(3, 20000, false);
    EXPECT_EQ(tools::ways_table(boards),
              "ways of messages (ns from one to the next, as the last trial measured it)\n"
              "          messages   up to       direct        relay  relay-past  why\n"
              "             eager   2 KiB            1            -           -  no trial has ended\n"
              "   heap, untouched   8 KiB            1            -           -  read where they lie: both cores keep the lines\n"
              "  plain, rewritten  64 KiB  1 (5200 ns)  3 (3500 ns)           -  trials won: relay 2\n"
              "               set   1 KiB            -            -           1  by TOWLINE_WAY or TOWLINE_LAYOUT\n"
              "ways of blocks\n"
              "    blocks   up to  pushed\n"
              "  received  32 KiB  1\n");
    EXPECT_EQ(tools::ways_json(boards[0]).dump(),
              R"({"messages":[{"kind":"plain, rewritten","bytes":65536,"sent":{"relay":3},"ns":{"direct":5200,"relay":3600},)"
              R"("won":{"relay":2}},{"kind":"set","bytes":1024,"sent":{"relay-past":1},"ns":{},"won":{}}],"blocks":[]})");
    EXPECT_EQ(tools::ways_json(boards[1])["blocks"].dump(), R"([{"bytes":32768,"pushed":1}])");
}

TEST(ways, a_board_of_anything_makes_lines_that_end)
{
    for (int const byte : {0xff, 0x80, 0x01}) {
        std::vector<way_board> boards(3);
        std::memset(static_cast<void*>(boards.data()), byte, boards.size() * sizeof(way_board));
        std::istringstream lines(tools::ways_table(boards));
        int count = 0;
        for (std::string line; std::getline(lines, line); ++count)
            EXPECT_LE(line.size(), 200u);
        EXPECT_EQ(count, 2 + static_cast<int>(way_board::sizes * job::message_kinds.size()) + 2 + static_cast<int>(way_board::sizes));
        auto const parsed = nlohmann::json::parse(tools::ways_json(boards[0]).dump());
        EXPECT_EQ(parsed["messages"].size(), way_board::sizes * job::message_kinds.size());
    }
}

} // namespace
