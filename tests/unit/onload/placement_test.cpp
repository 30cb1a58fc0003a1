// TOWLINE_ONLOAD, and which core a helper gets on invented machines.

#include "onload/placement.hpp"

#include <towline/error.hpp>

#include <cstdlib>
#include <gtest/gtest.h>

namespace {

using namespace towline::onload;
using cores = std::vector<int>;

TEST(onload_request, reads_its_words_and_refuses_others)
{
    EXPECT_EQ(parse_request("off")->what, wish::off);
    EXPECT_EQ(parse_request("on")->what, wish::on);
    EXPECT_EQ(parse_request("auto")->what, wish::automatic);
    EXPECT_EQ(parse_request("0")->what, wish::core);
    EXPECT_EQ(parse_request("0")->core, 0);
    EXPECT_EQ(parse_request("17")->core, 17);
    for (char const* const bad : {"", "maybe", "-1", "1.5", "3x", "99999999999", "70000", "1,2"})
        EXPECT_FALSE(parse_request(bad)) << bad;
    ::setenv("TOWLINE_ONLOAD", "sometimes", 1);
    try {
        (void)requested();
        FAIL();
    } catch (towline::usage_error const& e) {
        EXPECT_NE(std::string(e.what()).find("TOWLINE_ONLOAD='sometimes'"), std::string::npos) << e.what();
    }
    ::unsetenv("TOWLINE_ONLOAD");
    EXPECT_EQ(requested().what, wish::off);
}

TEST(onload_placement, automatic_needs_a_spare_core)
{
    request const r{};
    EXPECT_FALSE(place(r, {.rank = 0, .ranks = 2, .cores = 2, .allowed = {0, 1}}).on);
    EXPECT_FALSE(place(r, {.rank = 0, .ranks = 32, .cores = 2, .allowed = {0, 1}}).on);
    EXPECT_FALSE(place(r, {.rank = 0, .ranks = 1, .cores = 8, .allowed = {0, 1, 2, 3, 4, 5, 6, 7}}).on);
    auto const p = place(r, {.rank = 0, .ranks = 2, .cores = 3, .allowed = {0, 1, 2}});
    EXPECT_TRUE(p.on);
    EXPECT_FALSE(p.own_core);
    EXPECT_EQ(p.cores, (cores{0, 1, 2}));
    // A quota below the number of cores counts.
    EXPECT_FALSE(place(r, {.rank = 0, .ranks = 2, .cores = 2, .allowed = {0, 1, 2, 3}}).on);
    EXPECT_NE(place(r, {.rank = 0, .ranks = 2, .cores = 2, .allowed = {0, 1}}).why.find("2 cores for 2 ranks"), std::string::npos);
}

TEST(onload_placement, helpers_get_cores_that_no_rank_is_bound_to)
{
    surroundings s{.rank = 0, .ranks = 2, .cores = 4, .allowed = {4, 5, 6, 7}, .bound = {4, 5}};
    auto p = place({}, s);
    EXPECT_TRUE(p.on);
    EXPECT_TRUE(p.own_core);
    EXPECT_EQ(p.cores, cores{6});
    s.rank = 1;
    EXPECT_EQ(place({}, s).cores, cores{7});
    // One spare core for both.
    s.allowed = {4, 5, 6};
    s.cores = 3;
    p = place({}, s);
    EXPECT_EQ(p.cores, cores{6});
    EXPECT_FALSE(p.own_core);
    // Two ranks on one core leave the other.
    s = {.rank = 1, .ranks = 2, .cores = 2, .allowed = {0, 1}, .bound = {0, 0}};
    p = place({}, s);
    EXPECT_TRUE(p.on);
    EXPECT_EQ(p.cores, cores{1});
    // Every core has its rank.
    s = {.rank = 1, .ranks = 4, .cores = 4, .allowed = {0, 1, 2, 3}, .bound = {0, 1, 2, 3}};
    EXPECT_FALSE(place({}, s).on);
    EXPECT_TRUE(place({wish::on, -1}, s).on);
    EXPECT_EQ(place({wish::on, -1}, s).cores, (cores{0, 1, 2, 3}));
    EXPECT_FALSE(place({wish::off, -1}, s).on);
    EXPECT_FALSE(place({wish::on, -1}, s).spare);
    EXPECT_EQ(place({wish::core, 3}, s).cores, cores{3});
    EXPECT_FALSE(place({wish::core, 3}, s).spare);
    EXPECT_TRUE(place({wish::core, 4}, s).spare);
}

TEST(onload_placement, reads_lists_of_cores)
{
    EXPECT_EQ(*parse_cores("0-3,8"), (cores{0, 1, 2, 3, 8}));
    EXPECT_EQ(*parse_cores("5"), cores{5});
    for (char const* const bad : {"", "a", "3-1", "1-", "-", "1,,2", "0-99999999"})
        EXPECT_FALSE(parse_cores(bad)) << bad;
}

} // namespace
