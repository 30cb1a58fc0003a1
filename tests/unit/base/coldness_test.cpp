#include "base/coldness.hpp"

#include "base/reading_habit.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include <sys/mman.h>

namespace {

using towline::base::looks_cold;
using towline::base::reading_habit;
using towline::base::recent_blocks;
using outcome = reading_habit::outcome;

constexpr std::size_t kib = 1024;

void const* at(std::uintptr_t address)
{
    return reinterpret_cast<void const*>(address);
}

TEST(recent_blocks, are_known_until_so_many_bytes_passed)
{
    recent_blocks r(1024 * kib);
    EXPECT_FALSE(r.again(at(0x10000000), 64 * kib));
    EXPECT_TRUE(r.again(at(0x10000000), 64 * kib));
    EXPECT_FALSE(r.again(at(0x20000000), 960 * kib));
    EXPECT_TRUE(r.again(at(0x10000000), 64 * kib));  // 1 MiB later, itself counted
    EXPECT_FALSE(r.again(at(0x30000000), 1024 * kib));
    EXPECT_FALSE(r.again(at(0x10000000), 64 * kib));
    EXPECT_TRUE(r.again(at(0x10000000), 64 * kib));
    EXPECT_EQ(r.passed(), (64 * 5 + 960 + 1024) * kib);
}

TEST(recent_blocks, keep_a_note)
{
    using sight = recent_blocks::sight;
    recent_blocks r(1024 * kib);
    EXPECT_EQ(r.see(at(0x10000000), 4 * kib, 7), sight::none);
    EXPECT_EQ(r.see(at(0x10000040), 4 * kib, 8), sight::none);  // the next line
    EXPECT_EQ(r.see(at(0x10000000), 4 * kib, 7), sight::same);
    EXPECT_EQ(r.see(at(0x10000000), 4 * kib, 9), sight::another);
    EXPECT_EQ(r.see(at(0x10000000), 4 * kib, 9), sight::same);
    EXPECT_EQ(r.see(at(0x10000040), 4 * kib, 8), sight::same);
    EXPECT_FALSE(r.again(at(0x20000000), 1024 * kib));
    EXPECT_EQ(r.see(at(0x10000000), 4 * kib, 9), sight::none);
}

TEST(recent_blocks, as_many_as_fit_are_all_known)
{
    recent_blocks r(16 * 1024 * kib);
    for (std::uintptr_t round = 0; round < 3; ++round)
        for (std::uintptr_t i = 0; i < 200; ++i)
            EXPECT_EQ(r.again(at(0x7f0000000000 + i * 64 * kib), 64 * kib), round != 0) << round << " " << i;
}

TEST(recent_blocks, many_threads_at_once)
{
    recent_blocks r(1024 * kib);
    std::vector<std::thread> threads;
    for (std::uintptr_t t = 0; t < 4; ++t)
        threads.emplace_back([&r, t] {
            for (std::uintptr_t i = 0; i < 20000; ++i)
                (void)r.again(at((i * (t + 1) % 4096) << 16), 64 * kib);
        });
    for (auto& t : threads)
        t.join();
    EXPECT_LE(r.passed(), 4 * 20000 * 64 * kib);
}

TEST(looks_cold, reads_in_the_block_alone)
{
    // Nothing may be read before or behind it.
    for (std::size_t const bytes : {8 * kib, 12 * kib, 64 * kib, 1024 * kib}) {
        auto* const p = static_cast<std::byte*>(mmap(nullptr, bytes + 8 * kib, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        ASSERT_NE(p, MAP_FAILED);
        ASSERT_EQ(mprotect(p + 4 * kib, bytes, PROT_READ | PROT_WRITE), 0);
        for (int i = 0; i < 100; ++i) {
            (void)looks_cold(p + 4 * kib, bytes);
            (void)looks_cold(p + 4 * kib + 1, bytes - 1);
        }
        munmap(p, bytes + 8 * kib);
    }
    EXPECT_FALSE(looks_cold(nullptr, 0));
    EXPECT_FALSE(looks_cold(nullptr, towline::base::least_seen - 1));
}

TEST(look_for_readers, memory_that_is_gone_harms_nobody)
{
    auto* const p = static_cast<std::byte*>(mmap(nullptr, 128 * kib, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(p, MAP_FAILED);
    std::memset(p, 1, 128 * kib);
    errno = 77;
    (void)towline::base::look_for_readers(p, 128 * kib);
    EXPECT_EQ(errno, 77);
    munmap(p, 128 * kib);
    EXPECT_EQ(towline::base::look_for_readers(p, 128 * kib), outcome::unknown);
    EXPECT_EQ(errno, 77);
    EXPECT_EQ(towline::base::look_for_readers(p, 4 * kib), outcome::unknown);
    EXPECT_EQ(towline::base::look_for_readers(nullptr, 128 * kib), outcome::unknown);
}

/// What the next trial will have shown, and what was looked at.
outcome next_outcome = outcome::unknown;
std::byte const* looked_at = nullptr;
constexpr std::byte anywhere{};

outcome scripted(std::byte const* block, std::size_t) noexcept
{
    looked_at = block;
    return next_outcome;
}

struct program {
    reading_habit habit{100, 1000, 10000, scripted};
    std::uint64_t moved = 0;
    /// A cold block of 10 bytes; whether it went past the caches.
    bool block(std::byte const* where = &anywhere)
    {
        moved += 10;
        return habit.asks(moved) && habit.passes(where, 10, moved);
    }
    /// How many of so many do.
    int blocks(int n)
    {
        int past = 0;
        for (int i = 0; i < n; ++i)
            past += block();
        return past;
    }
};

TEST(reading_habit, two_blocks_that_nobody_read_are_enough_to_begin)
{
    std::byte b{};
    program p;
    next_outcome = outcome::unread;
    EXPECT_TRUE(p.block(&b));
    EXPECT_EQ(p.blocks(10), 0);
    looked_at = nullptr;
    EXPECT_TRUE(p.block());  // the first trial is looked at, the second begins
    EXPECT_EQ(looked_at, &b);
    EXPECT_EQ(p.blocks(10), 0);
    EXPECT_EQ(p.blocks(5000), 5000);
}

TEST(reading_habit, one_block_that_was_read_is_enough_to_stop)
{
    program p;
    next_outcome = outcome::unread;
    (void)p.blocks(1000);
    ASSERT_EQ(p.blocks(10), 10);
    next_outcome = outcome::read;
    (void)p.blocks(130);  // to the next trial, and to its look
    EXPECT_LE(p.blocks(2000), 2);
    next_outcome = outcome::unread;
    (void)p.blocks(1100);
    EXPECT_EQ(p.blocks(100), 100);
}

TEST(reading_habit, who_reads_is_tried_seldom)
{
    program p;
    next_outcome = outcome::read;
    EXPECT_LE(p.blocks(100000), 101);
    EXPECT_GE(p.blocks(100000), 90);
}

TEST(reading_habit, who_cannot_be_looked_at_is_left_alone)
{
    program p;
    next_outcome = outcome::unknown;
    EXPECT_LE(p.blocks(10000), 11);
}

TEST(reading_habit, many_threads_at_once)
{
    next_outcome = outcome::unread;
    reading_habit habit(100, 1000, 10000, scripted);
    std::atomic<std::uint64_t> moved{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 20000; ++i) {
                std::uint64_t const now = moved.fetch_add(10) + 10;
                if (habit.asks(now))
                    (void)habit.passes(&anywhere, 10, now);
            }
        });
    for (auto& t : threads)
        t.join();
    EXPECT_TRUE(habit.passes(&anywhere, 10, moved));
}

} // namespace
