// The shared-memory component between ranks in one process: how rings begin, grow and end, and what a hostile peer gets.
#include "conformance/plain_memory.hpp"
#include "transport/shm/ring.hpp"

#include <gtest/gtest.h>
#include <thread>

namespace {

using namespace towline::transport;
using conformance::plain_memory;

struct node {
    std::unique_ptr<component> it;
    std::vector<std::uint64_t> got;
    std::vector<peer> from;
    std::vector<std::string> losses;

    node(plain_memory& memory, peer rank) : it(shm::make(memory.of(rank)))
    {
        it->set_handler(
            1,
            [](void* context, peer source, std::span<std::byte const> payload) {
                std::uint64_t v = 0;
                std::memcpy(&v, payload.data(), sizeof v);
                static_cast<node*>(context)->got.push_back(v);
                static_cast<node*>(context)->from.push_back(source);
            },
            this);
        it->set_failure_handler([](void* context, peer, std::string_view why) { static_cast<node*>(context)->losses.emplace_back(why); },
                                this);
    }
    send_status send(peer to, std::uint64_t v, std::size_t extra = 0)
    {
        static std::vector<std::byte> const filling(shm::max_eager);
        return it->try_send(to, 1, std::as_bytes(std::span(&v, 1)), std::span(filling).first(extra));
    }
};

/// Without and with doorbells.
class shm_rings : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(shm, shm_rings, testing::Bool(), [](auto const& p) { return p.param ? "doorbells" : "looking_around"; });

shm::ring_header* ring_of(plain_memory& memory, peer from, peer to)
{
    return reinterpret_cast<shm::ring_header*>(shm::box_of(memory.inbox(to), from).ring.load());
}

TEST_P(shm_rings, a_peer_that_did_not_join_yet_finds_its_messages)
{
    plain_memory memory(2, GetParam());
    node a(memory, 0);
    for (std::uint64_t i = 0; i < 5; ++i)
        ASSERT_EQ(a.send(1, i), send_status::sent);
    node b(memory, 1);
    EXPECT_TRUE(b.it->pending());
    EXPECT_EQ(b.it->poll(100), 5);
    EXPECT_FALSE(b.it->pending());
    EXPECT_EQ(b.got, (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
}

TEST_P(shm_rings, rings_are_made_on_first_use_and_start_small)
{
    plain_memory memory(8, GetParam());
    node a(memory, 0);
    EXPECT_EQ(memory.blocks(), 0u);
    ASSERT_EQ(a.send(1, 1), send_status::sent);
    ASSERT_EQ(a.send(1, 1), send_status::sent);
    EXPECT_EQ(memory.blocks(), 1u);
    EXPECT_EQ(ring_of(memory, 0, 1)->capacity, shm::first_cells);
}

TEST_P(shm_rings, a_busy_ring_grows_and_gives_the_old_ones_back)
{
    plain_memory memory(2, GetParam());
    node a(memory, 0);
    node b(memory, 1);
    std::uint64_t sent = 0;
    for (int round = 0; round < 200; ++round) {
        while (a.send(1, sent) == send_status::sent)
            ++sent;
        b.it->poll(40);
    }
    while (b.it->poll(1000) != 0) {
    }
    ASSERT_EQ(b.got.size(), sent);
    for (std::uint64_t i = 0; i < sent; ++i)
        ASSERT_EQ(b.got[i], i);
    EXPECT_EQ(ring_of(memory, 0, 1)->capacity, shm::most_cells);
    EXPECT_EQ(memory.blocks(), 1u);
}

TEST_P(shm_rings, messages_one_at_a_time_keep_a_small_ring)
{
    plain_memory memory(2, GetParam());
    node a(memory, 0);
    node b(memory, 1);
    for (int i = 0; i < 2000; ++i) {
        ASSERT_EQ(a.send(1, b.got.size(), 1000), send_status::sent);
        ASSERT_EQ(b.it->poll(1), 1);
    }
    EXPECT_EQ(ring_of(memory, 0, 1)->capacity, shm::first_cells);  // what stays in a core's first cache is faster than a roomy ring
    for (std::uint64_t i = 0; i < b.got.size(); ++i)
        ASSERT_EQ(b.got[i], i);
}

TEST_P(shm_rings, a_receiver_that_is_away_makes_no_ring_grow)
{
    plain_memory memory(2, GetParam());
    node a(memory, 0);
    int sent = 0;
    for (int i = 0; i < 1000; ++i)
        sent += a.send(1, 0) == send_status::sent;
    EXPECT_EQ(sent, 63);
    EXPECT_EQ(memory.blocks(), 1u);
}

TEST_P(shm_rings, a_long_message_gets_a_ring_that_holds_it_at_once)
{
    plain_memory memory(2, GetParam());
    node a(memory, 0);
    node b(memory, 1);
    for (std::uint64_t i = 0; i < 10; ++i)
        ASSERT_EQ(a.send(1, i), send_status::sent);
    ASSERT_EQ(a.send(1, 10, shm::max_eager - 8), send_status::sent);
    EXPECT_EQ(b.it->poll(100), 11);
    ASSERT_EQ(b.got.size(), 11u);
    EXPECT_EQ(b.got.back(), 10u);
    EXPECT_EQ(ring_of(memory, 0, 1)->capacity, shm::capacity_for(shm::max_eager));
}

TEST_P(shm_rings, without_memory)
{
    plain_memory memory(2, GetParam());
    node a(memory, 0);
    node b(memory, 1);
    memory.exhaust(true);
    EXPECT_THROW(static_cast<void>(a.send(1, 0)), std::bad_alloc);
    memory.exhaust(false);
    ASSERT_EQ(a.send(1, 1), send_status::sent);
    memory.exhaust(true);
    EXPECT_THROW(static_cast<void>(a.send(1, 0, shm::max_eager - 8)), std::bad_alloc);
    std::uint64_t sent = 1;
    for (int round = 0; round < 50; ++round) {  // it stays small, and works
        while (a.send(1, sent + 1) == send_status::sent)
            ++sent;
        b.it->poll(40);
    }
    while (b.it->poll(100) != 0) {
    }
    EXPECT_EQ(b.got.size(), sent);
    EXPECT_EQ(memory.blocks(), 1u);
}

TEST_P(shm_rings, no_ring_starves_behind_a_busy_one)
{
    constexpr peer ranks = 20;
    plain_memory memory(ranks, GetParam());
    node receiver(memory, 0);
    std::vector<std::unique_ptr<node>> senders;
    for (peer p = 1; p < ranks; ++p)
        senders.push_back(std::make_unique<node>(memory, p));
    std::vector<int> seen(ranks);
    for (int round = 0; round < 200; ++round) {
        for (auto& s : senders) {
            while (s->send(0, 0) == send_status::sent) {
            }
        }
        receiver.from.clear();
        receiver.it->poll(8);
        for (peer p : receiver.from)
            ++seen[p];
    }
    for (peer p = 1; p < ranks; ++p)
        EXPECT_GE(seen[p], 40) << "of 1600 messages in 200 polls, sender " << p;
}

// Bells of several words, some of them silent for long, and of ranks that are none.
TEST_P(shm_rings, everybody_is_heard)
{
    constexpr peer ranks = 200;
    plain_memory memory(ranks, GetParam());
    node receiver(memory, 70);
    std::vector<std::unique_ptr<node>> senders;
    for (peer p = 0; p < ranks; ++p)
        senders.push_back(p == 70 ? nullptr : std::make_unique<node>(memory, p));
    std::uint64_t sent = 0;
    for (std::size_t every : {1, 199, 63, 64, 65, 7, 128}) {
        for (std::size_t i = 0, p = 0; i < ranks; ++i, p = (p + every) % ranks) {
            if (p == 70)
                continue;
            ASSERT_EQ(senders[p]->send(70, sent), send_status::sent);
            ++sent;
            if (i % 3 == 0) {
                EXPECT_GE(receiver.it->poll(2), 1);
            }
        }
        while (receiver.it->poll(100) != 0) {
        }
        std::ranges::sort(receiver.got);
        ASSERT_EQ(receiver.got.size(), sent);
        for (std::uint64_t i = 0; i < sent; ++i)
            ASSERT_EQ(receiver.got[i], i);
        EXPECT_FALSE(receiver.it->pending());
    }
    for (std::size_t word = 0; word < 4; ++word)
        shm::bells_of(memory.inbox(70), word).store(~std::uint64_t{0});
    EXPECT_EQ(receiver.it->poll(100), 0);
    EXPECT_FALSE(receiver.it->pending());
    EXPECT_TRUE(receiver.losses.empty());
}

TEST_P(shm_rings, the_dead_have_spoken_and_cost_nothing_more)
{
    plain_memory memory(3, GetParam());
    node a(memory, 0);
    node b(memory, 1);
    ASSERT_EQ(a.send(1, 1), send_status::sent);
    EXPECT_EQ(b.it->poll(10), 1);
    ASSERT_EQ(a.send(1, 2), send_status::sent);
    ASSERT_EQ(b.send(0, 3), send_status::sent);
    memory.set_gone(0);
    b.it->peer_died(0);
    EXPECT_EQ(memory.blocks(), 1u);  // b's ring towards a is given back
    EXPECT_EQ(b.send(0, 4), send_status::unreachable);
    EXPECT_TRUE(b.it->pending());
    while (b.it->poll(10) != 0) {
    }
    EXPECT_EQ(b.got, (std::vector<std::uint64_t>{1, 2}));
    b.it->peer_died(0);
    EXPECT_EQ(b.it->poll(10), 0);
    EXPECT_FALSE(b.it->pending());
    EXPECT_TRUE(b.losses.empty());
}

TEST_P(shm_rings, a_full_ring_of_a_dead_peer_is_unreachable)
{
    plain_memory memory(2, GetParam());
    node a(memory, 0);
    while (a.send(1, 0) == send_status::sent) {
    }
    memory.set_gone(1);
    EXPECT_EQ(a.send(1, 0), send_status::unreachable);
    EXPECT_EQ(a.send(1, 0), send_status::unreachable);
    EXPECT_NE(a.it->why_not(1), "");
}

TEST_P(shm_rings, who_is_no_peer)
{
    plain_memory memory(2, GetParam());
    node a(memory, 0);
    EXPECT_EQ(a.send(0, 0), send_status::unreachable);
    EXPECT_EQ(a.send(2, 0), send_status::unreachable);
    EXPECT_NE(a.it->why_not(0), "");
    EXPECT_NE(a.it->why_not(2), "");
    EXPECT_EQ(a.it->why_not(1), "");
    a.it->peer_died(77);
}

TEST_P(shm_rings, successors_in_the_same_process)
{
    plain_memory memory(2, GetParam());
    std::uint64_t sent = 0;
    std::vector<std::uint64_t> got;
    for (int life = 0; life < 12; ++life) {
        node a(memory, 0);
        node b(memory, 1);
        for (int round = 0; round < life; ++round) {
            while (a.send(1, sent, sent % 900) == send_status::sent)
                ++sent;
            b.it->poll(10 + life);
        }
        got.insert(got.end(), b.got.begin(), b.got.end());
        ASSERT_TRUE(a.losses.empty() && b.losses.empty());
    }
    node b(memory, 1);
    while (b.it->poll(1000) != 0) {
    }
    got.insert(got.end(), b.got.begin(), b.got.end());
    ASSERT_EQ(got.size(), sent);
    for (std::uint64_t i = 0; i < sent; ++i)
        ASSERT_EQ(got[i], i);
}

// What a hostile or broken peer may write: it is named once, silenced, and everybody else goes on.
TEST_P(shm_rings, hostile_peers)
{
    using breaking = void (*)(plain_memory&, node& evil);
    breaking const ways[] = {
        [](plain_memory& m, node&) {  // an address that is not its own
            shm::box_of(m.inbox(1), 0).ring.store(0xdeadbeef00);
            shm::announced(m.inbox(1)).count.fetch_add(1);
        },
        [](plain_memory& m, node& evil) {  // a ring of other ranks
            ASSERT_EQ(evil.send(2, 5), send_status::sent);
            shm::box_of(m.inbox(1), 0).ring.store(shm::box_of(m.inbox(2), 0).ring.load());
            shm::announced(m.inbox(1)).count.fetch_add(1);
        },
        [](plain_memory& m, node& evil) {  // capacities that are none
            ASSERT_EQ(evil.send(1, 5), send_status::sent);
            ring_of(m, 0, 1)->capacity = 100;
        },
        [](plain_memory& m, node& evil) {
            ASSERT_EQ(evil.send(1, 5), send_status::sent);
            ring_of(m, 0, 1)->capacity = 128;  // more than the block holds
        },
        [](plain_memory& m, node& evil) {
            ASSERT_EQ(evil.send(1, 5), send_status::sent);
            ring_of(m, 0, 1)->capacity = 0;
        },
        [](plain_memory& m, node& evil) {  // nonsense in the ring
            ASSERT_EQ(evil.send(1, 5), send_status::sent);
            std::memset(static_cast<void*>(ring_of(m, 0, 1) + 1), 0x77, 64);
        },
        [](plain_memory& m, node& evil) {  // a move to nowhere, to itself
            ASSERT_EQ(evil.send(1, 5), send_status::sent);
            std::uint64_t const words[2] = {shm::word::make(shm::word::moved, 1, 0, 8), 64};
            std::memcpy(static_cast<void*>(ring_of(m, 0, 1) + 1), words, sizeof words);
        },
        [](plain_memory& m, node& evil) {
            ASSERT_EQ(evil.send(1, 5), send_status::sent);
            std::uint64_t const words[2] = {shm::word::make(shm::word::moved, 1, 0, 8), reinterpret_cast<std::uint64_t>(ring_of(m, 0, 1))};
            std::memcpy(static_cast<void*>(ring_of(m, 0, 1) + 1), words, sizeof words);
        },
        [](plain_memory&, node& evil) {  // a handler that is not there
            ASSERT_EQ(evil.it->try_send(1, 99, {}, {}), send_status::sent);
        },
    };
    int way = 0;
    for (breaking const& b : ways) {
        SCOPED_TRACE(way++);
        plain_memory memory(3, GetParam());
        node evil(memory, 0);
        node victim(memory, 1);
        node other(memory, 2);
        b(memory, evil);
        ASSERT_EQ(other.send(1, 6), send_status::sent);
        for (int i = 0; i < 10; ++i)
            victim.it->poll(10);
        EXPECT_EQ(victim.got, (std::vector<std::uint64_t>{6}));
        ASSERT_EQ(victim.losses.size(), 1u);
        EXPECT_EQ(victim.losses[0].find("rank 0"), 0u) << victim.losses[0];
        EXPECT_FALSE(victim.it->pending());
        EXPECT_EQ(victim.send(0, 1), send_status::unreachable);
        victim.it->peer_died(0);
        EXPECT_EQ(victim.send(2, 7), send_status::sent);
    }
}

TEST_P(shm_rings, a_mailbox_that_was_tampered_with)
{
    plain_memory memory(2, GetParam());
    node a(memory, 0);
    shm::box_of(memory.inbox(1), 0).ring.store(64);
    EXPECT_EQ(a.send(1, 0), send_status::unreachable);
    a.it->poll(1);
    ASSERT_EQ(a.losses.size(), 1u);
    EXPECT_EQ(a.send(1, 0), send_status::unreachable);
    EXPECT_EQ(memory.blocks(), 0u);
}

TEST_P(shm_rings, a_hostile_receiver)
{
    plain_memory memory(2, GetParam());
    node a(memory, 0);
    ASSERT_EQ(a.send(1, 0), send_status::sent);
    ring_of(memory, 0, 1)->position.store(1234567);
    while (a.send(1, 0) == send_status::sent) {
    }
    EXPECT_EQ(a.send(1, 0), send_status::unreachable);
    EXPECT_TRUE(a.it->pending());
    EXPECT_EQ(a.it->poll(1), 0);
    ASSERT_EQ(a.losses.size(), 1u);
    EXPECT_FALSE(a.it->pending());
}

} // namespace
