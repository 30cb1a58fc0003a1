// The task of blocks that sender and receiver copy together, by itself.

#include "engine/copy_task.hpp"
#include "engine/wire.hpp"

#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <thread>
#include <vector>

namespace wire = towline::engine::wire;
using towline::engine::copy_share;
using towline::engine::copy_taker;
using towline::engine::copy_task;
using towline::engine::copy_units;

namespace {

constexpr std::size_t least = 8192;
constexpr std::size_t most = 65536;

TEST(engine_cooperation, units_cover_a_block)
{
    for (std::uint64_t const size : {std::uint64_t{1}, std::uint64_t{4096}, std::uint64_t{4097}, std::uint64_t{1} << 27, (std::uint64_t{1} << 27) + 1,
                                     std::uint64_t{1} << 40, wire::max_block}) {
        copy_units const u(size);
        EXPECT_LE(u.count, copy_units::most);
        EXPECT_EQ(u.bytes(0, u.count), size);
        EXPECT_GT(u.bytes(u.count - 1, 1), 0U);
    }
}

TEST(engine_cooperation, each_unit_is_taken_once)
{
    std::uint64_t const seed = std::random_device{}();
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    copy_task task;
    for (std::uint32_t number = 1; number < 2000; ++number) {
        copy_units const units(1 + random() % (std::uint64_t{1} << random() % 28));
        copy_taker receiver(task, number, units, least, most);
        copy_taker sender(task, number, units, 1 << random() % 20, 1 << random() % 20);
        std::vector<int> taken(units.count);
        std::uint32_t by_sender = 0;
        auto const mark = [&](copy_share s) {
            for (std::uint32_t i = 0; i < s.count; ++i)
                ++taken.at(s.first + i);
        };
        EXPECT_EQ(sender.take_back().count, 0U);  // not begun
        mark(receiver.begin());
        for (bool receivers_end = false; !receivers_end;) {
            if (random() % 2 == 0) {
                auto const s = sender.take_back();
                by_sender += s.count;
                mark(s);
            } else {
                auto const s = receiver.take_front();
                receivers_end = s.count == 0;
                mark(s);
            }
        }
        EXPECT_EQ(sender.take_back().count, 0U);
        EXPECT_FALSE(receiver.damaged());
        EXPECT_EQ(receiver.senders(), by_sender);
        EXPECT_EQ(std::count(taken.begin(), taken.end(), 1), static_cast<std::ptrdiff_t>(units.count));
    }
}

TEST(engine_cooperation, two_threads_copy_and_a_late_one_takes_nothing)
{
    constexpr std::uint32_t rounds = 300;
    constexpr std::size_t size = 300001;
    std::vector<std::byte> from(size), to(size);
    copy_task task;
    copy_units const units(size);
    std::atomic<std::uint32_t> called{0};
    std::atomic<bool> late{false};
    std::thread sender([&] {
        std::uint32_t seen = 0;
        while (seen != rounds) {
            std::uint32_t const number = called.load(std::memory_order_acquire);
            if (number == seen) {
                std::this_thread::yield();
                continue;
            }
            seen = number;
            copy_taker taker(task, number, units, least, most);
            copy_taker stale(task, number - 1, units, least, most);
            late = late || stale.take_back().count != 0;
            for (auto s = taker.take_back(); s.count != 0; s = taker.take_back()) {
                std::memcpy(to.data() + units.begin(s.first), from.data() + units.begin(s.first), units.bytes(s.first, s.count));
                (void)taker.copied(s);
            }
        }
    });
    for (std::uint32_t number = 1; number <= rounds; ++number) {
        std::fill(from.begin(), from.end(), static_cast<std::byte>(number));
        copy_taker taker(task, number, units, least, most);
        auto s = taker.begin();
        called.store(number, std::memory_order_release);
        for (; s.count != 0; s = taker.take_front())
            std::memcpy(to.data() + units.begin(s.first), from.data() + units.begin(s.first), units.bytes(s.first, s.count));
        ASSERT_FALSE(taker.damaged());
        while (task.copied.load(std::memory_order_acquire) < taker.senders())
            std::this_thread::yield();
        ASSERT_EQ(to, from);
    }
    sender.join();
    EXPECT_FALSE(late);
}

TEST(engine_cooperation, a_damaged_cursor_is_noticed)
{
    std::mt19937_64 random(7);
    copy_units const units(1 << 20);
    for (int i = 0; i < 20000; ++i) {
        copy_task task;
        copy_taker receiver(task, 5, units, least, most);
        auto const first = receiver.begin();
        std::uint64_t word = task.cursor.load();
        word ^= std::uint64_t{1} << random() % 64 | std::uint64_t{random() % 2} << random() % 64;
        task.cursor.store(word);
        copy_taker sender(task, 5, units, least, most);
        auto const s = sender.take_back();
        ASSERT_LE(s.first + s.count, units.count);
        auto const r = receiver.take_front();
        ASSERT_LE(r.first + r.count, units.count);
        ASSERT_TRUE(r.count == 0 || r.first == first.count);
        ASSERT_LE(receiver.front(), units.count);
    }
}

} // namespace
