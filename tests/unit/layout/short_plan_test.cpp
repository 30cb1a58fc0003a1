// Which types have short plans; that these are right is for random_test.cpp.

#include "layout/datatype.hpp"
#include "layout/short_plan.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

namespace {

using namespace towline::layout;

bool holds(datatype const& type)
{
    short_plan p;
    p.make(type);
    return p.holds();
}

TEST(short_plans, hold_up_to_sixteen_pieces_of_half_a_kibibyte)
{
    datatype const byte = datatype::of(kind::byte);
    EXPECT_TRUE(holds(vector(2, 4, 8, byte)));
    EXPECT_TRUE(holds(vector(16, 32, 64, byte)));
    EXPECT_FALSE(holds(vector(17, 1, 2, byte))) << "too many pieces";
    EXPECT_FALSE(holds(vector(2, 257, 300, byte))) << "too many bytes";
    EXPECT_TRUE(holds(vector(4, 1, 9, vector(4, 1, 2, byte)))) << "a loop of loops";
    EXPECT_FALSE(holds(vector(5, 1, 9, vector(4, 1, 2, byte))));
    EXPECT_TRUE(holds(datatype::of(kind::short_int)) || datatype::of(kind::short_int).is_block());
}

TEST(short_plans, hold_no_blocks)
{
    EXPECT_FALSE(holds(datatype::of(kind::double_c)));
    EXPECT_FALSE(holds(contiguous(7, datatype::of(kind::int_c))));
    EXPECT_FALSE(holds(contiguous(0, datatype::of(kind::int_c)))) << "no data at all";
    EXPECT_FALSE(holds(resized(datatype::of(kind::double_c), -8, 64))) << "one block, wherever its neighbours are";
}

TEST(short_plans, pack_and_unpack_pieces_of_many_sizes)
{
    std::array<std::int64_t, 5> const lengths{1, 3, 2, 40, 9}, places{70, 3, 10, 20, 61};
    short_plan p;
    p.make(hindexed(lengths, places, datatype::of(kind::byte)));
    ASSERT_TRUE(p.holds());
    ASSERT_EQ(p.bytes(), 55);
    std::array<unsigned char, 80> from{}, back{}, expected{};
    std::iota(from.begin(), from.end(), static_cast<unsigned char>(1));
    std::array<unsigned char, 55> row{};
    p.pack(from.data(), row.data());
    p.unpack(back.data(), row.data());
    std::size_t at = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i)
        for (std::int64_t k = 0; k < lengths[i]; ++k, ++at) {
            auto const place = static_cast<std::size_t>(places[i] + k);
            EXPECT_EQ(row[at], from[place]);
            expected[place] = from[place];
        }
    EXPECT_EQ(back, expected);
}

} // namespace
