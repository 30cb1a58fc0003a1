// Many peers: incast to a slow receiver, windows that come and go, memory of those that are idle.
#include "unit/datagram/world.hpp"

#include <fstream>
#include <unistd.h>

namespace {

using namespace datagram_world;

std::size_t resident_bytes()
{
    std::ifstream f("/proc/self/statm");
    std::size_t all = 0, resident = 0;
    f >> all >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// 16 senders send without end to one receiver that takes a message every 20 µs. What waits for it must fit; each gets its share.
TEST(crowd, sixteen_senders_to_one_slow_receiver)
{
    constexpr peer size = 17;
    constexpr std::int64_t step = 20'000;
    world w(size, {.delay_ns = 15'000}, {}, {.bad = {}, .receive_room = 600});
    w.expected_length = nullptr;
    std::vector<std::uint64_t> before(size);
    std::uint64_t overruns = 0, steps = 0, taken = 0;
    auto const total = [&] {
        std::uint64_t n = 0;
        for (auto const h : w.ranks[0].heard)
            n += h;
        return n;
    };
    std::int64_t const begin = w.clock.now();
    while (w.clock.now() < begin + 400'000'000) {
        for (peer s = 1; s < size; ++s) {
            while (w.say(s, 0, 1400) == send_status::sent) {
            }
            while (w.ranks[s].it->poll(64) != 0) {
            }
        }
        w.ranks[0].it->poll(1);
        w.clock.pass(step);
        if (w.clock.now() - begin < 20'000'000) {
            overruns = w.net.overruns();  // until it knows who sends
            before = w.ranks[0].heard;
            taken = total();
        } else {
            ++steps;
        }
    }
    EXPECT_EQ(w.net.overruns(), overruns) << "after the first 20 ms";
    EXPECT_GE(static_cast<double>(total() - taken), 0.9 * static_cast<double>(steps)) << "the receiver could have taken more\n"
                                                                                      << w.story();
    double const fair = static_cast<double>(total() - taken) / (size - 1);
    for (peer s = 1; s < size; ++s)
        EXPECT_NEAR(static_cast<double>(w.ranks[0].heard[s] - before[s]), fair, fair * 0.2) << "rank " << s;
    EXPECT_EQ(w.ranks[0].wrong, 0u);
}

// A receiver that takes all there is does not hold back a sender that is far away, or that waits long for a processor.
TEST(crowd, a_far_sender_fills_its_window)
{
    constexpr std::int64_t there = 10'000'000, step = 100'000, second = 1'000'000'000;
    world w(2, {.delay_ns = there}, {}, {.bad = {}, .receive_room = 4000});
    w.expected_length = nullptr;
    auto const run = [&](std::int64_t time) {
        for (std::int64_t const end = w.clock.now() + time; w.clock.now() < end;) {
            while (w.say(0, 1, 1400) == send_status::sent) {
            }
            w.step(step);
        }
        return w.ranks[1].heard[0];
    };
    std::uint64_t const before = run(second);
    std::uint64_t const heard = run(second) - before;
    EXPECT_GE(heard, w.config.most_in_flight * (second / (2 * there)) / 2) << w.story();
    EXPECT_EQ(w.ranks[1].wrong, 0u);
}

// A window is given back after some silence, and what was said before is remembered.
TEST(crowd, windows_are_borrowed)
{
    world w(6, {.loss = 0.02, .seed = test_seed()});
    std::uint64_t said = 0;
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 30; ++i, ++said) {
            for (peer to = 1; to < 6; ++to)
                ASSERT_TRUE(w.until([&] { return w.say(0, to) == send_status::sent; }));
        }
        ASSERT_TRUE(w.until([&] {
            bool all = w.drained();
            for (peer to = 1; to < 6; ++to)
                all = all && w.ranks[to].heard[0] == said;
            return all;
        }));
        for (int i = 0; i < 200; ++i)
            w.step(1'000'000);
        for (peer r = 0; r < 6; ++r)
            EXPECT_LT(w.ranks[r].it->sleep_limit_ns(), 0) << "something is still due at rank " << r;
    }
    EXPECT_GE(w.counts(0).windows, 25u);
    for (auto const& r : w.ranks)
        EXPECT_EQ(r.wrong, 0u);
}

// A million peers, all met and idle: at most 64 bytes each.
TEST(crowd, a_million_idle_peers)
{
    constexpr std::size_t size = 1'000'000;
    static_assert(sizeof(dg::known_peer) <= 64);
    [[maybe_unused]] std::size_t const before = resident_bytes();
    dg::peer_table table(size);
    for (std::size_t i = 0; i < size; ++i) {
        table[i].at = dg::known_peer::stage::met;
        table[i].epoch = static_cast<std::uint32_t>(i);
    }
#ifndef __SANITIZE_THREAD__  // whose shadow is four times the memory
    EXPECT_LE(resident_bytes() - before, size * 64 + (std::size_t{1} << 20));
#endif
    EXPECT_EQ(table[size - 1].epoch, size - 1);
}

// Nobody is lent memory longer than needed, and completions come once, with every fate of the peer.
TEST(lending, completions_come_once)
{
    for (bool const dies : {false, true}) {
        world w(2, {.loss = 0.1, .seed = test_seed()});
        w.expected_length = nullptr;
        struct loan {
            std::vector<std::byte> bytes;
            int ended = 0;
            bool ok = false;
        };
        std::vector<std::unique_ptr<loan>> loans;
        std::uint64_t taken = 0, heard = 0;
        w.ranks[1].it->set_handler(
            9,
            [](void* p, peer, std::span<std::byte const> m) {
                auto& n = *static_cast<std::uint64_t*>(p);
                ASSERT_EQ(m.size(), 40u + 30000 + n * 997);
                for (std::size_t i = 40; i < m.size(); ++i)
                    ASSERT_EQ(m[i], byte_of(0, 1, n, i - 40));
                ++n;
            },
            &heard);
        std::array<std::byte, 40> const head{};
        auto const lend = [&] {
            auto l = std::make_unique<loan>();
            l->bytes.resize(30000 + taken * 997);
            for (std::size_t i = 0; i < l->bytes.size(); ++i)
                l->bytes[i] = byte_of(0, 1, taken, i);
            auto const s = w.ranks[0].it->try_send_lent(
                1, 9, head, l->bytes,
                [](void* p, bool ok) {
                    auto& it = *static_cast<loan*>(p);
                    ++it.ended;
                    it.ok = ok;
                    std::fill(it.bytes.begin(), it.bytes.end(), std::byte{0xee});  // nobody may look any more
                },
                l.get());
            if (s == send_status::busy)
                return false;
            EXPECT_EQ(s, send_status::lent);
            loans.push_back(std::move(l));
            ++taken;
            return true;
        };
        while (taken < 30) {
            if (!lend())
                w.step();
            if (dies && taken == 20) {
                w.directory.kill(1);
                w.ranks[1].away = true;
                w.ranks[0].it->peer_died(1);
                break;
            }
        }
        ASSERT_TRUE(w.until([&] { return w.drained(); }));
        w.step();
        for (auto const& l : loans)
            EXPECT_EQ(l->ended, 1);
        EXPECT_EQ(heard == taken, !dies);
        EXPECT_EQ(loans.back()->ok, !dies);
    }
}

} // namespace
