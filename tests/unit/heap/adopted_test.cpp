// Which addresses were adopted, and where else they are.

#include "heap/adopted.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace heap = towline::heap;

namespace {
constexpr std::size_t page = 4096;
}

TEST(adopted_memory, finds_what_lies_wholly_in_a_range)
{
    std::vector<std::byte> memory(16 * page), arena(16 * page);
    heap::adopted_memory m;
    EXPECT_EQ(m.find(memory.data(), 1), nullptr);
    ASSERT_TRUE(m.add({&memory[8 * page], 2 * page, &arena[0]}));
    ASSERT_TRUE(m.add({&memory[2 * page], page, &arena[4 * page]}));
    EXPECT_EQ(m.find(&memory[8 * page], 2 * page), &arena[0]);
    EXPECT_EQ(m.find(&memory[9 * page + 5], page - 5), &arena[page + 5]);
    EXPECT_EQ(m.find(&memory[9 * page + 5], page - 4), nullptr);
    EXPECT_EQ(m.find(&memory[9 * page + 5], ~std::size_t{0}), nullptr);
    EXPECT_EQ(m.find(&memory[2 * page], page), &arena[4 * page]);
    EXPECT_EQ(m.find(&memory[2 * page - 1], 1), nullptr);
    EXPECT_EQ(m.find(&memory[2 * page - 1], 2), nullptr);
    EXPECT_EQ(m.find(&memory[3 * page], 1), nullptr) << "between two ranges";
    EXPECT_EQ(m.find(&memory[10 * page], 1), nullptr);
    EXPECT_EQ(m.find(nullptr, 1), nullptr);
    EXPECT_EQ(m.all().size(), 2u);
}

TEST(adopted_memory, has_so_many_places)
{
    std::vector<std::byte> memory(page);
    heap::adopted_memory m;
    for (std::size_t i = 0; i < heap::adopted_memory::most; ++i)
        EXPECT_TRUE(m.add({memory.data(), page, memory.data()}));
    EXPECT_FALSE(m.add({memory.data(), page, memory.data()}));
}
