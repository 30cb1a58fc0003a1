// Every message arrives once, whole, in order.
#include "conformance/traffic.hpp"

#include <algorithm>
#include <thread>

namespace conformance {

namespace {

class messages : public over_every_transport {};

/// Everybody sends `count` made messages to everybody (itself only where it is alone) and hears as many.
void all_to_all(place& p, sizes how, std::uint64_t count)
{
    hearing ears(p, how);
    p.barrier();
    bool const alone = p.size() == 1;
    for (std::uint64_t i = 0; i < count; ++i) {
        for (peer step = alone ? 0 : 1; step < p.size(); ++step)
            ears.say((p.rank() + step) % p.size(), i);
    }
    std::uint64_t const expected = count * (alone ? 1 : p.size() - 1);
    p.until([&] { return ears.total() >= expected; }, "the last messages");
    p.barrier();
    for (peer source = 0; source < p.size(); ++source)
        EXPECT_EQ(ears.from(source), alone || source != p.rank() ? count : 0);
    EXPECT_EQ(ears.total(), expected);
    p.until([&] { return !p.it.pending(); }, "silence");
}

TEST_P(messages, small_between_two)
{
    run(2, [](place& p) { all_to_all(p, sizes::small, 5000 * effort); });
}

TEST_P(messages, mixed_between_three)
{
    run(3, [](place& p) { all_to_all(p, sizes::mixed, 1000 * effort); });
}

TEST_P(messages, long_both_ways)
{
    run(2, [](place& p) { all_to_all(p, sizes::long_ones, 300 * effort); });
}

TEST_P(messages, many_peers)
{
    run(24, [](place& p) { all_to_all(p, sizes::mixed, 12 * effort); });
}

// Every size up to some lines, then those around the limit.
TEST_P(messages, every_size)
{
    run(2, [](place& p) {
        static std::vector<std::byte> const sent = [] {
            std::vector<std::byte> v(std::size_t{1} << 20);
            for (std::size_t i = 0; i < v.size(); ++i)
                v[i] = static_cast<std::byte>(mix(i));
            return v;
        }();
        struct state {
            std::size_t expected = 0;
            std::size_t count = 0;
        } heard;
        p.it.set_handler(
            7,
            [](void* context, peer, std::span<std::byte const> payload) {
                auto& h = *static_cast<state*>(context);
                ASSERT_EQ(payload.size(), h.expected);
                ASSERT_TRUE(payload.empty() || std::memcmp(payload.data(), sent.data() + payload.size() % 64, payload.size()) == 0);
                ++h.count;
            },
            &heard);
        p.barrier();
        std::size_t const most = p.it.caps().max_eager;
        for (std::size_t size = 0; size <= most; size += size < 300 || size + 70 > most ? 1 : 61) {
            heard.expected = size;
            std::size_t const before = heard.count;
            p.barrier();
            p.send(p.next(), 7, std::span(sent).subspan(size % 64, size));
            p.until([&] { return heard.count == before + 1; }, "a message of each size");
        }
        p.barrier();
    });
}

// What is lent is read until its completion, and then spoilt here. A receiver that takes parts gets each byte once, in parts or whole.
TEST_P(messages, lent_and_in_parts)
{
    run(2, [](place& p) {
        constexpr std::size_t beginning = sizeof(std::uint64_t);
        static auto const byte_of = [](std::uint64_t number, std::size_t at) { return static_cast<std::byte>(mix(number << 20 | at)); };
        struct receiver {
            std::array<std::uint64_t, 100> bytes{};  ///< by message
            std::uint64_t total = 0;
            void take(std::span<std::byte const> head, std::size_t at, std::span<std::byte const> part)
            {
                std::uint64_t number = 0;
                std::memcpy(&number, head.data(), sizeof number);
                ASSERT_LT(number, bytes.size());
                for (std::size_t i = 0; i < part.size(); ++i)
                    ASSERT_EQ(part[i], byte_of(number, at + i)) << "byte " << at + i << " of message " << number;
                bytes[number] += part.size();
                total += part.size();
            }
        } heard;
        struct message {
            std::vector<std::byte> bytes;
            std::uint32_t ended = 0;
        };
        std::vector<message> sent(heard.bytes.size());
        p.it.set_handler(
            8,
            [](void* r, peer, std::span<std::byte const> payload) {
                static_cast<receiver*>(r)->take(payload.first(beginning), beginning, payload.subspan(beginning));
            },
            &heard);
        p.it.set_part_handler(
            8, beginning,
            [](void* r, peer, std::span<std::byte const> head, std::size_t at, std::span<std::byte const> part) {
                static_cast<receiver*>(r)->take(head, at, part);
            },
            &heard);
        p.barrier();
        std::uint64_t expected = 0;
        for (std::uint64_t number = 0; number < sent.size(); ++number) {
            auto& m = sent[number];
            std::size_t const most = p.it.caps().max_eager;
            m.bytes.resize(number % 4 == 0 ? most : beginning + mix(number) % (most - beginning + 1));
            std::memcpy(m.bytes.data(), &number, sizeof number);
            for (std::size_t i = beginning; i < m.bytes.size(); ++i)
                m.bytes[i] = byte_of(number, i);
            expected += m.bytes.size() - beginning;
            auto status = send_status::busy;
            p.until(
                [&] {
                    status = p.it.try_send_lent(
                        p.next(), 8, std::span(m.bytes).first(beginning), std::span(m.bytes).subspan(beginning),
                        [](void* of, bool ok) {
                            auto& it = *static_cast<message*>(of);
                            EXPECT_TRUE(ok);
                            ++it.ended;
                            std::ranges::fill(it.bytes, std::byte{0xee});
                        },
                        &m);
                    return status != send_status::busy;
                },
                "room to send");
            ASSERT_TRUE(status == send_status::sent || status == send_status::lent);
            if (status == send_status::sent) {  // a transport may copy
                std::ranges::fill(m.bytes, std::byte{0xee});
                m.ended = 1;
            }
        }
        p.until([&] { return heard.total >= expected && std::ranges::all_of(sent, [](message const& m) { return m.ended != 0; }); },
                "all bytes, and the end of all loans");
        p.barrier();
        EXPECT_EQ(heard.total, expected);
        for (std::uint64_t number = 0; number < sent.size(); ++number) {
            EXPECT_EQ(heard.bytes[number], sent[number].bytes.size() - beginning);
            EXPECT_EQ(sent[number].ended, 1u);
        }
    });
}

// The receiver is away until there is no room; then everything arrives.
TEST_P(messages, busy_until_the_receiver_comes_back)
{
    run(2, [](place& p) {
        hearing ears(p, sizes::mixed);
        p.barrier();
        if (p.rank() == 0) {
            std::uint64_t taken = 0;
            for (; taken < 1'000'000; ++taken) {
                made_message const m(0, p.next(), taken, sizes::mixed, p.it.caps().max_eager);
                if (p.it.try_send(p.next(), m.handler, m.head(), m.body()) != send_status::sent)
                    break;
            }
            EXPECT_LT(taken, 1'000'000u) << "memory without bound";
            p.note(0).store(taken);
            for (std::uint64_t i = taken; i < taken + 500; ++i)
                ears.say(p.next(), i);
            p.note(1).store(taken + 500);
        } else {
            p.away_until([&] { return p.note(0).load() != 0; }, "the sender to find no room");
        }
        if (p.rank() == p.size() - 1)
            p.until([&] { return p.note(1).load() != 0 && ears.total() == p.note(1).load(); }, "what was held back");
        p.barrier();
    });
}

// What comes next may be shown before its handler is called, and be taken instead; it keeps its place in the order.
TEST_P(messages, what_comes_next_is_shown)
{
    run(
        3,
        [](place& p) {
            struct state {
                std::array<std::uint64_t, 3> next{};
                std::uint64_t handled = 0;
                void take(peer from, std::span<std::byte const> payload)
                {
                    std::uint64_t number = 0;
                    ASSERT_GE(payload.size(), sizeof number);
                    std::memcpy(&number, payload.data(), sizeof number);
                    EXPECT_EQ(number, next[from]++);
                }
            } heard;
            p.it.set_handler(
                9,
                [](void* context, peer from, std::span<std::byte const> payload) {
                    auto& h = *static_cast<state*>(context);
                    ++h.handled;
                    h.take(from, payload);
                },
                &heard);
            p.barrier();
            std::uint64_t const count = 500 * effort;
            if (p.rank() != 0) {
                std::array<std::byte, 200> const tail{};
                for (std::uint64_t i = 0; i < count; ++i)
                    p.send(0, 9, as_bytes(i), std::span(tail).first(mix(i) % tail.size()));
            } else {
                std::uint64_t const expected = count * (p.size() - 1);
                std::uint64_t shown = 0, taken = 0;
                p.until(
                    [&] {
                        transport::next_message next;
                        auto const from = static_cast<peer>(1 + (heard.handled + taken) % (p.size() - 1));
                        if (p.it.peek(from, next)) {
                            EXPECT_EQ(next.id, 9);
                            if (++shown % 3 != 0) {  // what is not taken is seen again
                                heard.take(from, next.payload);
                                p.it.pass();
                                ++taken;
                            }
                        } else if (shown % 7 == 0) {
                            p.it.poll(1);
                        }
                        return taken + heard.handled == expected;
                    },
                    "all messages");
                EXPECT_TRUE(taken > 0 || p.it.name() != "shm");
            }
            p.barrier();
        },
        2);
}

// Handlers send on what they get; what finds no room is kept and sent from the loop, as an engine does.
TEST_P(messages, handlers_send)
{
    run(4, [](place& p) {
        struct relay {
            place& p;
            std::vector<std::uint32_t> kept;
            std::uint64_t ended = 0;
            void forward(std::uint32_t hops)
            {
                if (p.it.try_send(p.next(), 9, as_bytes(hops), {}) != send_status::sent)
                    kept.push_back(hops);
            }
        } r{p, {}};
        p.it.set_handler(
            9,
            [](void* context, peer, std::span<std::byte const> payload) {
                auto& it = *static_cast<relay*>(context);
                std::uint32_t hops = 0;
                ASSERT_EQ(payload.size(), sizeof hops);
                std::memcpy(&hops, payload.data(), sizeof hops);
                if (hops == 0)
                    ++it.ended;
                else
                    it.forward(hops - 1);
            },
            &r);
        p.barrier();
        constexpr std::uint32_t tokens = 50;
        std::uint32_t const hops = 100 * effort * p.size();  // so they end where they began
        for (std::uint32_t i = 0; i < tokens; ++i)
            r.forward(hops - 1);
        auto const done = [&] {
            std::vector<std::uint32_t> again;
            again.swap(r.kept);
            for (std::uint32_t h : again)
                r.forward(h);
            return r.ended == tokens;
        };
        p.until(done, "tokens to come home");
        p.note(p.rank()).store(1);
        auto const all_done = [&] {
            done();
            for (peer q = 0; q < p.size(); ++q) {
                if (p.note(q).load() == 0)
                    return false;
            }
            return true;
        };
        p.until(all_done, "the others' tokens");
        p.barrier();
        EXPECT_EQ(r.ended, tokens);
    });
}

// Several threads of a rank send to one peer: each thread's messages keep their order.
TEST_P(messages, many_threads_to_one_peer)
{
    run(2, [](place& p) {
        struct spoken {
            std::uint32_t thread;
            std::uint32_t number;
        };
        static constexpr std::uint32_t speakers = 4;
        std::uint32_t const count = 1500 * effort;
        struct state {
            std::array<std::uint32_t, speakers> next{};
            std::uint32_t total = 0;
        } heard;
        p.it.set_handler(
            4,
            [](void* context, peer, std::span<std::byte const> payload) {
                auto& h = *static_cast<state*>(context);
                spoken s;
                ASSERT_GE(payload.size(), sizeof s);
                std::memcpy(&s, payload.data(), sizeof s);
                ASSERT_LT(s.thread, speakers);
                ASSERT_EQ(s.number, h.next[s.thread]++);
                ASSERT_EQ(payload.size(), sizeof s + s.number % 180);
                ++h.total;
            },
            &heard);
        p.barrier();
        std::vector<std::jthread> threads;
        std::atomic<std::uint32_t> finished{0};
        if (p.rank() == 0) {
            for (std::uint32_t t = 0; t < speakers; ++t) {
                threads.emplace_back([&, t] {
                    std::array<std::byte, 180> const filling{};
                    for (std::uint32_t i = 0; i < count;) {
                        spoken const s{t, i};
                        if (p.it.try_send(p.next(), 4, as_bytes(s), std::span(filling).first(i % 180)) == send_status::sent)
                            ++i;
                        else
                            std::this_thread::yield();
                    }
                    ++finished;
                });
            }
        }
        if (p.rank() == 0)  // one thread polls while others send: room comes by polls
            p.until([&] { return finished.load() == speakers; }, "the speakers");
        if (p.rank() == p.size() - 1)
            p.until([&] { return heard.total == speakers * count; }, "all threads' messages");
        threads.clear();
        p.barrier();
        EXPECT_EQ(heard.total, p.rank() == p.size() - 1 ? speakers * count : 0);
    });
}

TEST_P(messages, a_poll_keeps_to_its_budget)
{
    run(1, [](place& p) {
        if (p.it.why_not(0) != "")
            return;  // not to itself
        int heard = 0;
        p.it.set_handler(1, [](void* context, peer, std::span<std::byte const>) { ++*static_cast<int*>(context); }, &heard);
        for (int i = 0; i < 20; ++i)
            p.send(0, 1, {});
        EXPECT_EQ(p.it.poll(0), 0);
        EXPECT_EQ(heard, 0);
        while (heard < 20) {
            int const before = heard;
            int const run = p.it.poll(3);
            EXPECT_LE(run, 3);
            EXPECT_EQ(heard, before + run);
        }
        EXPECT_FALSE(p.it.pending());
        EXPECT_EQ(p.it.poll(3), 0);
    });
}

// A receiver that sleeps is woken by every message: each waits for the answer to the one before, so a lost wake-up is a sleep to its end.
TEST_P(messages, wake_the_sleeper)
{
    run(2, [](place& p) {
        std::atomic<std::uint32_t> heard{0};
        p.it.set_handler(
            1, [](void* context, peer, std::span<std::byte const>) { ++*static_cast<std::atomic<std::uint32_t>*>(context); }, &heard);
        p.barrier();
        std::uint32_t const rounds = (p.it.caps().latency_ns < 500 ? 1000 : 100) * effort;  // simulated time passes by naps
        auto const sleeper = [&](std::uint32_t number) {
            while (heard.load() < number) {
                if (p.it.poll(16) != 0)
                    continue;
                ASSERT_TRUE(p.sleep(std::chrono::seconds(20)) || !p.it.pending()) << "a wake-up was lost at message " << number;
            }
        };
        if (p.size() == 1) {  // to oneself, from another thread
            std::atomic<std::uint32_t> answered{0};
            std::jthread const waker([&] {
                for (std::uint32_t i = 0; i < rounds; ++i) {
                    while (answered.load() < i)
                        std::this_thread::yield();
                    for (std::uint64_t spin = mix(i) % 2000; spin != 0; --spin)
                        std::atomic_signal_fence(std::memory_order_seq_cst);
                    EXPECT_EQ(p.it.try_send(0, 1, as_bytes(i), {}), send_status::sent);
                }
            });
            for (std::uint32_t i = 1; i <= rounds; ++i) {
                sleeper(i);
                answered.store(i);
            }
            return;
        }
        for (std::uint32_t i = 1; i <= rounds; ++i) {
            if (p.rank() == 0) {
                for (std::uint64_t spin = mix(i) % 2000; spin != 0; --spin)
                    std::atomic_signal_fence(std::memory_order_seq_cst);
                p.send(1, 1, as_bytes(i));
                sleeper(i);
            } else {
                sleeper(i);
                p.send(0, 1, as_bytes(i));
            }
            if (testing::Test::HasFatalFailure())
                return;
        }
        p.barrier();
    });
}

INSTANTIATE_TEST_SUITE_P(over, messages, testing::ValuesIn(subjects()), subject_name{});

} // namespace

} // namespace conformance
