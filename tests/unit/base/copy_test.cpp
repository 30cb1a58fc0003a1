#include "base/copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

namespace {

using towline::base::copy_block;

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

TEST(copy_block, copies_every_byte_and_no_other_at_every_alignment)
{
    auto const source = pattern(8192 + 200);
    std::vector<std::uint8_t> target(source.size() + 300);
    for (std::size_t const size : {1, 63, 64, 65, 1023, 1024, 1025, 1151, 1152, 2000, 4096, 8192})
        for (std::size_t to : {0, 1, 31, 32, 63})
            for (std::size_t from : {0, 1, 8, 16, 63}) {
                std::fill(target.begin(), target.end(), std::uint8_t{0xcc});
                copy_block(target.data() + 64 + to, source.data() + from, size);
                ASSERT_TRUE(std::equal(source.begin() + from, source.begin() + from + size, target.begin() + 64 + to)) << size << to << from;
                ASSERT_TRUE(std::all_of(target.begin(), target.begin() + 64 + to, [](auto b) { return b == 0xcc; })) << size << to << from;
                ASSERT_TRUE(std::all_of(target.begin() + 64 + to + size, target.end(), [](auto b) { return b == 0xcc; })) << size << to << from;
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
