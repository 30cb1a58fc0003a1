#include "base/copy.hpp"

#include "base/copy_ways.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using towline::base::copy_block;
namespace copy_ways = towline::base::copy_ways;

std::vector<std::uint8_t> pattern(std::size_t n)
{
    std::vector<std::uint8_t> v(n);
    std::uint32_t x = 1;
    for (auto& b : v)
        b = static_cast<std::uint8_t>((x = x * 1664525 + 1013904223) >> 24);
    return v;
}

TEST(copy_block, nothing_may_be_nowhere)
{
    copy_block(nullptr, nullptr, 0);
}

/// Copies from and to every alignment; nothing around the target changes.
template <typename F>
void check_alignments(std::vector<std::size_t> const& sizes, F copy)
{
    auto const source = pattern(*std::max_element(sizes.begin(), sizes.end()) + 200);
    std::vector<std::uint8_t> target(source.size() + 300);
    auto const untouched = [](std::uint8_t b) { return b == 0xcc; };
    for (std::size_t const size : sizes)
        for (std::size_t const to : {0, 1, 31, 32, 63})
            for (std::size_t const from : {0, 1, 8, 16, 63}) {
                std::fill(target.begin(), target.end(), std::uint8_t{0xcc});
                copy(target.data() + 64 + to, source.data() + from, size);
                ASSERT_EQ(std::memcmp(target.data() + 64 + to, source.data() + from, size), 0) << size << " " << to << " " << from;
                ASSERT_TRUE(std::all_of(target.begin(), target.begin() + 64 + to, untouched)) << size << " " << to;
                ASSERT_TRUE(std::all_of(target.begin() + 64 + to + size, target.end(), untouched)) << size << " " << to;
            }
}

TEST(copy_block, copies_every_byte_and_no_other_at_every_alignment)
{
    check_alignments({1, 63, 64, 65, 1023, 1024, 1025, 1151, 1152, 2000, 4096, 8192, 65535, 65536, 65537}, copy_block);
}

class every_way : public testing::TestWithParam<copy_ways::way> {};

TEST_P(every_way, copies_every_byte_and_no_other_at_every_alignment)
{
    auto const by = [](void* to, void const* from, std::size_t bytes) {
        copy_ways::copy(GetParam(), static_cast<std::byte*>(to), static_cast<std::byte const*>(from), bytes);
    };
    check_alignments({0, 1, 63, 64, 127, 128, 129, 191, 192, 193, 255, 256, 257, 319, 320, 1000, 1024, 4095, 4096, 65535, 65536, 65537},
                     by);
}

TEST_P(every_way, parts_make_a_whole)
{
    // As two sides take them: from the front and from the back, in units of a page.
    std::size_t const whole = (std::size_t{256} << 10) + 77;
    auto const source = pattern(whole);
    std::vector<std::uint8_t> target(whole + 1, 0xcc);
    std::size_t front = 0, back = whole;
    for (std::size_t share = 4096; front < back; share = share * 5 % 61440 + 4096) {
        std::size_t const n = std::min(share, back - front);
        towline::base::copy_part(target.data() + front, source.data() + front, n, GetParam());
        front += n;
        std::size_t const m = std::min(share, back - front);
        back -= m;
        towline::base::copy_part(target.data() + back, source.data() + back, m, GetParam());
    }
    EXPECT_EQ(std::memcmp(target.data(), source.data(), whole), 0);
    EXPECT_EQ(target[whole], 0xcc);
}

// What follows a copy is seen after it, however it was made.
TEST_P(every_way, is_seen_by_who_sees_the_next_store)
{
    std::size_t const size = 64 << 10;
    std::vector<std::uint8_t> source(size), target(size);
    std::atomic<int> ready{0}, seen{0};
    std::thread reader([&] {
        for (int i = 1; i <= 200; ++i) {
            while (ready.load(std::memory_order_acquire) != i)
                std::this_thread::yield();
            EXPECT_TRUE(std::all_of(target.rbegin(), target.rend(), [i](auto b) { return b == static_cast<std::uint8_t>(i); })) << i;
            seen.store(i, std::memory_order_release);
        }
    });
    for (int i = 1; i <= 200; ++i) {
        std::fill(source.begin(), source.end(), static_cast<std::uint8_t>(i));
        towline::base::copy_part(target.data(), source.data(), size, GetParam());
        ready.store(i, std::memory_order_release);
        while (seen.load(std::memory_order_acquire) != i)
            std::this_thread::yield();
    }
    reader.join();
}

std::string name_of(testing::TestParamInfo<copy_ways::way> const& way)
{
    constexpr std::array names{"memcpy", "string", "loop", "past"};
    return names[static_cast<std::size_t>(way.param)];
}
INSTANTIATE_TEST_SUITE_P(copy, every_way,
                         testing::Values(copy_ways::way::memcpy, copy_ways::way::string, copy_ways::way::loop, copy_ways::way::past),
                         name_of);

// Sizes around those at which another way is taken, to memory that comes again and again and to memory that does not.
TEST(way_of_copy, any_answer_is_right)
{
    std::size_t const most = std::size_t{40} << 20;
    auto const source = pattern(std::size_t{4} << 20);
    auto const target = std::make_unique_for_overwrite<std::uint8_t[]>(most);
    std::memset(target.get(), 0, most);
    std::size_t at = 0;
    for (int i = 0; i < 400; ++i)
        for (std::size_t const size : {65535, 65536, 65537, 262144, 262145, 1 << 20}) {
            at = i % 3 == 0 ? 4096 : (at + 777777) % (most - size);
            copy_block(target.get() + at, source.data() + i, size);
            ASSERT_EQ(std::memcmp(target.get() + at, source.data() + i, size), 0) << size << " " << at;
        }
}

TEST(copy_block, copies_big_blocks)
{
    // Sizes on both sides of those from which on it goes other ways.
    std::size_t const most = (std::size_t{48} << 20) + 77;
    auto const source = pattern(most + 3);
    auto const target = std::make_unique_for_overwrite<std::uint8_t[]>(most + 130);
    for (std::size_t const size : {(std::size_t{256} << 10) + 1, (std::size_t{16} << 20) - 1, std::size_t{16} << 20, most}) {
        std::memset(target.get(), 0xcc, most + 130);
        copy_block(target.get() + 65, source.data() + 3, size);
        EXPECT_EQ(std::memcmp(target.get() + 65, source.data() + 3, size), 0) << size;
        EXPECT_EQ(target[64], 0xcc);
        EXPECT_EQ(target[65 + size], 0xcc);
    }
}

} // namespace
