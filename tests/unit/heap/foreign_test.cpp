#include "heap/foreign.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <thread>

namespace {

using towline::heap::foreign_blocks;

void const* at(std::uintptr_t address)
{
    return reinterpret_cast<void const*>(address);
}

TEST(foreign_blocks, knows_nothing_at_first)
{
    foreign_blocks all;
    EXPECT_EQ(all.count(), 0u);
    EXPECT_EQ(all.bytes_of(at(64)), 0u);
    all.remove(at(64));
    all.for_each([](std::byte*, std::size_t) { FAIL(); });
}

TEST(foreign_blocks, a_block_noted_again_has_its_new_size)
{
    foreign_blocks all;
    all.add(at(0x40000), 10);
    all.add(at(0x40000), 20);
    EXPECT_EQ(all.count(), 1u);
    EXPECT_EQ(all.bytes_of(at(0x40000)), 20u);
    all.remove(at(0x40000));
    all.remove(at(0x40000));
    EXPECT_EQ(all.count(), 0u);
}

TEST(foreign_blocks, agrees_with_a_map)
{
    char const* const given = std::getenv("TOWLINE_TEST_SEED");
    unsigned const seed = given != nullptr ? static_cast<unsigned>(std::atoi(given)) : std::random_device{}();
    SCOPED_TRACE("TOWLINE_TEST_SEED=" + std::to_string(seed));
    std::mt19937 random(seed);
    foreign_blocks all;
    std::map<std::uintptr_t, std::size_t> model;
    auto const same = [&] {
        std::map<std::uintptr_t, std::size_t> seen;
        all.for_each([&](std::byte* block, std::size_t bytes) { seen[reinterpret_cast<std::uintptr_t>(block)] = bytes; });
        ASSERT_EQ(seen, model);
        ASSERT_EQ(all.count(), model.size());
    };
    for (int step = 0; step < 200'000; ++step) {
        // Grows to thousands, and shrinks to nothing again; addresses are few, so that they meet.
        bool const growing = step / 20'000 % 2 == 0;
        std::uintptr_t const block = (1 + random() % 8'000) * 64;
        if (random() % 10 < (growing ? 7u : 2u)) {
            all.add(at(block), step + 1u);
            model[block] = step + 1u;
        } else {
            all.remove(at(block));
            model.erase(block);
        }
        std::uintptr_t const other = (1 + random() % 8'000) * 64;
        auto const found = model.find(other);
        ASSERT_EQ(all.bytes_of(at(other)), found == model.end() ? 0 : found->second) << step;
        if (step % 10'000 == 0)
            same();
    }
    same();
}

TEST(foreign_blocks, threads_do_not_disturb_each_other)
{
    foreign_blocks all;
    auto const work = [&](std::uintptr_t base) {
        for (int round = 0; round < 50; ++round) {
            for (std::uintptr_t i = 1; i < 200; ++i)
                all.add(at(base + i * 64), i);
            for (std::uintptr_t i = 1; i < 200; ++i) {
                ASSERT_EQ(all.bytes_of(at(base + i * 64)), i);
                all.remove(at(base + i * 64));
            }
        }
    };
    std::thread one(work, 0x100000), other(work, 0x200000);
    one.join();
    other.join();
    EXPECT_EQ(all.count(), 0u);
}

} // namespace
