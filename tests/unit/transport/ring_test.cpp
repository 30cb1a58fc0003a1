#include "transport/shm/ring.hpp"
#include "transport/shm/ring_reserve.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <random>
#include <thread>
#include <vector>

namespace {

using namespace towline::transport;
using namespace towline::transport::shm;
using outcome = ring_writer::outcome;
using found = ring_reader::found;

struct alignas(64) line {
    std::byte bytes[64];
};

/// A ring with both its ends.
struct ring {
    std::vector<line> memory;
    ring_writer writer;
    ring_reader reader;

    explicit ring(std::uint32_t capacity)
        : memory(ring_bytes(capacity) / sizeof(line)), writer(memory.data(), capacity, 0, 1), reader(writer.header(), capacity)
    {
    }
    std::byte* cell(std::size_t i) { return memory[2 + i].bytes; }
};

std::span<std::byte const> bytes(std::vector<std::uint64_t> const& v, std::size_t n)
{
    return std::as_bytes(std::span(v)).first(n);
}

/// Writes it the short way where that is offered, else the long one. `asked`: it fits one cell, and the short way may be tried.
outcome write(ring_writer& w, handler_id id, std::span<std::byte const> head, std::span<std::byte const> body, bool asked)
{
    if (asked && w.write_one({id, static_cast<std::uint8_t>(head.size()), static_cast<std::uint8_t>(body.size())}, head.data(), body.data()))
        return outcome::written;
    return w.write(id, head, body);
}

/// A payload that is nothing but words which could be awaited: every lap around the present one, every kind.
void imitate(std::vector<std::uint64_t>& payload, std::uint32_t lap, std::mt19937_64& random)
{
    for (auto& w : payload) {
        std::uint32_t const near = lap - 2 + static_cast<std::uint32_t>(random() % 5);
        w = word::make(static_cast<word::kind>(random() % 4), near, static_cast<handler_id>(random()), random() % 100);
    }
}

TEST(ring, words_keep_their_fields)
{
    std::uint64_t const w = word::make(word::moved, 0xfedcba98, 0xab, max_eager);
    EXPECT_EQ(word::lap(w), 0xfedcba98u);
    EXPECT_EQ(word::handler(w), 0xab);
    EXPECT_EQ(word::kind_of(w), word::moved);
    EXPECT_EQ(word::bytes(w), max_eager);
}

TEST(ring, cells)
{
    EXPECT_EQ(cells_for(0), 1u);
    EXPECT_EQ(cells_for(inline_bytes), 1u);
    EXPECT_EQ(cells_for(inline_bytes + 1), 2u);
    EXPECT_EQ(cells_for(max_eager), 129u);
    EXPECT_EQ(capacity_for(0), first_cells);
    EXPECT_EQ(capacity_for(max_eager), 512u);
}

// Writer and reader take turns at random; every payload imitates words. What is read is what was written, at every moment.
TEST(ring, no_payload_is_taken_for_a_word)
{
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        std::uint32_t const capacity = seed % 2 == 0 ? 64 : 256;
        ring r(capacity);
        struct sent {
            handler_id id;
            std::vector<std::uint64_t> payload;
            std::size_t size;
        };
        std::deque<sent> queue;
        std::uint64_t cells = 0;
        std::size_t const longest = capacity / 3 * cell_bytes - word_bytes;
        for (int step = 0; step < 6000; ++step) {
            if (random() % 2 == 0) {
                std::size_t const size = random() % 4 == 0 ? random() % 57 : random() % (random() % 2 == 0 ? 300 : longest + 1);
                sent s{static_cast<handler_id>(random()), std::vector<std::uint64_t>(size / 8 + 1), size};
                imitate(s.payload, static_cast<std::uint32_t>(cells / capacity) + 1, random);
                auto const all = bytes(s.payload, s.size);
                std::size_t const cut = random() % (s.size + 1);
                outcome const o = write(r.writer, s.id, all.first(cut), all.subspan(cut), size <= inline_bytes && random() % 2 == 0);
                ASSERT_NE(o, outcome::corrupt);
                if (o == outcome::written) {
                    cells += cells_for(s.size);
                    queue.push_back(std::move(s));
                }
            } else {
                ring_reader::view v;
                found const f = r.reader.look(v);
                ASSERT_EQ(f, queue.empty() ? found::nothing : found::message);
                ASSERT_EQ(r.reader.ready(), !queue.empty());
                if (queue.empty())
                    continue;
                sent const& s = queue.front();
                ASSERT_EQ(v.handler, s.id);
                ASSERT_EQ(v.payload.size(), s.size);
                ASSERT_EQ(reinterpret_cast<std::uintptr_t>(v.payload.data()) % 8, 0u);
                ASSERT_EQ(std::memcmp(v.payload.data(), s.payload.data(), s.size), 0);
                if (random() % 2 == 0)
                    r.reader.take(v);
                r.reader.pass(v);
                queue.pop_front();
            }
        }
    }
}

// The same between two threads, and with a ring that is always full.
TEST(ring, threads)
{
    constexpr std::uint32_t messages = 30000;
    ring r(64);
    std::jthread const producer([&](std::stop_token const& consumer_failed) {
        std::mt19937_64 random(5);
        std::vector<std::uint64_t> payload(21 * 8);
        for (std::uint32_t i = 0; i < messages && !consumer_failed.stop_requested();) {
            // Long ones leave stale cells: where they come seldom, a lap of short ones goes the short way.
            std::uint64_t const size = i % 512 < 64 ? 16 + (i * 7919u) % 1200 : 16 + i % 41;
            imitate(payload, i / 10, random);
            payload[0] = i;
            payload[1] = size;
            auto const all = bytes(payload, size);
            if (write(r.writer, 3, all.first(16), all.subspan(16), size <= inline_bytes) == outcome::written)
                ++i;
            else
                std::this_thread::yield();
        }
    });
    for (std::uint32_t i = 0; i < messages;) {
        ring_reader::view v;
        found const f = r.reader.look(v);
        if (f == found::nothing) {
            std::this_thread::yield();
            continue;
        }
        ASSERT_EQ(f, found::message);
        std::uint64_t head[2];
        ASSERT_GE(v.payload.size(), sizeof head);
        std::memcpy(head, v.payload.data(), sizeof head);
        ASSERT_EQ(head[0], i);
        ASSERT_EQ(head[1], v.payload.size());
        r.reader.take(v);
        r.reader.pass(v);
        ++i;
    }
}

TEST(ring, the_biggest_message_always_fits_in_the_end)
{
    for (std::uint32_t capacity : {64u, 512u}) {
        std::size_t size = 0;
        while (size < max_eager && capacity_for(size + 1) <= capacity)
            ++size;
        for (std::uint32_t before = 0; before < capacity; ++before) {
            ring r(capacity);
            std::vector<std::uint64_t> payload(size / 8 + 1);
            ring_reader::view v;
            for (std::uint32_t i = 0; i < before; ++i) {
                ASSERT_EQ(r.writer.write(0, {}, {}), outcome::written);
                ASSERT_EQ(r.reader.look(v), found::message);
                r.reader.pass(v);
            }
            ASSERT_EQ(r.writer.write(0, bytes(payload, size), {}), outcome::written) << before << " of " << capacity;
            ASSERT_EQ(r.reader.look(v), found::message);
            ASSERT_EQ(v.payload.size(), size);
        }
    }
}

TEST(ring, full_then_room)
{
    ring r(64);
    int n = 0;
    while (r.writer.write(1, {}, {}) == outcome::written)
        ++n;
    EXPECT_EQ(n, 63);  // one cell stays empty
    ring_reader::view v;
    for (int i = 0; i < 16; ++i) {
        ASSERT_EQ(r.reader.look(v), found::message);
        r.reader.pass(v);
    }
    EXPECT_EQ(r.writer.write(1, {}, {}), outcome::written);
}

TEST(ring, a_few_bytes_go_the_short_way_whatever_their_cells_until_it_is_full)
{
    ring r(64);
    std::vector<std::byte> all(short_bytes);
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<std::byte>(i * 7 + 1);
    auto const few = [&](std::size_t n, std::size_t cut) {
        return r.writer.write_few({9, static_cast<std::uint8_t>(cut), static_cast<std::uint8_t>(n - cut)}, all.data(), all.data() + cut);
    };
    std::mt19937_64 random(5);
    for (int turn = 0; turn < 200; ++turn) {
        std::vector<std::size_t> sizes;
        for (;;) {
            std::size_t const n = random() % (short_bytes + 1);
            if (!few(n, random() % (n + 1)))
                break;
            sizes.push_back(n);
        }
        ASSERT_GE(sizes.size(), 14u) << turn;  // 63 cells, four a message, and a jump
        for (std::size_t const n : sizes) {
            ring_reader::view v;
            ASSERT_EQ(r.reader.look(v), found::message);
            ASSERT_TRUE(std::ranges::equal(v.payload, std::span(all).first(n))) << turn;
            r.reader.pass(v);
        }
        ring_reader::view v;
        ASSERT_EQ(r.reader.look(v), found::nothing) << "what found no room has left something";
        r.reader.publish();
    }
}

TEST(ring, the_short_way_is_open_while_there_is_room_and_no_cell_is_stale)
{
    ring r(64);
    std::uint64_t const payload[7]{1, 2, 3, 4, 5, 6, 7};
    auto const all = std::as_bytes(std::span(payload));
    auto const short_way = [&](std::size_t cut) {
        return r.writer.write_one({9, static_cast<std::uint8_t>(cut), static_cast<std::uint8_t>(all.size() - cut)}, all.data(), all.data() + cut);
    };
    auto const pass_all = [&] {
        ring_reader::view v;
        while (r.reader.look(v) == found::message)
            r.reader.pass(v);
        r.reader.publish();
    };
    EXPECT_FALSE(short_way(0)) << "the long way opens it";
    ASSERT_EQ(r.writer.write(9, all, {}), outcome::written);
    int n = 1;
    while (short_way(static_cast<std::size_t>(n) % 57))
        ++n;
    EXPECT_EQ(n, 63);  // one cell stays empty
    EXPECT_EQ(r.writer.write(9, all, {}), outcome::full);
    for (int i = 0; i < n; ++i) {
        ring_reader::view v;
        ASSERT_EQ(r.reader.look(v), found::message);
        ASSERT_EQ(v.handler, 9);
        ASSERT_TRUE(std::ranges::equal(v.payload, all));
        r.reader.pass(v);
    }
    r.reader.publish();
    EXPECT_FALSE(short_way(8)) << "there is room, but the long way has not seen it yet";
    ASSERT_EQ(r.writer.write(9, all, all.first(1)), outcome::written);  // two cells: the second is stale
    EXPECT_FALSE(short_way(8));
    pass_all();
    for (int i = 0; i < 64; ++i) {  // the long way cleans it, a lap later
        ASSERT_EQ(r.writer.write(9, all, {}), outcome::written);
        pass_all();
    }
    EXPECT_TRUE(short_way(8));
}

TEST(ring, moves_even_when_full)
{
    ring r(64);
    while (r.writer.write(1, {}, {}) == outcome::written) {
    }
    r.writer.move_to(4711);
    ring_reader::view v;
    for (int i = 0; i < 63; ++i) {
        ASSERT_EQ(r.reader.look(v), found::message);
        r.reader.pass(v);
    }
    ASSERT_EQ(r.reader.look(v), found::moved);
    EXPECT_EQ(v.moved_to, 4711u);
}

TEST(ring, successors_go_on_where_both_stopped)
{
    ring r(64);
    std::mt19937_64 random(3);
    std::vector<std::uint64_t> payload(100);
    ring_reader::view v;
    for (std::uint64_t i = 0; i < 500; ++i) {
        std::size_t const size = 8 + random() % 700;
        imitate(payload, static_cast<std::uint32_t>(i / 8), random);
        payload[0] = i;
        ASSERT_EQ(r.writer.write(1, bytes(payload, size), {}), outcome::written);
        if (i % 3 == 0) {
            r.writer.park();
            r.writer = ring_writer(ring_writer::resume{}, r.writer.header(), 64);
        }
        ASSERT_EQ(r.reader.look(v), found::message);
        ASSERT_EQ(std::memcmp(v.payload.data(), payload.data(), size), 0);
        r.reader.pass(v);
        if (i % 5 == 0) {
            r.reader.publish();
            r.reader = ring_reader(r.reader.header(), 64);
        }
        ASSERT_EQ(r.reader.look(v), found::nothing);
    }
}

TEST(ring, what_no_producer_writes_is_corrupt)
{
    struct wrong {
        char const* what;
        std::uint64_t word;
        std::size_t at;
    };
    wrong const cases[] = {
        {"a lap to come", word::make(word::message, 2, 0, 8), 0},
        {"a lap long gone", word::make(word::message, 0xfffffff0, 0, 8), 0},
        {"no kind", word::make(static_cast<word::kind>(0), 1, 0, 8), 0},
        {"an unknown kind", word::make(static_cast<word::kind>(9), 1, 0, 8), 0},
        {"too long", word::make(word::message, 1, 0, max_eager + 1), 0},
        {"over the end", word::make(word::message, 1, 0, 64 * 64), 0},
        {"just over the end", word::make(word::message, 1, 0, 56 + 1), 63},
        {"a jump from the beginning", word::make(word::skip, 1, 0, 0), 0},
        {"a move to half an address", word::make(word::moved, 1, 0, 4), 0},
    };
    for (wrong const& c : cases) {
        SCOPED_TRACE(c.what);
        ring r(64);
        ring_reader::view v;
        for (std::size_t i = 0; i < c.at; ++i) {
            ASSERT_EQ(r.writer.write(0, {}, {}), outcome::written);
            ASSERT_EQ(r.reader.look(v), found::message);
            r.reader.pass(v);
        }
        std::memcpy(r.cell(c.at), &c.word, 8);
        EXPECT_TRUE(r.reader.ready());
        EXPECT_EQ(r.reader.look(v), found::corrupt);
    }
}

// Random words at the front: an answer, never a crash, never a view beyond the ring.
TEST(ring, random_words)
{
    std::mt19937_64 random(11);
    ring r(64);
    std::byte const* const begin = r.cell(0);
    for (int i = 0; i < 200000; ++i) {
        ring_reader reader(r.writer.header(), 64);
        std::uint64_t w = random();
        if (i % 2 == 0)
            w = word::make(static_cast<word::kind>(random() % 4), static_cast<std::uint32_t>(random() % 3), 0, random() % (2 * max_eager));
        std::memcpy(r.cell(0), &w, 8);
        ring_reader::view v;
        if (reader.look(v) == found::message) {
            ASSERT_GE(v.payload.data(), begin);
            ASSERT_LE(v.payload.data() + v.payload.size(), begin + 64 * cell_bytes);
        }
    }
}

TEST(ring, impossible_positions_of_the_consumer)
{
    for (std::uint64_t position : {std::uint64_t{100}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
        ring r(64);
        while (r.writer.write(0, {}, {}) == outcome::written) {
        }
        r.writer.header()->position.store(position);
        EXPECT_EQ(r.writer.write(0, {}, {}), outcome::corrupt);
    }
    ring r(64);
    r.writer.header()->position.store(20);
    for (int i = 0; i < 30; ++i)
        ASSERT_EQ(r.writer.write(0, {}, {}), outcome::written);
    r.writer.header()->position.store(25);
    while (r.writer.write(0, {}, {}) == outcome::written) {
    }
    r.writer.header()->position.store(3);  // backwards
    EXPECT_EQ(r.writer.write(0, {}, {}), outcome::corrupt);
}

TEST(ring_reserve, gives_each_place_to_one_and_only_what_fits)
{
    std::vector<line> memory(3 * ring_reserve::place_bytes / sizeof(line));
    ring_reserve r(memory.data(), 3);
    EXPECT_EQ(r.take(ring_reserve::place_bytes + 1), nullptr);
    std::vector<void*> taken{r.take(64), r.take(ring_reserve::place_bytes), r.take(1)};
    EXPECT_EQ(r.take(1), nullptr);
    std::ranges::sort(taken);
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_EQ(taken[i], reinterpret_cast<std::byte*>(memory.data()) + i * ring_reserve::place_bytes);
    line elsewhere;
    EXPECT_FALSE(r.give_back(&elsewhere));
    EXPECT_FALSE(r.give_back(memory.data() + memory.size()));
    EXPECT_TRUE(r.give_back(taken[1]));
    EXPECT_EQ(r.take(64), taken[1]);
    ring_reserve none(nullptr, 3);
    EXPECT_EQ(none.take(64), nullptr);
    EXPECT_FALSE(none.give_back(&elsewhere));
}

} // namespace
