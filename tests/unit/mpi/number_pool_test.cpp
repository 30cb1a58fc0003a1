#include "mpi/communicator_numbers.hpp"
#include "mpi/number_pool.hpp"

#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

using towline::mpi::number_pool;

// Pins docs/wire.md, "Communicators".
static_assert(sizeof(towline::mpi::returned_number) == 4 && offsetof(towline::mpi::returned_number, number) == 0);
static_assert(number_pool::bits == 30 && number_pool::none == 0);

namespace {

/// Processes that leave 3 bits for their slots: 2 to 7.
constexpr int few_slots = 1 << 27;

} // namespace

TEST(number_pool, numbers_say_whose_they_are_and_begin_behind_those_of_the_standard)
{
    for (int const processes : {1, 2, 3, 4, 5, 1000, 1 << 20}) {
        for (int const self : {0, processes - 1}) {
            number_pool p(self, processes);
            std::uint32_t const a = p.reserve(), b = p.reserve();
            EXPECT_NE(a, b);
            EXPECT_GE(a, 2u);
            EXPECT_LT(std::max(a, b), 1u << 30);
            EXPECT_EQ(p.owner(a), self);
            EXPECT_EQ(p.owner(b), self);
        }
    }
}

TEST(number_pool, a_number_is_free_when_all_have_given_it_back)
{
    number_pool p(5, few_slots);
    std::vector<std::uint32_t> all;
    for (std::uint32_t n = p.reserve(); n != number_pool::none; n = p.reserve()) {
        p.settle(n, 3);
        all.push_back(n);
    }
    EXPECT_EQ(all.size(), 6u);
    EXPECT_TRUE(p.give_back(all[2]));
    EXPECT_TRUE(p.give_back(all[2]));
    EXPECT_EQ(p.reserve(), number_pool::none);
    EXPECT_TRUE(p.give_back(all[2]));
    EXPECT_EQ(p.reserve(), all[2]);
}

TEST(number_pool, the_oldest_free_one_comes_first_and_only_after_others)
{
    number_pool p(0, few_slots);
    std::uint32_t const a = p.reserve(), b = p.reserve();
    p.settle(a, 1);
    p.settle(b, 1);
    EXPECT_TRUE(p.give_back(b));
    EXPECT_TRUE(p.give_back(a));
    std::set<std::uint32_t> fresh;
    for (int i = 0; i < 4; ++i)
        fresh.insert(p.reserve());
    EXPECT_EQ(fresh.size(), 4u);
    EXPECT_FALSE(fresh.contains(a) || fresh.contains(b));
    EXPECT_EQ(p.reserve(), b);
    EXPECT_EQ(p.reserve(), a);
    EXPECT_EQ(p.reserve(), number_pool::none);
}

TEST(number_pool, what_was_never_used_is_used_at_once)
{
    number_pool p(0, 2);
    std::uint32_t const a = p.reserve();
    p.cancel(a);
    EXPECT_EQ(p.reserve(), a);
    p.cancel(number_pool::none);
    p.settle(number_pool::none, 2);
    EXPECT_EQ(p.reserve(), a + 1);
}

TEST(number_pool, members_may_be_done_before_it_is_known_how_many_they_are)
{
    number_pool p(0, few_slots);
    std::uint32_t const a = p.reserve();
    EXPECT_TRUE(p.give_back(a));
    EXPECT_TRUE(p.give_back(a));
    p.settle(a, 2);
    EXPECT_FALSE(p.give_back(a));
    std::uint32_t const b = p.reserve();
    EXPECT_TRUE(p.give_back(b));
    p.settle(b, 2);
    EXPECT_TRUE(p.give_back(b));
}

TEST(number_pool, what_is_not_out_is_not_taken_back)
{
    number_pool p(1, 4);
    std::uint32_t const a = p.reserve();
    p.settle(a, 1);
    EXPECT_FALSE(p.give_back(a + 1));
    EXPECT_FALSE(p.give_back(a ^ (2u << 28)));  // another process's
    EXPECT_FALSE(p.give_back(~0u));
    EXPECT_FALSE(p.give_back(a & ~0xfu));  // that of the world, or of nobody
    EXPECT_TRUE(p.give_back(a));
    EXPECT_FALSE(p.give_back(a));
}

TEST(number_pool, bounded_whatever_happens_in_which_order)
{
    unsigned const seed = 20260;
    std::minstd_rand random(seed);
    number_pool p(3, 64);
    std::map<std::uint32_t, int> out;
    std::uint32_t highest = 0;
    for (int i = 0; i < 300'000; ++i) {
        if (out.size() < 200 && random() % 2 == 0) {
            std::uint32_t const n = p.reserve();
            ASSERT_FALSE(out.contains(n)) << "seed " << seed;
            highest = std::max(highest, n & 0xffffff);
            if (random() % 8 == 0) {
                p.cancel(n);
                continue;
            }
            int const members = 1 + static_cast<int>(random() % 5);
            p.settle(n, members);
            out[n] = members;
        } else if (!out.empty()) {
            auto at = out.lower_bound(3u << 24 | static_cast<std::uint32_t>(random()) % (highest + 1));
            if (at == out.end())
                at = out.begin();
            ASSERT_TRUE(p.give_back(at->first)) << "seed " << seed;
            if (--at->second == 0)
                out.erase(at);
        }
    }
    EXPECT_LT(highest, 4096u + 200 + 10);
}

TEST(number_pool, threads_get_different_ones)
{
    number_pool p(0, 1);
    std::vector<std::vector<std::uint32_t>> got(4);
    {
        std::vector<std::jthread> threads;
        for (auto& mine : got)
            threads.emplace_back([&] {
                for (int i = 0; i < 2000; ++i) {
                    std::uint32_t const n = p.reserve();
                    p.settle(n, 1);
                    if (i % 4 == 0)
                        (void)p.give_back(n);
                    else
                        mine.push_back(n);
                }
            });
    }
    std::set<std::uint32_t> all;
    std::size_t count = 0;
    for (auto const& mine : got) {
        all.insert(mine.begin(), mine.end());
        count += mine.size();
    }
    EXPECT_EQ(all.size(), count);
}
