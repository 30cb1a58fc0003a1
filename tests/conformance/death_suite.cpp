// Peers die in the middle of traffic.
#include "conformance/traffic.hpp"

#include <thread>

namespace conformance {

namespace {

class death : public over_every_transport {};

/// Hears the dead peer to its end: after the engine's peer_died, and until nothing is left.
void hear_out(place& p, peer dead)
{
    p.until([&] { return p.gone(dead); }, "the death");
    p.it.peer_died(dead);
    p.until([&] { return !p.it.pending() && p.it.poll(16) == 0 && p.it.sleep_limit_ns() < 0; }, "the last words");
}

// What was published before a death is delivered; sends to the dead find it unreachable; others are not disturbed.
TEST_P(death, last_words_arrive)
{
    run(3, [whole = GetParam().last_words](place& p) {
        hearing ears(p, sizes::mixed);
        p.barrier();
        constexpr peer doomed = 2;
        std::uint64_t const count = 100 * effort;
        if (p.rank() == doomed) {
            for (std::uint64_t i = 0; i < 57; ++i) {
                ears.say(0, i);
                ears.say(1, i);
            }
            p.die();
        }
        peer const other = 1 - p.rank();
        for (std::uint64_t i = 0; i < count; ++i)
            ears.say(other, i);
        hear_out(p, doomed);
        EXPECT_LE(ears.from(doomed), 57u);
        EXPECT_TRUE(ears.from(doomed) == 57 || !whole) << ears.from(doomed);
        for (int i = 0; i < 3; ++i)
            EXPECT_EQ(p.it.try_send(doomed, 1, {}, {}), send_status::unreachable);
        EXPECT_NE(p.it.why_not(doomed), "");
        for (std::uint64_t i = count; i < 2 * count; ++i)
            ears.say(other, i);
        p.until([&] { return ears.from(other) == 2 * count; }, "the other's messages");
        p.barrier();
    }, 3);
}

// A peer that dies while others send to it without end: whoever finds no room learns that it is unreachable, without being told.
TEST_P(death, nobody_waits_for_room_at_the_dead)
{
    run(2, [](place& p) {
        hearing ears(p, sizes::mixed);
        p.barrier();
        if (p.rank() == 1) {
            p.until([&] { return ears.total() >= 20; }, "some messages");
            p.die();
        }
        std::uint64_t number = 0;
        auto const refused = [&] {
            made_message const m(0, 1, number, sizes::mixed, p.it.caps().max_eager);
            send_status const s = p.it.try_send(1, m.handler, m.head(), m.body());
            number += s == send_status::sent;
            return s == send_status::unreachable;
        };
        p.until(refused, "the peer to be unreachable");
        EXPECT_GE(number, 20u);
    }, 2);
}

// Killed at any moment of sending: what arrives is a gapless beginning of what was sent, whole, and at least what the sender knew was
// taken.
TEST_P(death, at_any_moment)
{
    for (unsigned round = 0; round < 3 * effort && !HasFailure(); ++round) {
        run(2, [round, whole = GetParam().last_words](place& p) {
            hearing ears(p, sizes::mixed);
            p.barrier();
            if (p.rank() == 1) {
                auto const until = std::chrono::steady_clock::now() + std::chrono::microseconds(mix(round) % 3000);
                std::jthread const killer([&] {
                    while (std::chrono::steady_clock::now() < until)
                        std::this_thread::yield();
                    try {
                        p.die();
                    } catch (leave const&) {
                        p.note(1).store(1);
                    }
                });
                for (std::uint64_t i = 0; p.note(1).load() == 0; ++i) {
                    made_message const m(1, 0, i, sizes::mixed, p.it.caps().max_eager);
                    send_status s = send_status::busy;
                    while (p.note(1).load() == 0 && (s = p.it.try_send(0, m.handler, m.head(), m.body())) == send_status::busy)
                        std::this_thread::yield();
                    if (s != send_status::sent)
                        break;
                    p.note(0).store(i + 1);
                }
                return;
            }
            p.until([&] { return p.gone(1); }, "the death");
            std::uint64_t const least = p.note(0).load();
            hear_out(p, 1);
            EXPECT_TRUE(ears.from(1) >= least || !whole) << ears.from(1) << " of " << least;
            EXPECT_LE(ears.from(1), p.note(0).load() + 1);
        }, 2);
        if (IsSkipped())
            return;
    }
}

INSTANTIATE_TEST_SUITE_P(over, death, testing::ValuesIn(subjects()), subject_name{});

} // namespace

} // namespace conformance
