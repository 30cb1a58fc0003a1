// Layouts as they are written, every prefix of them, and seeded mutations: each is refused by name, or stays inside its segment.
// TOWLINE_FUZZ_SEED=n repeats a run; TOWLINE_FUZZ_LAYOUTS=n makes n mutations.

#include "fuzz/layouts.hpp"

#include "layout/copy_plan.hpp"
#include "layout/datatype.hpp"
#include "layout/serial.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace towline;
using namespace towline::layout;
using words = std::vector<std::uint64_t>;
using list = std::vector<std::int64_t>;

words written(datatype const& type, std::int64_t count)
{
    placed whole = elements_of(type, count);
    std::int64_t const last = (count - 1) * type.extent(), low = type.true_lb() + std::min<std::int64_t>(0, last);
    whole.displacement -= low;
    words all{static_cast<std::uint64_t>(whole.size()), static_cast<std::uint64_t>(type.true_ub() + std::max<std::int64_t>(0, last) - low)};
    for (std::uint64_t const w : serialize(whole))
        all.push_back(w);
    return all;
}

/// One of each form, nested.
std::vector<words> seeds()
{
    datatype const number = datatype::of(kind::double_c), byte = datatype::of(kind::byte);
    datatype const face = subarray(list{16, 8, 8}, list{16, 8, 1}, list{0, 0, 3}, array_order::c, number);
    datatype const pieces = indexed(list{1, 3, 2, 5}, list{0, 7, 13, 30}, number);
    datatype const scattered = indexed_block(2, list{5, 90, 1, 40, 33, 70, 12}, number);
    datatype const mixed = structure(list{1, 2, 1}, list{0, 2000, 5000}, std::vector{pieces, scattered, face});
    return {written(byte, 100),   written(vector(20, 3, 7, number), 2), written(face, 1),
            written(pieces, 3),   written(scattered, 2),                written(mixed, 2),
            written(resized(vector(9, 1, 9, number), 0, 8), 9)};
}

bool feed(words const& w)
{
    return test::feed_layout({reinterpret_cast<std::uint8_t const*>(w.data()), w.size() * sizeof(std::uint64_t)});
}

TEST(layouts, as_they_are_written_are_accepted)
{
    for (words const& w : seeds())
        EXPECT_TRUE(feed(w));
}

TEST(layouts, cut_short_are_refused)
{
    for (words w : seeds())
        while (!w.empty()) {
            w.pop_back();
            EXPECT_FALSE(feed(w)) << w.size() << " words";
        }
}

TEST(layouts, mutated_stay_inside_their_segment)
{
    char const* const given = std::getenv("TOWLINE_FUZZ_SEED");
    auto const seed = given != nullptr ? static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10)) : std::random_device()();
    std::fprintf(stderr, "repeat with TOWLINE_FUZZ_SEED=%u\n", seed);
    char const* const wanted = std::getenv("TOWLINE_FUZZ_LAYOUTS");
    int const rounds = wanted != nullptr ? std::atoi(wanted) : 20000;
    std::mt19937_64 random(seed);
    auto const all = seeds();
    int accepted = 0;
    for (int i = 0; i < rounds; ++i) {
        words w = all[random() % all.size()];
        for (auto k = random() % 4 + 1; k > 0 && !w.empty(); --k) {
            std::size_t const at = random() % w.size();
            words const& other = all[random() % all.size()];
            std::uint64_t const small = random() % 64, bit = std::uint64_t{1} << random() % 64;
            switch (random() % 7) {
            case 0: w[at] = small; break;
            case 1: w[at] ^= bit; break;
            case 2: w[at] += small - 32; break;
            case 3: w[at] = other[random() % other.size()]; break;
            case 4: w.erase(w.begin() + static_cast<std::ptrdiff_t>(at)); break;
            case 5: w.insert(w.begin() + static_cast<std::ptrdiff_t>(at), w[random() % w.size()]); break;
            default: w[at] = random(); break;
            }
        }
        accepted += feed(w);
    }
    if (rounds >= 20000) {
        EXPECT_GT(accepted, 0) << "no mutation reaches what is behind the checks";
    }
}

} // namespace
