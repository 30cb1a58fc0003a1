// The registration cache against a back-end that knows what is made: by hand, at random against invariants that a reader can check, and
// from many threads.

#include "heap/registration_cache.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace {

using towline::heap::registration_cache;
using lease = registration_cache::lease;
using space = registration_cache::space;

constexpr std::uintptr_t page = 4096;
constexpr std::uintptr_t base = 0x700000000000;

/// Numbers what it makes, and says what was wrong with a drop.
class recorder final : public registration_cache::back_end {
public:
    struct made_range {
        space of;
        std::uintptr_t begin;
        std::size_t bytes;
        bool operator==(made_range const&) const = default;
    };
    std::optional<registration_cache::handle> make(space of, std::uintptr_t begin, std::size_t bytes) noexcept override
    {
        std::lock_guard const lock(mutex);
        if (bytes == 0 || begin % page != 0)
            ++wrong;
        if (bytes > most || (refuses && refuses(begin, bytes)))
            return std::nullopt;
        live[++last] = {of, begin, bytes};
        return last;
    }
    void drop(space of, std::uintptr_t begin, std::size_t bytes, registration_cache::handle h) noexcept override
    {
        std::lock_guard const lock(mutex);
        auto const at = live.find(h);
        if (at == live.end() || !(at->second == made_range{of, begin, bytes}))
            ++wrong;
        else
            live.erase(at);
        dropped.push_back(h);
    }
    [[nodiscard]] bool is_live(registration_cache::handle h)
    {
        std::lock_guard const lock(mutex);
        return live.contains(h);
    }

    std::mutex mutex;
    std::map<registration_cache::handle, made_range> live;
    std::vector<registration_cache::handle> dropped;
    registration_cache::handle last = 0;
    std::size_t most = ~std::size_t{0};
    bool (*refuses)(std::uintptr_t, std::size_t) = nullptr;
    int wrong = 0;
};

std::uintptr_t at(std::size_t number) { return base + number * page; }

bool covers(lease const& l, std::uintptr_t begin, std::size_t bytes)
{
    return l && l.begin() <= begin && l.begin() + l.bytes() >= begin + bytes;
}

unsigned test_seed()
{
    char const* const given = std::getenv("TOWLINE_TEST_SEED");
    return given != nullptr ? static_cast<unsigned>(std::atoi(given)) : std::random_device{}();
}

TEST(registration_cache, makes_whole_pages_once)
{
    recorder b;
    {
        registration_cache c(b);
        auto const first = c.acquire(1, at(3) + 100, 50);
        ASSERT_TRUE(first);
        EXPECT_EQ(first.begin(), at(3));
        EXPECT_EQ(first.bytes(), page);
        auto const second = c.acquire(1, at(3), page);
        EXPECT_EQ(second.made(), first.made());
        EXPECT_NE(c.acquire(2, at(3), page).made(), first.made());  // another address space
        EXPECT_EQ(c.stats().hits, 1u);
        EXPECT_EQ(c.stats().made, 2u);
        EXPECT_EQ(c.check(), nullptr);
    }
    EXPECT_EQ(b.wrong, 0);
}

TEST(registration_cache, drops_all_at_its_end)
{
    recorder b;
    {
        registration_cache c(b);
        for (std::size_t i = 0; i < 10; ++i)
            EXPECT_TRUE(c.acquire(0, at(2 * i), 10));
        EXPECT_EQ(b.live.size(), 10u);
    }
    EXPECT_EQ(b.live.size(), 0u);
    EXPECT_EQ(b.wrong, 0);
}

TEST(registration_cache, a_request_that_overlaps_makes_one_range_of_all)
{
    recorder b;
    registration_cache c(b);
    auto const left = c.acquire(1, at(0), 2 * page);
    EXPECT_TRUE(c.acquire(1, at(4), 2 * page));
    EXPECT_TRUE(c.acquire(1, at(6), page));  // touches, and stays apart
    auto const whole = c.acquire(1, at(1), 4 * page);
    EXPECT_EQ(whole.begin(), at(0));
    EXPECT_EQ(whole.bytes(), 6 * page);
    EXPECT_EQ(c.stats().merged, 2u);
    EXPECT_EQ(c.stats().ranges, 3u);   // left is in use still
    EXPECT_TRUE(b.is_live(left.made()));
    EXPECT_EQ(c.acquire(1, at(0), 10).made(), whole.made());
    EXPECT_EQ(c.acquire(1, at(5), page).made(), whole.made());
    EXPECT_EQ(c.check(), nullptr);
}

TEST(registration_cache, a_retired_range_lives_as_long_as_its_leases)
{
    recorder b;
    registration_cache c(b);
    auto first = c.acquire(1, at(0), page);
    auto second = c.acquire(1, at(0), page);
    auto const number = first.made();
    EXPECT_EQ(c.invalidate(1, at(0) + 5, 1), 1u);
    EXPECT_TRUE(b.is_live(number));
    auto const fresh = c.acquire(1, at(0), page);
    EXPECT_NE(fresh.made(), number);
    first.end();
    first.end();
    EXPECT_TRUE(b.is_live(number));
    second = lease();
    EXPECT_FALSE(b.is_live(number));
    EXPECT_TRUE(b.is_live(fresh.made()));
    EXPECT_EQ(b.wrong, 0);
}

TEST(registration_cache, leases_move)
{
    recorder b;
    registration_cache c(b);
    auto one = c.acquire(1, at(0), page);
    lease two = std::move(one);
    EXPECT_FALSE(one);
    auto* const same = &two;
    two = std::move(*same);
    EXPECT_TRUE(two);
    EXPECT_EQ(c.invalidate(1, at(0), page), 1u);
    EXPECT_EQ(b.live.size(), 1u);
    two = c.acquire(1, at(1), page);
    EXPECT_EQ(b.live.size(), 1u);
    EXPECT_EQ(c.check(), nullptr);
}

TEST(registration_cache, invalidation_hits_what_overlaps_and_nothing_else)
{
    recorder b;
    registration_cache c(b);
    EXPECT_EQ(c.invalidate(1, 0, ~std::size_t{0}), 0u);
    for (space s = 0; s < 3; ++s)
        for (std::size_t i = 0; i < 5; ++i)
            EXPECT_TRUE(c.acquire(s, at(2 * i), page));
    EXPECT_EQ(c.invalidate(1, at(1), page), 0u);
    EXPECT_EQ(c.invalidate(1, at(2), 0), 0u);
    EXPECT_EQ(c.invalidate(1, at(1) + page - 1, 2), 1u);      // the first byte of page 2
    EXPECT_EQ(c.invalidate(1, at(4) + page - 1, 1), 1u);      // the last byte of page 4
    EXPECT_EQ(c.invalidate(1, at(3), ~std::size_t{0}), 2u);   // to the end of all addresses
    EXPECT_EQ(c.invalidate_space(2), 5u);
    EXPECT_EQ(c.stats().ranges, 6u);
    EXPECT_EQ(c.invalidate_space(2), 0u);
    EXPECT_EQ(c.check(), nullptr);
    EXPECT_EQ(b.wrong, 0);
}

TEST(registration_cache, evicts_the_oldest_that_is_not_in_use)
{
    recorder b;
    registration_cache c(b, {.ranges = 3});
    auto const held = c.acquire(1, at(0), page);        // 1
    EXPECT_TRUE(c.acquire(1, at(2), page));             // 2
    EXPECT_TRUE(c.acquire(1, at(4), page));             // 3
    EXPECT_TRUE(c.acquire(1, at(2), page));             // a hit makes it no younger
    EXPECT_TRUE(c.acquire(1, at(6), page));             // 4 drives out 2
    EXPECT_TRUE(c.acquire(1, at(8), page));             // 5 drives out 3
    EXPECT_EQ(b.dropped, (std::vector<registration_cache::handle>{2, 3}));
    EXPECT_EQ(c.stats().evicted, 2u);
    EXPECT_EQ(c.check(), nullptr);
}

TEST(registration_cache, is_bounded_in_bytes)
{
    recorder b;
    registration_cache c(b, {.bytes = 4 * page});
    EXPECT_FALSE(c.acquire(1, at(0), 4 * page + 1));
    EXPECT_TRUE(c.acquire(1, at(0), 4 * page));
    EXPECT_TRUE(c.acquire(1, at(10), page));
    EXPECT_EQ(c.stats().ranges, 1u);
    auto const held = c.acquire(1, at(20), 3 * page);
    EXPECT_FALSE(c.acquire(1, at(30), 2 * page));
    EXPECT_TRUE(c.acquire(1, at(30), page));
    EXPECT_EQ(c.stats().refused, 2u);
    EXPECT_EQ(c.check(), nullptr);
}

TEST(registration_cache, a_union_that_is_too_big_is_not_made)
{
    recorder b;
    registration_cache c(b, {.bytes = 6 * page});
    EXPECT_TRUE(c.acquire(1, at(0), 4 * page));
    auto const l = c.acquire(1, at(3), 4 * page);  // both are 7 pages
    EXPECT_TRUE(covers(l, at(3), 4 * page));
    EXPECT_EQ(l.bytes(), 4 * page);
    EXPECT_EQ(c.check(), nullptr);
}

TEST(registration_cache, makes_large_granules_and_small_ones_where_those_are_refused)
{
    recorder b;
    registration_cache c(b, {.granule = 16 * page});
    EXPECT_EQ(c.acquire(1, at(3), page).bytes(), 16 * page);
    EXPECT_EQ(c.acquire(1, at(9), page).made(), 1u);
    b.refuses = [](std::uintptr_t, std::size_t bytes) { return bytes >= 16 * page; };
    auto const l = c.acquire(1, at(35), 2 * page);
    EXPECT_EQ(l.begin(), at(35));
    EXPECT_EQ(l.bytes(), 2 * page);
    b.most = 0;
    EXPECT_FALSE(c.acquire(1, at(90), page));
    EXPECT_EQ(c.check(), nullptr);
}

TEST(registration_cache, refuses_what_is_no_range)
{
    recorder b;
    registration_cache c(b, {.granule = page});
    EXPECT_FALSE(c.acquire(1, base, 0));
    EXPECT_FALSE(c.acquire(1, ~std::uintptr_t{0} - 10, 12));
    EXPECT_FALSE(c.acquire(1, base, ~std::size_t{0}));
    EXPECT_TRUE(c.acquire(1, ~std::uintptr_t{0} - 10, 5));
    EXPECT_TRUE(c.acquire(1, 0, 5));
    EXPECT_EQ(b.wrong, 0);
    EXPECT_EQ(c.check(), nullptr);
}

TEST(registration_cache, nothing_fits_where_nothing_may_be_kept)
{
    recorder b;
    registration_cache none(b, {.ranges = 0});
    EXPECT_FALSE(none.acquire(1, base, 1));
    registration_cache no_bytes(b, {.bytes = 0});
    EXPECT_FALSE(no_bytes.acquire(1, base, 1));
    EXPECT_EQ(b.last, 0u);
}

TEST(registration_cache, agrees_with_a_model)
{
    unsigned const seed = test_seed();
    SCOPED_TRACE("TOWLINE_TEST_SEED=" + std::to_string(seed));
    std::mt19937 random(seed);
    constexpr std::size_t pages = 64;
    constexpr space spaces = 3;
    for (int round = 0; round < 20; ++round) {
        recorder b;
        registration_cache::limits const l{
            .ranges = 4 + random() % 30, .bytes = (16 + random() % 200) * page, .granule = page << random() % 3};
        {
            registration_cache c(b, l);
            // What a page of a space was made by must be younger than its last invalidation.
            std::array<std::array<registration_cache::handle, pages + 8>, spaces> oldest{};
            struct held {
                lease l;
                std::uintptr_t begin;
                std::size_t bytes;
            };
            std::vector<held> leases;
            for (int step = 0; step < 3000; ++step) {
                auto const s = static_cast<space>(random() % spaces);
                std::size_t const first = random() % pages;
                std::uintptr_t const begin = at(first) + random() % page;
                std::size_t const bytes = 1 + random() % ((1 + random() % 12) * page);
                std::size_t const last = std::min((begin + bytes - 1 - base) / page, pages + 7);
                b.most = random() % 20 == 0 ? 0 : ~std::size_t{0};
                switch (random() % 8) {
                case 0:
                case 1:
                case 2:
                case 3: {
                    auto got = c.acquire(s, begin, bytes);
                    if (!got)
                        break;
                    ASSERT_TRUE(covers(got, begin, bytes));
                    ASSERT_TRUE(b.is_live(got.made()));
                    for (std::size_t p = first; p <= last; ++p)
                        ASSERT_GT(got.made(), oldest[s][p]);
                    if (leases.size() < 12)
                        leases.push_back({std::move(got), begin, bytes});
                    break;
                }
                case 4:
                case 5:
                    if (!leases.empty()) {
                        std::swap(leases[random() % leases.size()], leases.back());
                        ASSERT_TRUE(b.is_live(leases.back().l.made()));
                        leases.pop_back();
                    }
                    break;
                case 6:
                    (void)c.invalidate(s, begin, bytes);
                    for (std::size_t p = first; p <= last; ++p)
                        oldest[s][p] = b.last;
                    break;
                case 7:
                    if (random() % 20 == 0) {
                        (void)c.invalidate_space(s);
                        oldest[s].fill(b.last);
                    }
                    break;
                }
                for (auto const& h : leases)
                    ASSERT_TRUE(b.is_live(h.l.made()) && covers(h.l, h.begin, h.bytes));
                ASSERT_EQ(c.check(), nullptr);
                ASSERT_EQ(c.stats().ranges, b.live.size());
            }
        }
        EXPECT_EQ(b.wrong, 0);
        EXPECT_TRUE(b.live.empty());
    }
}

TEST(registration_cache, serves_many_threads)
{
    unsigned const seed = test_seed();
    SCOPED_TRACE("TOWLINE_TEST_SEED=" + std::to_string(seed));
    recorder b;
    std::atomic<int> bad{0};
    {
        registration_cache c(b, {.ranges = 24, .bytes = 80 * page});
        std::vector<std::thread> threads;
        for (unsigned t = 0; t < 4; ++t)
            threads.emplace_back([&, t] {
                std::mt19937 random(seed + t);
                std::vector<lease> mine;
                for (int step = 0; step < 4000; ++step) {
                    auto const s = static_cast<space>(random() % 2);
                    std::uintptr_t const begin = at(random() % 48);
                    std::size_t const bytes = (1 + random() % 6) * page;
                    switch (random() % 4) {
                    case 0:
                    case 1: {
                        auto l = c.acquire(s, begin, bytes);
                        if (l && (!covers(l, begin, bytes) || !b.is_live(l.made())))
                            ++bad;
                        if (mine.size() < 4)
                            mine.push_back(std::move(l));
                        else
                            mine[random() % 4] = std::move(l);
                        break;
                    }
                    case 2:
                        if (!mine.empty()) {
                            if (mine.back() && !b.is_live(mine.back().made()))
                                ++bad;
                            mine.pop_back();
                        }
                        break;
                    case 3: (void)c.invalidate(s, begin, bytes); break;
                    }
                }
            });
        for (auto& t : threads)
            t.join();
        EXPECT_EQ(c.check(), nullptr);
    }
    EXPECT_EQ(bad, 0);
    EXPECT_EQ(b.wrong, 0);
    EXPECT_TRUE(b.live.empty());
}

} // namespace
