#include "transport/sim/network.hpp"

#include "towline/error.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <vector>

namespace {

using namespace towline::transport;

std::span<std::byte const> bytes(auto const& v)
{
    return std::as_bytes(std::span(&v, 1));
}

struct arrival {
    peer source;
    std::uint32_t value;
    friend bool operator==(arrival const&, arrival const&) = default;
};

struct node {
    std::unique_ptr<component> it;
    std::vector<arrival> got;

    explicit node(std::unique_ptr<component> c) : it(std::move(c))
    {
        it->set_handler(
            1,
            [](void* context, peer source, std::span<std::byte const> payload) {
                std::uint32_t v = 0;
                std::memcpy(&v, payload.data(), sizeof v);
                static_cast<node*>(context)->got.push_back({source, v});
            },
            this);
    }
};

/// Two senders send 50 numbers each to peer 0; what peer 0 saw, in order.
std::vector<arrival> race(std::uint64_t seed)
{
    sim::network net(seed, 3, {.max_delay = 40});
    node receiver(net.make(0));
    node a(net.make(1));
    node b(net.make(2));
    for (std::uint32_t i = 0; i < 50; ++i) {
        EXPECT_EQ(a.it->try_send(0, 1, bytes(i), {}), send_status::sent);
        EXPECT_EQ(b.it->try_send(0, 1, bytes(i), {}), send_status::sent);
    }
    while (net.in_flight() != 0)
        receiver.it->poll(4);
    return receiver.got;
}

TEST(sim, same_seed_same_run)
{
    EXPECT_EQ(race(7), race(7));
    EXPECT_NE(race(7), race(8));
}

TEST(sim, pairs_keep_order_and_peers_overtake)
{
    auto const got = race(3);
    ASSERT_EQ(got.size(), 100u);
    std::uint32_t next[3] = {};
    bool overtaken = false;
    for (auto const& g : got) {
        EXPECT_EQ(g.value, next[g.source]++);
        overtaken = overtaken || next[1] > next[2] + 1 || next[2] > next[1] + 1;
    }
    EXPECT_TRUE(overtaken);
}

TEST(sim, busy_until_polled)
{
    sim::network net(1, 2, {.max_delay = 0, .max_in_flight = 3});
    node a(net.make(0));
    node b(net.make(1));
    std::uint32_t const v = 5;
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(a.it->try_send(1, 1, bytes(v), {}), send_status::sent);
    EXPECT_EQ(a.it->try_send(1, 1, bytes(v), {}), send_status::busy);
    EXPECT_EQ(b.it->poll(1), 1);
    EXPECT_EQ(a.it->try_send(1, 1, bytes(v), {}), send_status::sent);
}

TEST(sim, a_dead_peer_has_spoken)
{
    sim::network net(1, 3, {.min_delay = 5, .max_delay = 5});
    node a(net.make(0));
    node b(net.make(1));
    node c(net.make(2));
    std::uint32_t const v = 9;
    ASSERT_EQ(a.it->try_send(1, 1, bytes(v), {}), send_status::sent);
    ASSERT_EQ(b.it->try_send(0, 1, bytes(v), {}), send_status::sent);
    net.kill_at(0, 2);
    EXPECT_FALSE(net.is_dead(0));
    net.advance(2);
    EXPECT_TRUE(sim::network::dead(&net, 0));
    EXPECT_EQ(net.deaths().load(), 1u);
    EXPECT_EQ(b.it->try_send(0, 1, bytes(v), {}), send_status::unreachable);
    EXPECT_EQ(a.it->try_send(1, 1, bytes(v), {}), send_status::unreachable);
    net.advance(5);
    EXPECT_EQ(a.it->poll(9), 0);
    b.it->peer_died(0);
    EXPECT_EQ(b.it->poll(9), 1);
    EXPECT_EQ(b.got, (std::vector<arrival>{{0, 9}}));
    EXPECT_EQ(c.it->try_send(1, 1, bytes(v), {}), send_status::sent);
}

TEST(sim, leaving_is_no_death)
{
    sim::network net(1, 2);
    node a(net.make(0));
    {
        node b(net.make(1));
    }
    EXPECT_EQ(net.deaths().load(), 0u);
    EXPECT_EQ(a.it->try_send(1, 1, {}, {}), send_status::unreachable);
    EXPECT_NE(a.it->why_not(1), "");
    EXPECT_THROW(static_cast<void>(net.make(1)), towline::usage_error);
    EXPECT_THROW(static_cast<void>(net.make(2)), towline::usage_error);
}

TEST(sim, poll_inside_a_handler_is_named)
{
    sim::network net(1, 1, {.max_delay = 0});
    auto it = net.make(0);
    it->set_handler(1, [](void* c, peer, std::span<std::byte const>) { static_cast<component*>(c)->poll(1); }, it.get());
    ASSERT_EQ(it->try_send(0, 1, {}, {}), send_status::sent);
    EXPECT_THROW(it->poll(1), towline::usage_error);
    EXPECT_EQ(it->poll(1), 0);
}

TEST(sim, options_are_checked)
{
    EXPECT_THROW(sim::network(1, 1, {.min_delay = 2, .max_delay = 1}), towline::usage_error);
    EXPECT_THROW(sim::network(1, 1, {.max_in_flight = 0}), towline::usage_error);
}

} // namespace
