// get, put, expose and conceal; and that a transport without them says so.
#include "conformance/traffic.hpp"

#include "towline/error.hpp"

namespace conformance {

namespace {

using transport::region;

class regions : public over_every_transport {};

struct ending {
    int count = 0;
    int failed = 0;
    static void count_it(void* context, bool ok)
    {
        auto& e = *static_cast<ending*>(context);
        ++e.count;
        e.failed += !ok;
    }
};

/// Passes regions between ranks by message 5.
struct introductions {
    std::vector<std::vector<region>> of;
    explicit introductions(place& p) : of(p.size())
    {
        p.it.set_handler(
            5,
            [](void* context, peer source, std::span<std::byte const> payload) {
                region r;
                ASSERT_EQ(payload.size(), sizeof r);
                std::memcpy(&r, payload.data(), sizeof r);
                static_cast<introductions*>(context)->of[source].push_back(r);
            },
            this);
        p.barrier();
    }
};

TEST_P(regions, not_offered_not_there)
{
    run(2, [](place& p) {
        if (p.it.caps().can_get)
            return;
        int x = 0;
        EXPECT_THROW(static_cast<void>(p.it.expose(&x, sizeof x)), towline::usage_error);
        EXPECT_THROW(p.it.conceal({}), towline::usage_error);
        EXPECT_THROW(static_cast<void>(p.it.get(p.next(), {}, 0, &x, 1, nullptr, nullptr)), towline::usage_error);
        EXPECT_THROW(static_cast<void>(p.it.put(p.next(), {}, 0, &x, 1, nullptr, nullptr)), towline::usage_error);
        p.barrier();
    });
}

TEST_P(regions, get_and_put_move_what_they_should)
{
    run(3, [](place& p) {
        introductions known(p);
        if (!p.it.caps().can_get)
            return;
        constexpr std::size_t size = 40000;
        std::vector<std::byte> mine(size);
        for (std::size_t i = 0; i < size; ++i)
            mine[i] = static_cast<std::byte>(mix(p.rank() * size + i));
        std::vector<std::byte> written(size);
        region const readable = p.it.expose(mine.data(), size);
        region const writable = p.it.expose(written.data(), size);
        peer const from = p.next();
        peer const before = (p.rank() + p.size() - 1) % p.size();
        p.send(before, 5, as_bytes(readable));
        p.send(before, 5, as_bytes(writable));
        p.until([&] { return known.of[from].size() == 2; }, "the neighbour's regions");

        // In pieces, all at once as far as there is room.
        std::vector<std::byte> got(size);
        ending e;
        int started = 0;
        for (std::size_t at = 0; at < size; at += 777, ++started) {
            std::size_t const n = std::min<std::size_t>(777, size - at);
            p.until([&] { return p.it.get(from, known.of[from][0], at, got.data() + at, n, ending::count_it, &e) == send_status::sent; },
                    "room to get");
        }
        p.until([&] { return e.count == started; }, "the gets");
        for (std::size_t i = 0; i < size; ++i)
            ASSERT_EQ(got[i], static_cast<std::byte>(mix(from * size + i)));
        for (std::size_t at = 0; at < size; at += 999, ++started) {
            std::size_t const n = std::min<std::size_t>(999, size - at);
            p.until([&] { return p.it.put(from, known.of[from][1], at, mine.data() + at, n, ending::count_it, &e) == send_status::sent; },
                    "room to put");
        }
        // Nothing at all moves too, and may come from nowhere.
        p.until([&] { return p.it.get(from, known.of[from][0], size, nullptr, 0, ending::count_it, &e) == send_status::sent; }, "room");
        ++started;
        p.until([&] { return e.count == started; }, "the puts");
        EXPECT_EQ(e.failed, 0);
        p.barrier();
        for (std::size_t i = 0; i < size; ++i)
            ASSERT_EQ(written[i], static_cast<std::byte>(mix(before * size + i)));
        p.it.conceal(readable);
        p.it.conceal(writable);
        EXPECT_THROW(p.it.conceal(writable), towline::usage_error);
        p.barrier();
    });
}

TEST_P(regions, bounds_and_strangers)
{
    run(2, [](place& p) {
        introductions known(p);
        if (!p.it.caps().can_get)
            return;
        std::array<std::byte, 100> mine{};
        region const r = p.it.expose(mine.data(), mine.size());
        p.send(p.next(), 5, as_bytes(r));
        p.until([&] { return known.of[p.next()].size() == 1; }, "the neighbour's region");
        region const theirs = known.of[p.next()][0];
        std::array<std::byte, 200> local{};
        ending e;
        auto const get = [&](region const& from, std::uint64_t offset, std::size_t n) {
            return p.it.get(p.next(), from, offset, local.data(), n, ending::count_it, &e);
        };
        EXPECT_THROW(static_cast<void>(get(theirs, 0, 101)), towline::limit_error);
        EXPECT_THROW(static_cast<void>(get(theirs, 100, 1)), towline::limit_error);
        EXPECT_THROW(static_cast<void>(get(theirs, ~std::uint64_t{0}, 2)), towline::limit_error);
        EXPECT_THROW(static_cast<void>(p.it.put(p.next(), theirs, 50, local.data(), 51, ending::count_it, &e)), towline::limit_error);
        EXPECT_THROW(static_cast<void>(get({}, 0, 1)), towline::usage_error);
        EXPECT_THROW(static_cast<void>(get(r, 0, 1)), towline::usage_error);  // this rank's own
        EXPECT_THROW(p.it.conceal(theirs), towline::usage_error);
        EXPECT_EQ(e.count, 0);
        p.barrier();
        p.it.conceal(r);
        p.barrier();
        p.until([&] { return get(theirs, 0, 10) == send_status::sent; }, "room");
        p.until([&] { return e.count == 1; }, "the get of a concealed region");
        EXPECT_EQ(e.failed, 1);
        p.barrier();
    });
}

TEST_P(regions, of_the_dead)
{
    run(2, [](place& p) {
        introductions known(p);
        if (!p.it.caps().can_get)
            return;
        std::array<std::byte, 64> mine{};
        if (p.rank() == 1) {
            region const r = p.it.expose(mine.data(), mine.size());
            p.send(0, 5, as_bytes(r));
            p.until([&] { return p.note(0).load() != 0; }, "gets on their way");
            p.die();
        }
        p.until([&] { return known.of[1].size() == 1; }, "the region");
        ending e;
        int started = 0;
        while (started < 1000 && p.it.get(1, known.of[1][0], 0, mine.data(), 64, ending::count_it, &e) == send_status::sent)
            ++started;
        EXPECT_GT(started, 0);
        p.note(0).store(1);
        p.away_until([&] { return p.gone(1); }, "the peer to die");
        p.it.peer_died(1);
        p.until([&] { return e.count == started; }, "failed gets to end");
        EXPECT_EQ(e.failed, started);
        EXPECT_EQ(p.it.get(1, known.of[1][0], 0, mine.data(), 64, ending::count_it, &e), send_status::unreachable);
        p.it.poll(16);
        EXPECT_EQ(e.count, started);
    }, 2);
}

INSTANTIATE_TEST_SUITE_P(over, regions, testing::ValuesIn(subjects()), subject_name{});

} // namespace

} // namespace conformance
