// Long messages in parts: each byte once, at its place, whatever the network does; also early, behind a lost packet. What was lent stays
// until it is needed no more.
#include "unit/datagram/world.hpp"

#include <deque>

namespace {

using namespace datagram_world;
using towline::transport::handler_id;

constexpr handler_id in_parts = 9;
constexpr std::size_t beginning = 16;

/// What rank 1 has of the messages of rank 0.
struct receiver_of_parts {
    std::vector<std::vector<std::uint8_t>> times;  ///< by message and byte
    std::uint64_t parts = 0, early = 0, wholes = 0, wrong = 0;
    std::uint64_t last = ~0ULL, up_to = 0;         ///< the message of the last part in order, and where that ended

    struct what {
        std::uint64_t number, size;
    };
    what of(std::span<std::byte const> head)
    {
        what w{};
        std::memcpy(&w, head.data(), sizeof w);
        if (times.size() <= w.number)
            times.resize(w.number + 1);
        if (times[w.number].empty())
            times[w.number].assign(w.size, 0);
        return w;
    }
    void take(what const& w, std::size_t at, std::span<std::byte const> bytes)
    {
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            if (at + i >= w.size || bytes[i] != byte_of(0, 1, w.number, at + i))
                ++wrong;
            else
                ++times[w.number][at + i];
        }
    }
    void install(component& c)
    {
        c.set_part_handler(
            in_parts, beginning,
            [](void* self, peer, std::span<std::byte const> head, std::size_t at, std::span<std::byte const> bytes) {
                auto& r = *static_cast<receiver_of_parts*>(self);
                what const w = r.of(head);
                ++r.parts;
                if (w.number != r.last)
                    r.last = w.number, r.up_to = beginning;
                r.early += at > r.up_to;
                if (at == r.up_to)
                    r.up_to += bytes.size();
                r.take(w, at, bytes);
            },
            this);
        c.set_handler(
            in_parts,
            [](void* self, peer, std::span<std::byte const> payload) {
                auto& r = *static_cast<receiver_of_parts*>(self);
                what const w = r.of(payload);
                ++r.wholes;
                r.wrong += w.size != payload.size();
                r.take(w, beginning, payload.subspan(beginning));
            },
            this);
    }
    [[nodiscard]] bool has(std::uint64_t number) const
    {
        return number < times.size() && !times[number].empty() &&
               std::all_of(times[number].begin() + beginning, times[number].end(), [](std::uint8_t n) { return n == 1; });
    }
};

/// Messages of rank 0, lent and copied, each spoilt as soon as it may be.
struct sender_of_parts {
    struct message {
        sender_of_parts& owner;
        std::vector<std::byte> bytes{};
    };
    std::deque<message> all;
    std::uint64_t lent = 0, ended = 0;

    send_status say(component& c, std::size_t size)
    {
        std::uint64_t const number = all.size();
        message& m = all.emplace_back(*this);
        m.bytes.resize(size);
        for (std::size_t i = 0; i < size; ++i)
            m.bytes[i] = byte_of(0, 1, number, i);
        receiver_of_parts::what const w{number, size};
        std::memcpy(m.bytes.data(), &w, sizeof w);
        auto const head = std::span(m.bytes).first(beginning);
        auto const body = std::span(m.bytes).subspan(beginning);
        auto const status = number % 3 == 2 ? c.try_send(1, in_parts, head, body) : c.try_send_lent(1, in_parts, head, body, &done, &m);
        if (status == send_status::sent)
            std::ranges::fill(m.bytes, std::byte{0xee});
        else if (status != send_status::lent)
            all.pop_back();
        lent += status == send_status::lent;
        return status;
    }
    static void done(void* of, bool ok)
    {
        auto& m = *static_cast<message*>(of);
        m.owner.ended += ok;
        std::ranges::fill(m.bytes, std::byte{0xee});
    }
};

struct weather {
    char const* name;
    dg::faults bad;
    bool early;  ///< parts come before their turn
    bool sealed = false;
};

class parts : public testing::TestWithParam<weather> {};

TEST_P(parts, every_byte_comes_once_to_its_place)
{
    weather p = GetParam();
    std::uint64_t const seed = test_seed();
    SCOPED_TRACE("repeat with TOWLINE_TEST_SEED=" + std::to_string(seed));
    p.bad.seed = seed;
    dg::config c;
    c.sealed = p.sealed;
    world w(2, p.bad, c);
    receiver_of_parts to;
    to.install(*w.ranks[1].it);
    sender_of_parts from;
    std::mt19937_64 random(seed);
    std::size_t const most = w.ranks[0].it->caps().max_eager;
    constexpr std::uint64_t count = 300;
    bool const done = w.until([&] {
        while (from.all.size() < count) {
            if (random() % 3 == 0)
                (void)w.say(0, 1);  // others go between them, and keep their order
            std::size_t const size = beginning + 1 + (random() % 4 == 0 ? random() % 3000 : random() % (most - beginning));
            if (from.say(*w.ranks[0].it, size) == send_status::busy)
                return false;
        }
        return w.drained() && w.ranks[1].heard[0] == w.said(0, 1);
    });
    ASSERT_TRUE(done) << w.story();
    for (std::uint64_t n = 0; n < count; ++n)
        EXPECT_TRUE(to.has(n)) << "message " << n << " of " << from.all[n].bytes.size() << " bytes\n" << w.story();
    EXPECT_EQ(to.wrong, 0u);
    EXPECT_EQ(w.ranks[1].wrong, 0u);
    EXPECT_GT(to.parts, count);
    EXPECT_EQ(to.early > 0, p.early);
    EXPECT_EQ(from.ended, from.lent);
    EXPECT_EQ(from.lent == 0, p.sealed);  // what is sealed is copied anyway
}

INSTANTIATE_TEST_SUITE_P(over, parts,
                         testing::Values(weather{"none", {}, false}, weather{"one_percent", {.loss = 0.01}, true},
                                         weather{"twenty_percent", {.loss = 0.2}, true}, weather{"reordered", {.reorder = 0.2}, true},
                                         weather{"duplicates", {.loss = 0.02, .duplicate = 0.3}, true},
                                         weather{"sealed", {.loss = 0.05, .reorder = 0.05}, true, true}),
                         [](auto const& it) { return it.param.name; });

} // namespace
