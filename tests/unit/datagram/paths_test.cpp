// Several networks between the same ranks: messages arrive once and in order by whichever carries them, long ones by all, and a network that
// fails costs some milliseconds.
#include "unit/datagram/world.hpp"

namespace {

using namespace datagram_world;

constexpr std::int64_t millisecond = 1'000'000;

/// Counts the bytes that go over a network, or drops all, or all of rank 1.
struct gauge {
    std::uint64_t bytes = 0;
    bool dead = false;
    bool one_way = false;
    explicit gauge(dg::sim::network& n) { n.set_tap(tap, this); }
    static bool tap(void* p, std::uint32_t from, std::uint32_t, std::span<std::byte const> datagram)
    {
        auto& self = *static_cast<gauge*>(p);
        self.bytes += datagram.size();
        return self.dead || (self.one_way && from == 1);
    }
};

/// Two ranks, and as many networks as there are faults.
class paths : public testing::Test {
protected:
    void make(std::vector<dg::faults> bad, dg::config c = {})
    {
        w = std::make_unique<world>(2, bad[0], c, dg::sim::network_options{}, std::vector(bad.begin() + 1, bad.end()));
        gauges.push_back(std::make_unique<gauge>(w->net));
        for (auto const& n : w->more)
            gauges.push_back(std::make_unique<gauge>(*n));
    }
    /// Rank 0 sends messages of these bytes to rank 1 for some time.
    void stream(std::int64_t ns, std::int64_t step = 20'000)
    {
        w->expected_length = nullptr;
        for (std::int64_t const end = w->clock.now() + ns; w->clock.now() < end; w->step(step)) {
            if (w->said(0, 1) - w->ranks[1].heard[0] < 20)  // else it would be refused: its bytes take long to make
                static_cast<void>(w->say(0, 1, 60'000));
        }
    }
    /// Sends a short message; how long it takes.
    std::int64_t one_message()
    {
        w->expected_length = nullptr;
        std::int64_t const begin = w->clock.now();
        bool const said = w->until([&] { return w->say(0, 1, 100) == send_status::sent; });
        EXPECT_TRUE(said && w->until([&] { return w->ranks[1].heard[0] == w->said(0, 1); }, 1000)) << w->story();
        return w->clock.now() - begin;
    }
    void all_is_well()
    {
        ASSERT_TRUE(w->until([&] { return w->drained(); })) << w->story();
        EXPECT_EQ(w->ranks[1].heard[0], w->said(0, 1));
        for (auto const& r : w->ranks) {
            EXPECT_EQ(r.wrong, 0u);
            EXPECT_TRUE(r.failures.empty() && r.links_lost.empty()) << w->story();
        }
    }
    std::vector<std::uint64_t> carried() const
    {
        std::vector<std::uint64_t> all;
        for (auto const& g : gauges)
            all.push_back(std::exchange(g->bytes, 0));
        return all;
    }

    std::unique_ptr<world> w;
    std::vector<std::unique_ptr<gauge>> gauges;
};

TEST_F(paths, long_messages_go_by_all_though_one_is_slower)
{
    make({{.delay_ns = 20'000}, {.delay_ns = 90'000}, {.delay_ns = 50'000}});
    stream(20 * millisecond);  // until the level allows it
    carried();
    std::uint64_t const again = w->counts(0).packets_resent;
    stream(50 * millisecond);
    auto const by = carried();
    for (auto const bytes : by)
        EXPECT_GT(bytes, (by[0] + by[1] + by[2]) / 10) << w->story();
    all_is_well();
    EXPECT_EQ(w->counts(0).packets_resent, again) << "what a slower path carries is not lost";
}

TEST_F(paths, short_messages_go_by_one)
{
    make({{.delay_ns = 20'000}, {.delay_ns = 20'000}});
    w->expected_length = nullptr;
    for (int i = 0; i < 1000; ++i) {
        for (int k = 0; k < 10; ++k)
            EXPECT_EQ(w->say(0, 1, 1000), send_status::sent);
        w->step(100'000);
    }
    EXPECT_EQ(carried()[1], 0u);
    all_is_well();
}

TEST_F(paths, a_receiver_that_takes_little_is_not_sent_more_by_several)
{
    make({{.delay_ns = 20'000}, {.delay_ns = 20'000}});
    w->expected_length = nullptr;
    for (int i = 0; i < 2000; ++i) {
        while (w->say(0, 1, 1400) == send_status::sent) {
        }
        while (w->ranks[0].it->poll(64) != 0) {
        }
        w->ranks[1].it->poll(1);
        w->clock.pass(200'000);
        if (i == 1000)
            carried();
    }
    auto const by = carried();
    EXPECT_LT(by[1], by[0] / 10) << w->story();
    EXPECT_EQ(w->net.overruns() + w->more[0]->overruns(), 0u);
    all_is_well();
}

TEST_F(paths, first_contact_by_the_network_that_works)
{
    make({{.delay_ns = 20'000}, {.delay_ns = 20'000}});
    gauges[0]->dead = true;
    EXPECT_LT(one_message(), 5 * millisecond);
    for (int i = 0; i < 10; ++i)
        EXPECT_LT(one_message(), millisecond) << "it is remembered";
    all_is_well();
}

TEST_F(paths, a_network_that_fails_costs_milliseconds)
{
    for (unsigned const how : {0U, 1U, 2U, 3U}) {
        unsigned const dies = how % 2;
        gauges.clear();
        dg::config c;
        c.path_again = 20 * millisecond;
        make({{.delay_ns = 20'000}, {.delay_ns = 20'000}}, c);
        stream(30 * millisecond);
        std::uint64_t const usual = w->ranks[1].heard[0] / 3;
        (how < 2 ? gauges[dies]->dead : gauges[dies]->one_way) = true;
        stream(20 * millisecond);
        std::uint64_t const before = w->ranks[1].heard[0];
        stream(10 * millisecond);
        EXPECT_GE(w->ranks[1].heard[0] - before, usual / 4) << how << "\n" << w->story();
        all_is_well();
        EXPECT_LT(one_message(), 5 * millisecond);
        gauges[dies]->dead = gauges[dies]->one_way = false;  // it is used again
        stream(2 * c.path_again);
        carried();
        stream(20 * millisecond);
        auto const by = carried();
        EXPECT_GT(std::min(by[0], by[1]), (by[0] + by[1]) / 10) << how << "\n" << w->story();
        all_is_well();
    }
}

TEST_F(paths, small_messages_move_to_the_network_that_works)
{
    make({{.delay_ns = 20'000}, {.delay_ns = 20'000}});
    one_message();
    gauges[0]->dead = true;
    EXPECT_LT(one_message(), 20 * millisecond);
    for (int round = 0; round < 3; ++round) {
        EXPECT_LT(one_message(), millisecond) << "it is remembered, also after silence";
        for (int i = 0; i < 200; ++i)
            w->step(millisecond);
    }
    all_is_well();
}

TEST_F(paths, all_networks_fail_and_one_comes_back)
{
    make({{.delay_ns = 20'000}, {.delay_ns = 20'000}, {.delay_ns = 20'000}});
    stream(20 * millisecond);
    for (auto const& g : gauges)
        g->dead = true;
    for (int i = 0; i < 3000; ++i)
        w->step(millisecond);
    gauges[2]->dead = false;
    EXPECT_LT(one_message(), 1000 * millisecond);
    all_is_well();
}

TEST_F(paths, a_peer_that_computes_is_no_failure_of_a_path)
{
    make({{.delay_ns = 20'000}, {.delay_ns = 20'000}});
    stream(50 * millisecond);
    std::uint64_t const again = w->counts(0).packets_resent;
    for (int i = 0; i < 5; ++i) {
        w->ranks[1].away = true;
        stream(300 * millisecond, millisecond);
        w->ranks[1].away = false;
        stream(10 * millisecond);
    }
    all_is_well();
    EXPECT_EQ(w->counts(0).packets_resent, again) << w->story();
}

TEST_F(paths, every_message_arrives_once_whatever_they_lose)
{
    std::uint64_t const seed = test_seed();
    SCOPED_TRACE("repeat with TOWLINE_TEST_SEED=" + std::to_string(seed));
    for (bool const sealed : {false, true}) {
        gauges.clear();
        dg::config c;
        c.sealed = sealed;
        c.summed = !sealed;
        make({{.loss = 0.05, .duplicate = 0.02, .reorder = 0.05, .corrupt = 0.01, .seed = seed},
              {.loss = 0.2, .burst = 0.001, .burst_length = 44, .delay_ns = 300'000, .seed = seed + 1}},
             c);
        std::uint64_t const count = 400;
        ASSERT_TRUE(w->until([&] {
            bool all = true;
            for (peer from : {0, 1}) {
                while (w->said(from, 1 - from) < count && w->say(from, 1 - from) == send_status::sent) {
                }
                all = all && w->ranks[1 - from].heard[from] == count;
            }
            return all;
        })) << w->story();
        all_is_well();
        EXPECT_EQ(w->ranks[0].heard[1], count);
    }
}

// A peer's packet is taken by the path that it belongs to only.
TEST_F(paths, packets_from_elsewhere_are_refused)
{
    make({{.delay_ns = 20'000}, {.delay_ns = 20'000}});
    struct copy {
        std::vector<std::byte> last;
        static bool tap(void* p, std::uint32_t from, std::uint32_t, std::span<std::byte const> datagram)
        {
            if (from == 0)
                static_cast<copy*>(p)->last.assign(datagram.begin(), datagram.end());
            return false;
        }
    } seen;
    w->net.set_tap(copy::tap, &seen);
    one_message();
    ASSERT_FALSE(seen.last.empty());
    std::uint64_t const before = w->counts(1).strangers;
    auto const other = w->more[0]->make();  // number 2 of that network
    w->more[0]->inject(2, 1, seen.last);
    for (int i = 0; i < 10; ++i)
        w->step();
    EXPECT_EQ(w->counts(1).strangers, before + 1);
    all_is_well();
}

} // namespace
