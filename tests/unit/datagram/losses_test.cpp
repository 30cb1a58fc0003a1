// Whatever the network does, every message arrives once, whole, in order.
#include "unit/datagram/world.hpp"

namespace {

using namespace datagram_world;

/// Everybody sends `count` messages to everybody else.
void all_to_all(world& w, std::uint64_t count, std::int64_t step = 10'000)
{
    auto const size = static_cast<peer>(w.ranks.size());
    bool const done = w.until(
        [&] {
            bool all = true;
            for (peer from = 0; from < size; ++from) {
                for (peer to = 0; to < size; ++to) {
                    while (from != to && w.said(from, to) < count && w.say(from, to) == send_status::sent) {
                    }
                    all = all && (from == to || (w.said(from, to) == count && w.ranks[to].heard[from] == count));
                }
            }
            return all;
        },
        step);
    ASSERT_TRUE(done) << "rank 1 heard " << w.ranks[1].heard[0] << " of " << w.said(0, 1) << " messages of rank 0\n"
                      << w.story();
    ASSERT_TRUE(w.until([&] { return w.drained(); }, step));
    for (int i = 0; i < 100; ++i)
        w.step(step);
    for (peer to = 0; to < size; ++to) {
        EXPECT_EQ(w.ranks[to].wrong, 0u);
        EXPECT_TRUE(w.ranks[to].failures.empty()) << w.ranks[to].failures[0];
        EXPECT_TRUE(w.ranks[to].links_lost.empty());
        for (peer from = 0; from < size; ++from)
            EXPECT_EQ(w.ranks[to].heard[from], from == to ? 0 : count);
    }
}

struct weather {
    char const* name;
    dg::faults bad;
    std::uint64_t messages;
    bool summed = false;
    bool sealed = false;
};

class losses : public testing::TestWithParam<weather> {};

TEST_P(losses, every_message_arrives_once_in_order)
{
    weather p = GetParam();
    std::uint64_t const seed = test_seed();
    SCOPED_TRACE("repeat with TOWLINE_TEST_SEED=" + std::to_string(seed));
    p.bad.seed = seed;
    dg::config c;
    c.summed = p.summed;
    c.sealed = p.sealed;
    world w(3, p.bad, c);
    all_to_all(w, p.messages);
}

INSTANTIATE_TEST_SUITE_P(
    over, losses,
    testing::Values(weather{"none", {}, 1000}, weather{"one_percent", {.loss = 0.01}, 1000}, weather{"five_percent", {.loss = 0.05}, 1000},
                    weather{"twenty_percent", {.loss = 0.2}, 500}, weather{"half", {.loss = 0.5}, 200},
                    weather{"bursts", {.burst = 0.003, .burst_length = 44}, 1000}, weather{"duplicates", {.duplicate = 0.3}, 500},
                    weather{"reordered", {.reorder = 0.2}, 500}, weather{"far", {.loss = 0.01, .delay_ns = 2'000'000}, 300},
                    weather{"corrupt", {.corrupt = 0.05}, 500, true}, weather{"corrupt_sealed", {.corrupt = 0.05}, 300, false, true},
                    weather{"everything", {.loss = 0.05, .duplicate = 0.05, .reorder = 0.05, .corrupt = 0.02, .burst = 0.001}, 500, true},
                    weather{"everything_sealed", {.loss = 0.05, .duplicate = 0.05, .reorder = 0.05, .corrupt = 0.02}, 200, false, true}),
    [](auto const& it) { return it.param.name; });

// Packet numbers go round in the middle of the traffic.
TEST(numbers, go_round)
{
    for (std::uint32_t const before : {1U, 10U, 500U}) {
        dg::config c;
        c.first_number = 0U - before;
        world w(2, {.loss = 0.05, .duplicate = 0.05, .reorder = 0.1, .seed = test_seed()}, c);
        SCOPED_TRACE("repeat with TOWLINE_TEST_SEED=" + std::to_string(test_seed()));
        all_to_all(w, 500);
    }
}

// Where nothing is lost nothing is sent again, and acknowledgements are few.
TEST(quiet, a_good_network_is_not_burdened)
{
    world w(2, {.delay_ns = 20'000});
    all_to_all(w, 3000, 2'000);
    for (peer r : {0U, 1U}) {
        auto const c = w.counts(r);
        EXPECT_EQ(c.packets_resent, 0u);
        EXPECT_EQ(c.duplicates, 0u);
        EXPECT_EQ(c.probes_sent, 0u);
        EXPECT_LE(c.acks_sent, c.packets_received / 2);
        EXPECT_LE(c.hellos_sent, 2u);
    }
}

// A lost packet is sent again, not those around it.
TEST(quiet, only_what_is_missing_is_sent_again)
{
    world w(2, {.loss = 0.02, .delay_ns = 20'000, .seed = 7});
    all_to_all(w, 3000, 2'000);
    for (peer r : {0U, 1U}) {
        auto const c = w.counts(r);
        EXPECT_LT(c.packets_resent, c.packets_sent / 20) << w.story();
        EXPECT_LT(w.counts(1 - r).duplicates, c.packets_resent / 4 + 10);
    }
}

// The receiver computes for seconds: it is asked now and then, nothing is sent again, and it is not given up.
TEST(quiet, a_receiver_that_computes_is_not_flooded)
{
    world w(2, {});
    w.say(0, 1);
    ASSERT_TRUE(w.until([&] { return w.drained(); }));
    w.ranks[1].away = true;
    while (w.say(0, 1) == send_status::sent) {
    }
    auto const before = w.counts(0);
    for (int i = 0; i < 5000; ++i)
        w.step(1'000'000);
    auto const after = w.counts(0);
    EXPECT_EQ(after.packets_resent, before.packets_resent);
    EXPECT_LE(after.probes_sent, 80u);
    EXPECT_TRUE(w.ranks[0].links_lost.empty());
    w.ranks[1].away = false;
    all_to_all(w, w.said(0, 1) + 10);
}

// A process that was stopped itself does not take the silence of that time for the peer's.
TEST(quiet, who_was_stopped_gives_nobody_up)
{
    world w(2, {});
    for (bool const met : {false, true}) {
        w.ranks[1].away = true;
        w.say(0, 1);
        for (int i = 0; i < 100; ++i)
            w.step(10'000'000);  // it asks
        w.ranks[0].away = true;
        w.step(100'000'000'000);
        w.ranks[0].away = false;
        w.step();
        EXPECT_TRUE(w.ranks[0].links_lost.empty()) << (met ? "it had been met" : "it had not been met");
        w.ranks[1].away = false;
        all_to_all(w, w.said(0, 1) + 10);
    }
}

/// Rank 0 has given up rank 1 alone, for this reason, and still reaches rank 2.
void expect_lost(world& w, char const* why)
{
    ASSERT_EQ(w.ranks[0].links_lost.size(), 1u);
    EXPECT_NE(w.ranks[0].links_lost[0].find(why), std::string::npos) << w.ranks[0].links_lost[0];
    EXPECT_TRUE(w.ranks[0].failures.empty());
    EXPECT_EQ(w.say(0, 1), send_status::unreachable);
    EXPECT_EQ(w.say(0, 2), send_status::sent);
    EXPECT_TRUE(w.until([&] { return w.ranks[2].heard[0] == w.said(0, 2); }));
    EXPECT_TRUE(w.ranks[2].links_lost.empty());
}

// Who answers nothing is given up, and named; the transport still reaches others.
TEST(quiet, a_link_that_is_lost)
{
    dg::config c;
    c.patience = 3'000'000'000;
    world w(3, {}, c);
    w.say(0, 1);
    ASSERT_TRUE(w.until([&] { return w.drained(); }));
    w.ranks[1].away = true;
    w.say(0, 1);
    for (int i = 0; i < 250; ++i)
        w.step(10'000'000);
    EXPECT_TRUE(w.ranks[0].links_lost.empty());
    for (int i = 0; i < 150; ++i)
        w.step(10'000'000);
    expect_lost(w, "no packet for 3 s");
}

// Who has ended is given up as soon as its machine has said so for a while, not after the long silence; one refusal may be forged.
TEST(quiet, a_process_that_has_ended)
{
    world w(3, {.delay_ns = 20'000});
    w.say(0, 1);
    w.say(0, 2);
    ASSERT_TRUE(w.until([&] { return w.drained(); }));
    w.ranks[1].it.reset();
    w.net.refuse(1);
    w.say(0, 1);
    for (int i = 0; i < 90; ++i)
        w.step(10'000'000);
    EXPECT_TRUE(w.ranks[0].links_lost.empty());
    for (int i = 0; i < 60; ++i)
        w.step(10'000'000);
    expect_lost(w, "its process has ended");
}

// Who only listens asks for signs of life: it finds out that a peer has ended, or answers nothing, and burdens the living little.
TEST(quiet, silence_is_asked_about)
{
    dg::config c;
    c.patience = 3'000'000'000;
    world w(4, {.delay_ns = 20'000}, c);
    w.ranks[1].it.reset();
    w.net.refuse(1);
    w.ranks[2].away = true;
    for (int i = 0; i < 600; ++i) {
        if (i % 20 == 0)
            w.ranks[0].it->ask_around();
        w.step(10'000'000);
    }
    ASSERT_EQ(w.ranks[0].links_lost.size(), 2u);
    EXPECT_NE(w.ranks[0].links_lost[0].find("its process has ended"), std::string::npos) << w.ranks[0].links_lost[0];
    EXPECT_NE(w.ranks[0].links_lost[1].find("no packet for 3 s"), std::string::npos) << w.ranks[0].links_lost[1];
    EXPECT_EQ(w.say(0, 3), send_status::sent);
    EXPECT_LE(w.counts(3).packets_received, 80u);
    EXPECT_EQ(w.ranks[3].wrong, 0u);
}

} // namespace
