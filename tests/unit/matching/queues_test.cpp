// The two queues against a list that is searched from its front.
#include "matching/queues.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <gtest/gtest.h>
#include <list>
#include <memory>
#include <random>

namespace {

using namespace towline::matching;

struct wish {
    pattern asked;
    chain_link<wish> link;
    std::uint64_t sequence = 0;
    int name = 0;
};
struct wish_access {
    static chain_link<wish>& of(wish& w) { return w.link; }
    static pattern const& key(wish const& w) { return w.asked; }
    static std::uint64_t& sequence(wish& w) { return w.sequence; }
};
struct letter_node {
    envelope letter;
    std::array<chain_link<letter_node>, 4> links;
    int name = 0;
};

std::uint64_t seed()
{
    if (char const* text = std::getenv("TOWLINE_TEST_SEED"))
        return std::strtoull(text, nullptr, 0);
    return std::random_device{}();
}

/// How much the keys differ: from all equal to all different.
struct spread {
    int contexts, sources, tags;
    unsigned wild;  ///< of 8 patterns so many have each wildcard
};

void compare(spread const& s, std::uint64_t from, int steps, std::size_t most)
{
    SCOPED_TRACE("TOWLINE_TEST_SEED=" + std::to_string(from));
    std::mt19937_64 random(from);
    auto const pick = [&](int n) { return static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(n)); };
    auto const random_pattern = [&] {
        pattern p{static_cast<context_id>(pick(s.contexts)), pick(s.sources), pick(s.tags)};
        if (random() % 8 < s.wild)
            p.source = any_source;
        if (random() % 8 < s.wild)
            p.tag = any_tag;
        return p;
    };
    posted_queue<wish, wish_access> posted;
    unexpected_queue<letter_node> unexpected;
    std::list<wish> model_posted;
    std::list<letter_node> model_unexpected;
    int names = 0;
    for (int step = 0; step < steps; ++step) {
        switch (random() % 8) {
        case 0: case 1: case 2: {  // a receive is posted, unless a message is there
            auto const p = random_pattern();
            auto const expected = std::find_if(model_unexpected.begin(), model_unexpected.end(), [&](auto const& l) { return p.matches(l.letter); });
            auto* const got = unexpected.find(p);
            if (expected == model_unexpected.end()) {
                ASSERT_EQ(got, nullptr);
                if (model_posted.size() < most) {
                    auto& w = model_posted.emplace_back();
                    w.asked = p;
                    w.name = ++names;
                    posted.post(w);
                }
            } else {
                ASSERT_EQ(got, &*expected);
                unexpected.remove(*got);
                model_unexpected.erase(expected);
            }
            break;
        }
        case 3: case 4: case 5: {  // a message comes
            envelope const e{static_cast<context_id>(pick(s.contexts)), pick(s.sources), pick(s.tags)};
            auto const expected = std::find_if(model_posted.begin(), model_posted.end(), [&](auto const& w) { return w.asked.matches(e); });
            auto* const got = posted.match(e);
            if (expected == model_posted.end()) {
                ASSERT_EQ(got, nullptr);
                if (model_unexpected.size() < most) {
                    auto& l = model_unexpected.emplace_back();
                    l.letter = e;
                    l.name = ++names;
                    unexpected.add(l);
                }
            } else {
                ASSERT_EQ(got, &*expected);
                model_posted.erase(expected);
            }
            break;
        }
        case 6:  // a receive is cancelled
            if (!model_posted.empty() && random() % 4 == 0) {
                auto at = std::next(model_posted.begin(), static_cast<std::ptrdiff_t>(random() % model_posted.size()));
                posted.remove(*at);
                model_posted.erase(at);
            }
            break;
        default: {  // a probe
            auto const p = random_pattern();
            auto const expected = std::find_if(model_unexpected.begin(), model_unexpected.end(), [&](auto const& l) { return p.matches(l.letter); });
            ASSERT_EQ(unexpected.find(p), expected == model_unexpected.end() ? nullptr : &*expected);
            envelope const e{static_cast<context_id>(pick(s.contexts)), pick(s.sources), pick(s.tags)};
            ASSERT_EQ(posted.has_match(e), std::ranges::any_of(model_posted, [&](auto const& w) { return w.asked.matches(e); }));
        }
        }
        ASSERT_EQ(posted.size(), model_posted.size());
        ASSERT_EQ(unexpected.size(), model_unexpected.size());
    }
    std::size_t seen = 0;
    posted.for_each([&](wish& w) {
        ++seen;
        posted.remove(w);
    });
    EXPECT_EQ(seen, model_posted.size());
    EXPECT_EQ(posted.size(), 0u);
}

TEST(matching_queues, agree_with_a_list)
{
    std::uint64_t const from = seed();
    std::fprintf(stderr, "seed %llu\n", static_cast<unsigned long long>(from));
    std::uint64_t n = 0;
    for (spread const& s : {spread{1, 1, 1, 2}, spread{2, 3, 4, 2}, spread{1, 2, 1000, 0}, spread{3, 50, 50, 1}, spread{1, 1, 20, 4},
                            spread{1000, 1, 1, 2}, spread{2, 2, 2, 7}})
        compare(s, from + n++, 20000, 500);
}

TEST(matching_queues, agree_with_a_list_when_large)
{
    compare({2, 200, 200, 0}, seed(), 30000, 5000);
}

TEST(matching_queues, the_oldest_of_many_equal_ones_is_first_while_the_table_grows)
{
    posted_queue<wish, wish_access> q;
    std::deque<wish> all(10000);
    for (int i = 0; i < 10000; ++i) {
        all[static_cast<std::size_t>(i)].asked = {1, i % 3, 7};
        q.post(all[static_cast<std::size_t>(i)]);
    }
    for (int i = 0; i < 10000; ++i)
        ASSERT_EQ(q.match({1, i % 3, 7}), &all[static_cast<std::size_t>(i)]);
    EXPECT_EQ(q.match({1, 0, 7}), nullptr);
}

TEST(matching_queues, extreme_numbers)
{
    posted_queue<wish, wish_access> q;
    std::deque<wish> all;
    constexpr std::int32_t most = 0x7fffffff;
    for (context_id const c : {0u, 1u, 0x7fffffffu, 0xffffffffu}) {
        for (std::int32_t const source : {0, 1, most, any_source}) {
            for (std::int32_t const tag : {0, 1, most, any_tag}) {
                auto& w = all.emplace_back();
                w.asked = {c, source, tag};
                q.post(w);
            }
        }
    }
    EXPECT_EQ(q.match({0xffffffffu, most, most})->asked, (pattern{0xffffffffu, most, most}));
    EXPECT_EQ(q.match({0xffffffffu, most, most})->asked, (pattern{0xffffffffu, most, any_tag}));
    EXPECT_EQ(q.match({0xffffffffu, most, most})->asked, (pattern{0xffffffffu, any_source, most}));
    EXPECT_EQ(q.match({0xffffffffu, most, most})->asked, (pattern{0xffffffffu, any_source, any_tag}));
    EXPECT_EQ(q.match({0xffffffffu, most, most}), nullptr);
    EXPECT_EQ(q.size(), 60u);
}

} // namespace
