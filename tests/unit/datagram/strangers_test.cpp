// Restarted and foreign processes, wrong keys, and packets that somebody makes up.
#include "unit/datagram/world.hpp"

#include "transport/datagram/seal.hpp"

#include <fstream>
#include <iterator>

namespace {

using namespace datagram_world;
namespace wire = dg::wire;

void meet(world& w)
{
    for (peer a = 0; a < w.ranks.size(); ++a) {
        for (peer b = 0; b < w.ranks.size(); ++b) {
            if (a != b) {
                ASSERT_TRUE(w.until([&] { return w.say(a, b) == send_status::sent; }));
            }
        }
    }
    ASSERT_TRUE(w.until([&] { return w.drained(); }));
}

/// Remembers what goes over the network.
struct recorder {
    struct packet {
        std::uint32_t from, to;
        std::vector<std::byte> bytes;
    };
    std::vector<packet> all;
    static bool tap(void* p, std::uint32_t from, std::uint32_t to, std::span<std::byte const> bytes)
    {
        static_cast<recorder*>(p)->all.push_back({from, to, {bytes.begin(), bytes.end()}});
        return false;
    }
};

TEST(strangers, another_key_is_refused)
{
    dg::config c;
    c.patience = 2'000'000'000;
    world w(2, {}, c);
    auto key = w.directory.key();
    key[31] ^= std::byte{1};
    w.directory.set_key(key);
    w.start(1);
    EXPECT_EQ(w.say(0, 1), send_status::sent);
    EXPECT_EQ(w.say(1, 0), send_status::sent);
    ASSERT_TRUE(w.until([&] { return !w.ranks[0].links_lost.empty(); }, 100'000));
    EXPECT_EQ(w.ranks[0].heard[1] + w.ranks[1].heard[0], 0u);
    EXPECT_GT(w.counts(0).strangers, 0u);
    EXPECT_EQ(w.say(0, 1), send_status::unreachable);
    EXPECT_TRUE(w.ranks[0].failures.empty());
}

// What an earlier process sent, or would have been sent, is nothing to a later one; its peers give the rank up, by name.
TEST(strangers, a_restarted_process_is_refused)
{
    world w(2, {});
    meet(w);
    for (int i = 0; i < 50; ++i)
        w.say(0, 1);  // on their way to a process that ends now
    w.start(1);
    w.ranks[1].heard.assign(2, 0);
    EXPECT_EQ(w.say(1, 0), send_status::sent);
    ASSERT_TRUE(w.until([&] { return !w.ranks[0].failures.empty(); }));
    EXPECT_EQ(w.ranks[0].failures[0], "rank 1 is another process than before");
    EXPECT_EQ(w.ranks[1].heard[0], 0u);
    EXPECT_EQ(w.ranks[0].heard[1], 1u);
    EXPECT_EQ(w.say(0, 1), send_status::unreachable);
}

// Everything that ever went over the network comes again, many times, from where it came and from elsewhere.
TEST(strangers, what_is_replayed_does_nothing)
{
    for (bool const sealed : {false, true}) {
        recorder tape;
        dg::config c;
        c.sealed = sealed;
        world w(2, {}, c);
        w.net.set_tap(recorder::tap, &tape);
        meet(w);
        for (int i = 0; i < 40; ++i) {
            w.say(0, 1);
            w.say(1, 0);
        }
        ASSERT_TRUE(w.until([&] { return w.drained(); }));
        auto const once = tape.all;
        w.net.set_tap(nullptr, nullptr);
        auto const elsewhere = w.net.make();
        for (int round = 0; round < 3; ++round) {
            for (auto const& p : once) {
                w.net.inject(p.from, p.to, p.bytes);
                w.net.inject(2, p.to, p.bytes);
                w.step();
            }
        }
        EXPECT_EQ(w.ranks[0].heard[1], w.said(1, 0));
        EXPECT_EQ(w.ranks[1].heard[0], w.said(0, 1));
        EXPECT_EQ(w.ranks[0].wrong + w.ranks[1].wrong, 0u);
        EXPECT_TRUE(w.ranks[0].failures.empty());
        EXPECT_EQ(w.say(0, 1), send_status::sent);
        ASSERT_TRUE(w.until([&] { return w.ranks[1].heard[0] == w.said(0, 1); }));
    }
}

// A sealed packet in which any bit is another is dropped; nothing of a message can be read on the way.
TEST(strangers, sealed_packets_show_nothing_and_stand_no_change)
{
    recorder tape;
    dg::config c;
    c.sealed = true;
    world w(2, {}, c);
    w.expected_length = nullptr;
    meet(w);
    w.net.set_tap(recorder::tap, &tape);
    std::string const secret = "a secret that is long enough to be found";
    ASSERT_EQ(w.ranks[0].it->try_send(1, 0, std::as_bytes(std::span(secret)), {}), send_status::sent);
    ASSERT_FALSE(tape.all.empty());
    auto const packet = tape.all.back().bytes;
    EXPECT_EQ(std::string_view(reinterpret_cast<char const*>(packet.data()), packet.size()).find("secret"), std::string::npos);
    ASSERT_TRUE(w.until([&] { return w.drained(); }));
    auto const before = w.counts(1).strangers;
    for (std::size_t bit = 0; bit < packet.size() * 8; ++bit) {
        auto changed = packet;
        changed[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        w.net.inject(0, 1, changed);
        w.step();
    }
    EXPECT_EQ(w.counts(1).strangers - before, packet.size() * 8);
    EXPECT_EQ(w.ranks[1].heard[0], 2u);
}

TEST(strangers, options_that_differ_are_told)
{
    world w(2, {});
    w.config.sealed = true;
    w.start(1);
    EXPECT_EQ(w.say(0, 1), send_status::unreachable);
    w.step();
    ASSERT_EQ(w.ranks[0].failures.size(), 1u);
    EXPECT_NE(w.ranks[0].failures[0].find("packets of rank 1 are encrypted"), std::string::npos) << w.ranks[0].failures[0];
}

// docs/wire.md: the same bytes, for ever.
TEST(vectors, are_those_of_the_document)
{
    std::ifstream page(TOWLINE_SOURCE "/docs/wire.md");
    std::string const document{std::istreambuf_iterator<char>(page), {}};
    auto const hex = [](std::span<std::byte const> bytes) {
        std::string text;
        for (std::byte const b : bytes)
            text += "0123456789abcdef"[static_cast<unsigned>(b) >> 4], text += "0123456789abcdef"[static_cast<unsigned>(b) & 15];
        return text;
    };
    dg::begin_sealing();
    dg::job_key key;
    for (std::size_t i = 0; i < key.size(); ++i)
        key[i] = static_cast<std::byte>(i);
    wire::greeting const g{.form = wire::form_of(wire::kind::hello),
                           .options = 0,
                           .max_datagram = 1472,
                           .rank = 1,
                           .epoch = 0x11223344,
                           .to_rank = 2,
                           .to_epoch = 0x55667788,
                           .index = 0xa0b0c0d0,
                           .number = 7,
                           .level = 16};
    std::array<std::byte, wire::greeting_bytes> hello;
    std::memcpy(hello.data(), &g, sizeof g);
    dg::sign(key, hello.data(), sizeof g);
    EXPECT_EQ(hex(hello), "1100c00501000000443322110200000088776655d0c0b0a00700000010000000793458591aafc889c8917e9b6191c126");
    EXPECT_TRUE(dg::is_signed(key, hello));
    wire::header const h{
        .form = wire::form_of(wire::kind::data), .flags = wire::sealed, .level = 64, .number = 7, .acknowledged = 9, .index = 0xa0b0c0d0};
    wire::record_head const r{.bytes = 5, .handler = 3, .part = wire::whole, .place = 0};
    std::array<std::byte, 16> payload{};
    std::memcpy(payload.data(), &r, sizeof r);
    std::memcpy(payload.data() + sizeof r, "hello", 5);
    std::array<std::byte, 24> head{};
    std::uint64_t const counter = 1;
    std::memcpy(head.data(), &h, sizeof h);
    std::memcpy(head.data() + sizeof h, &counter, sizeof counter);
    EXPECT_EQ(hex(head), "130440000700000009000000d0c0b0a00100000000000000");
    EXPECT_EQ(hex(payload), "050003000000000068656c6c6f000000");
    auto const keys = dg::make_keys(key, {1, 0x11223344}, {2, 0x55667788});
    EXPECT_EQ(hex(keys.sending), "af0f3c2f206d53495fb432f382e0ea6ccfcc68828654254fffc58b0a9eb75039");
    EXPECT_EQ(keys.sending, dg::make_keys(key, {2, 0x55667788}, {1, 0x11223344}).receiving);
    std::array<std::byte, 32> sealed;
    dg::seal(keys.sending, counter, head, payload, sealed.data());
    EXPECT_EQ(hex(sealed), "8df97343260ec8b0e9c577d86fd59e841e7ca10f030723ea94802c159dfbfe53");
    for (auto const& bytes : {hex(hello), hex(keys.sending), hex(head), hex(payload), hex(sealed)})
        EXPECT_NE(document.find(bytes), std::string::npos) << bytes << " does not stand in docs/wire.md";
    EXPECT_EQ(dg::crc32c(std::as_bytes(std::span("123456789", 9))), 0xe3069283u);  // RFC 3720, B.4's polynomial
}

} // namespace
