// Requests, probes, waiting for many, threads, nonsense from peers: over every fabric.

#include "conformance/matching_worlds.hpp"
#include "matching/wire.hpp"

#include <towline/error.hpp>

#include <cstring>
#include <thread>

using namespace matching_worlds;

namespace {

namespace wire = match::wire;

class matching_requests : public every_matching {};
EVERY_FABRIC(matching_requests);

template <class Error, class F>
bool throws(F&& f)
{
    try {
        f();
    } catch (Error const&) {
        return true;
    }
    return false;
}

TEST_P(matching_requests, a_probe_sees_what_a_receive_would_get)
{
    run_matching(2, [](player& p) {
        peer const other = 1 - p.world.rank;
        auto const source = static_cast<std::int32_t>(other);
        for (std::size_t const n : {0, 20, 5000, 30000}) {
            require(!p.m.iprobe(player::from(any_source, any_tag)), "nothing is there");
            p.world.barrier();
            match::request first;
            match::request second;
            auto const a = bytes(n, 1);
            auto const b = bytes(n + 1, 2);
            p.m.start_send(first, other, p.letter(3), a.data(), a.size());
            p.m.start_send(second, other, p.letter(4), b.data(), b.size());
            auto const s = p.m.probe(player::from(any_source, 4), no_peer);
            require(s.source == source && s.tag == 4 && s.bytes == n + 1 && s.error == outcome::ok, "the second");
            auto const t = p.m.iprobe(player::from(source, any_tag));
            require(t && t->tag == 3 && t->bytes == n, "the first of both");
            require(!p.m.iprobe(player::from(source, 5)) && !p.m.iprobe(player::from(source, 3, 2)), "no other");
            p.receive(source, 4, n + 1, 2);
            p.receive(source, 3, n, 1);
            p.m.wait(first);
            p.m.wait(second);
            p.world.barrier();
        }
    });
}

TEST_P(matching_requests, a_message_is_taken_out_and_received_later)
{
    run_matching(2, [](player& p) {
        peer const other = 1 - p.world.rank;
        auto const source = static_cast<std::int32_t>(other);
        for (std::size_t const n : {0, 20, 5000, 30000}) {
            std::deque<match::request> sends;
            auto const b = bytes(n, n);
            require(!p.m.improbe(player::from(any_source, any_tag)), "nothing is there");
            p.world.barrier();
            for (std::int32_t tag = 0; tag < 4; ++tag)
                p.m.start_send(sends.emplace_back(), other, p.letter(tag), b.data(), n, tag == 1 ? send_mode::synchronous : send_mode::standard);
            auto third = p.m.mprobe(player::from(source, 2), other);
            require(third && third.about().bytes == n && third.about().tag == 2 && third.about().source == source, "the third");
            require(!p.m.improbe(player::from(source, 2)), "nobody else finds it");
            match::request r;
            std::vector<std::byte> in(n);
            for (std::int32_t tag : {0, 1}) {
                auto one = p.m.improbe(player::from(any_source, any_tag));
                while (!one)
                    one = p.m.improbe(player::from(any_source, any_tag));
                require(one.about().tag == tag, "in order");
                p.m.start_receive(r, one, {in.data(), n});
                require(!one && throws<towline::usage_error>([&] { p.m.start_receive(r, one, {in.data(), n}); }), "once only");
                p.m.wait(r);
                player::check(r.result(), n);
                require(in == b && r.result().tag == tag, "content");
            }
            p.m.start_receive(r, third, {in.data(), n});
            p.m.wait(r);
            player::check(r.result(), n);
            // One that is taken out and dropped is gone.
            { auto const last = p.m.mprobe(player::from(source, 3), other); }
            for (auto& s : sends)
                p.m.wait(s);
            require(!p.m.iprobe(player::from(any_source, any_tag)), "nothing is left");
            p.world.barrier();
        }
    });
}

TEST_P(matching_requests, a_receive_is_cancelled_or_has_matched)
{
    run_matching(2, [](player& p) {
        peer const other = 1 - p.world.rank;
        match::request r;
        match::request kept;
        std::uint64_t in[2] = {};
        p.m.start_receive(r, player::from(any_source, any_tag), no_peer, {&in[0], 8});
        p.m.start_receive(kept, player::from(any_source, any_tag), no_peer, {&in[1], 8});
        require(!p.m.test(r) && p.m.pending().size() == 2, "both wait");
        require(p.m.cancel(r) && r.done() && r.result().cancelled, "cancelled");
        require(!p.m.cancel(r), "once");
        p.world.barrier();
        std::uint64_t const v = 5;
        p.m.send(other, p.letter(1), &v, sizeof v);
        p.m.wait(kept);
        require(in[0] == 0 && in[1] == 5 && !kept.result().cancelled, "the other one got it");
        require(!p.m.cancel(kept), "too late");
    });
}

TEST_P(matching_requests, a_send_to_oneself_that_is_asked_back_has_ended)
{
    bool const comes_soon = maps(GetParam());  // the simulated network also carries what a rank sends to itself
    run_matching(1, [comes_soon](player& p) {
        for (bool const has_come : {true, false}) {
            std::uint64_t const v = 5;
            match::request s;
            p.m.start_send(s, 0, p.letter(2), &v, sizeof v, send_mode::synchronous);
            while (has_come && !p.m.iprobe(player::from(any_source, 2)))
                std::this_thread::yield();  // a probe polls
            (void)p.m.cancel(s);
            require(s.done() || !(has_come || comes_soon), "nobody else has to answer");
            p.m.wait(s);
            require(s.result().cancelled, "no receive had matched it");
            require(!p.m.iprobe(player::from(any_source, 2)), "it is gone");
        }
    });
}

TEST_P(matching_requests, a_send_is_asked_back_or_has_matched)
{
    run_matching(2, [](player& p) {
        peer const other = 1 - p.world.rank;
        std::vector<std::byte> const large = bytes(50000, 1);
        std::uint64_t const v = 5;
        match::request s, r;
        for (std::size_t const n : {sizeof v, large.size()}) {
            void const* const data = n == sizeof v ? static_cast<void const*>(&v) : large.data();
            p.m.start_send(s, other, p.letter(2), data, n, send_mode::synchronous);
            require(!p.m.cancel(s), "its receiver is asked first");
            p.m.wait(s);
            require(s.result().cancelled && s.result().error == match::outcome::ok, "no receive had matched it");
            p.world.barrier();
            require(!p.m.iprobe(player::from(any_source, any_tag)), "it is gone");

            std::vector<std::byte> in(n);
            p.m.start_receive(r, player::from(any_source, 3), no_peer, {in.data(), n});
            p.world.barrier();
            p.m.start_send(s, other, p.letter(3), data, n, send_mode::synchronous);
            (void)p.m.cancel(s);
            p.m.wait(s);
            p.m.wait(r);
            require(!s.result().cancelled && std::memcmp(in.data(), data, n) == 0, "it had matched before it was asked back");
            p.world.barrier();
        }
    });
}

TEST_P(matching_requests, pooled_ones_may_be_given_back_while_pending)
{
    run_matching(2, [](player& p) {
        peer const other = 1 - p.world.rank;
        std::deque<std::vector<std::byte>> in;
        for (int round = 0; round < 3; ++round) {
            for (std::size_t const n : {8, 50000}) {
                auto& r = p.m.acquire();
                require(r.then == nullptr && r.user == nullptr && r.done(), "as new");
                p.m.start_receive(r, player::from(any_source, 1), no_peer, {in.emplace_back(n).data(), n});
                p.m.release(r);
            }
            p.world.barrier();
            std::deque<std::vector<std::byte>> out;
            for (std::size_t const n : {8, 50000}) {
                auto& s = p.m.acquire();
                p.m.start_send(s, other, p.letter(1), out.emplace_back(bytes(n, n)).data(), n, send_mode::synchronous);
                p.m.release(s);
            }
            p.world.until([&] { return p.m.pending().empty() && p.m.drain(0ms); }, "everything to end");
            require(filled(in.back().data(), 50000, 50000) && filled(in[in.size() - 2].data(), 8, 8), "they arrived");
            p.world.barrier();
        }
        auto& a = p.m.acquire();
        auto& b = p.m.acquire();
        require(&a != &b, "two");
        p.m.release(b);
        p.m.release(a);
    });
}

/// A chain that goes on by itself: every end starts the next operation.
struct relay {
    player* p = nullptr;
    match::request in;
    match::request out;
    std::uint64_t box = 0;
    std::uint64_t answer = 0;
    std::atomic<int> laps{0};
    int most = 0;

    void listen()
    {
        in.user = this;
        in.then = [](match::request& r) {
            auto& self = *static_cast<relay*>(r.user);
            require(r.result().error == outcome::ok && r.result().bytes == 8, "received");
            self.answer = self.box + 1;
            int const lap = self.laps.load() + 1;
            if (lap < self.most)
                self.p->m.start_receive(self.in, player::from(any_source, 9), no_peer, {&self.box, 8});
            peer const next = (self.p->world.rank + 1) % self.p->world.size;
            if (self.p->world.rank != 0 || lap < self.most)
                self.p->m.start_send(self.out, next, self.p->letter(9), &self.answer, 8, send_mode::standard);
            self.laps.store(lap);
        };
        p->m.start_receive(in, player::from(any_source, 9), no_peer, {&box, 8});
    }
};

TEST_P(matching_requests, an_end_may_start_the_next_operation)
{
    run_matching(3, [](player& p) {
        relay r;
        r.p = &p;
        r.most = 200;
        r.listen();
        p.world.barrier();
        std::uint64_t const one = 1;
        if (p.world.rank == 0)
            p.m.send(1, p.letter(9), &one, 8);
        p.world.until([&] { return r.laps.load() == r.most; }, "the laps");
        if (p.world.rank == 0)
            require(r.box == 3 * 200, "every hop counted");
    });
}

TEST_P(matching_requests, a_send_is_asked_back)
{
    run_matching(2, [](player& p) {
        struct shape {
            std::size_t bytes;
            send_mode mode;
        };
        auto const large = bytes(50000, 1);
        for (shape const s : {shape{50000, send_mode::standard}, {50000, send_mode::synchronous}, {8, send_mode::synchronous}}) {
            for (bool const early : {true, false}) {
                match::request r, first;
                std::vector<std::byte> in(s.bytes);
                if (p.world.rank == 1 && !early)
                    p.m.start_receive(first, player::from(any_source, 1), no_peer, {in.data(), in.size()});
                p.world.barrier();
                if (p.world.rank == 0) {
                    p.m.start_send(r, 1, p.letter(1), large.data(), s.bytes, s.mode);
                    require(!p.m.cancel(r), "a send is not cancelled at once");
                    require(!p.m.cancel(r), "twice is as once");
                    p.m.wait(r);
                    // Where the engine took the bytes at once, the send has ended before.
                    require(early || !r.result().cancelled, "what was matched is not cancelled");
                    require(r.result().error == outcome::ok, "it ended well");
                    p.world.board[rank_context::first_word].store(r.result().cancelled ? 1 : 2);
                    p.send(1, 2, bytes(8, 3));
                } else {
                    p.receive(0, 2, 8, 3);
                    if (p.world.board[rank_context::first_word].load() == 1) {
                        require(early && p.m.numbers().unexpected == 0, "it is gone");
                    } else {
                        if (early)
                            p.m.start_receive(first, player::from(any_source, 1), no_peer, {in.data(), in.size()});
                        p.m.wait(first);
                        require(std::equal(in.begin(), in.end(), large.begin()), "it came");
                    }
                    require(s.mode != send_mode::synchronous || !early || p.world.board[rank_context::first_word].load() == 1,
                            "a synchronous send that nobody matched is cancelled");
                }
                p.world.barrier();
            }
        }
    });
}

TEST_P(matching_requests, bytes_may_be_unpacked_where_they_are)
{
    run_matching(2, [](player& p) {
        peer const other = 1 - p.world.rank;
        struct seen {
            std::vector<std::byte> all;
            int calls = 0;
            bool is_liked = true;
            static bool unpack(void* c, std::span<std::byte const> b)
            {
                auto& s = *static_cast<seen*>(c);
                s.all.assign(b.begin(), b.end());
                ++s.calls;
                return s.is_liked;
            }
        };
        for (std::size_t const n : {0, 8, 300, 5000, 9000, 100000}) {
            for (int const way : {0, 1, 2, 3}) {
                bool const early = way % 2 == 1;
                seen s;
                s.is_liked = way < 2;
                match::request r;
                match::request out;
                auto const b = bytes(n, n);
                auto const post = [&] { p.m.start_receive(r, player::from(any_source, 1), no_peer, {&s, n, &seen::unpack}); };
                if (!early)
                    post();
                p.world.barrier();
                p.m.start_send(out, other, p.letter(1), b.data(), n);
                if (early) {
                    p.world.until([&] { return p.m.numbers().unexpected == 1; });
                    post();
                }
                p.m.wait(r);
                if (s.is_liked)
                    player::check(r.result(), n);
                else
                    require(r.result().error == match::outcome::unlike && r.result().bytes == n, "told that they are no message for it");
                require(s.calls == 1 && s.all == b, "whole and once");
                p.m.wait(out);
                p.world.barrier();
            }
        }
    });
}

TEST_P(matching_requests, what_is_waited_for_can_be_told)
{
    run_matching(2, [](player& p) {
        peer const other = 1 - p.world.rank;
        match::request r;
        match::request any;
        match::request s;
        match::request big;
        std::uint64_t in[2] = {};
        auto const b = bytes(90000, 1);
        p.m.start_receive(r, player::from(static_cast<std::int32_t>(other), 7, 5), other, {&in[0], 8});
        p.m.start_receive(any, player::from(any_source, any_tag, 6), no_peer, {&in[1], 8});
        p.m.start_send(s, other, p.letter(8, 3), &b[0], 4, send_mode::synchronous);
        p.m.start_send(big, other, p.letter(9, 3), b.data(), b.size(), send_mode::synchronous);
        std::vector<std::string> said;
        for (auto const& o : p.m.pending())
            said.push_back(match::matcher::describe(o));
        std::string const n = std::to_string(other);
        for (std::string const& expected : {"receive from rank " + n + " (peer " + n + "), tag 7, context 5",
                                            std::string("receive from any rank, any tag, context 6"), "send to peer " + n + ", tag 8, context 3",
                                            "send to peer " + n + ", tag 9, context 3"})
            require(std::find(said.begin(), said.end(), expected) != said.end(), expected);
        require(said.size() == 4 && p.m.pending(2).size() == 2, "nothing else");
        p.world.barrier();
        std::uint64_t const v = 1;
        p.m.send(other, p.letter(7, 5), &v, 8);
        p.m.send(other, p.letter(0, 6), &v, 8);
        std::vector<std::byte> room(b.size());
        player::check(p.m.receive(player::from(any_source, 8, 3), no_peer, {room.data(), room.size()}), 4);
        player::check(p.m.receive(player::from(any_source, 9, 3), no_peer, {room.data(), room.size()}), b.size());
        for (auto* x : {&r, &any, &s, &big})
            p.m.wait(*x);
    });
}

TEST_P(matching_requests, waiting_for_some_of_many)
{
    run_matching(2, [](player& p) {
        constexpr std::size_t many = 64;
        if (p.world.rank == 0) {
            std::deque<match::request> all(many);
            std::vector<std::uint64_t> in(many);
            for (std::size_t i = 0; i < many; ++i)
                p.m.start_receive(all[i], player::from(1, static_cast<std::int32_t>(i)), 1, {&in[i], 8});
            std::vector<bool> seen(many, false);
            std::size_t left = many;
            p.world.barrier();
            while (left != 0) {
                std::size_t which = many;
                require(p.m.wait_until(
                            [&] {
                                for (std::size_t i = 0; i < many && which == many; ++i) {
                                    if (!seen[i] && all[i].done())
                                        which = i;
                                }
                                return which != many;
                            },
                            "any", 60s),
                        "one more");
                seen[which] = true;
                --left;
                require(in[which] == which, "content");
                // The next one comes only after this word.
                p.m.send(1, p.letter(0), &left, sizeof left);
            }
            require(!p.m.wait_until([] { return false; }, "nothing", 2ms), "a wait may time out");
        } else {
            p.world.barrier();
            std::mt19937_64 random(test_seed());
            std::vector<std::uint64_t> order(many);
            for (std::size_t i = 0; i < many; ++i)
                order[i] = i;
            std::shuffle(order.begin(), order.end(), random);
            for (std::uint64_t const i : order) {
                p.m.send(0, p.letter(static_cast<std::int32_t>(i)), &i, sizeof i);
                std::uint64_t left = 0;
                player::check(p.m.receive(player::from(0, 0), 0, {&left, 8}), 8);
            }
        }
    });
}

// Threads of both ranks, each with a tag of its own, and all of them for whatever comes.
TEST_P(matching_requests, many_threads)
{
    // As many threads as cores and more; with one core each rank, and jobs that are not oversubscribed, waits take other ways.
    for (int const setting : {0, 1, 2, 3}) {
        options o;
        o.background = setting == 1;
        o.own_cores = setting >= 2 ? 1 : 0;
        o.oversubscribed = setting != 3;
        run_matching(
            2,
            [](player& p) {
                constexpr int threads = 4;
                constexpr int rounds = 150;
                peer const other = 1 - p.world.rank;
                std::atomic<int> shared_got{0};
                std::mutex mutex;
                std::string failed;
                std::vector<std::thread> all;
                for (int t = 0; t < threads; ++t) {
                    all.emplace_back([&, t] {
                        try {
                            std::mt19937 random(static_cast<unsigned>(t));
                            for (int i = 0; i < rounds; ++i) {
                                std::size_t const n = i % 10 == 0 ? 20000 : i % 3 == 0 ? 2000 : 16;
                                auto const out = bytes(n, static_cast<std::uint64_t>(i * threads + t));
                                match::request s;
                                p.m.start_send(s, other, p.letter(t), out.data(), n, i % 4 == 0 ? send_mode::synchronous : send_mode::standard);
                                // One for anybody, in another context.
                                std::uint32_t const v = 1;
                                p.m.send(other, p.letter(t, 2), &v, sizeof v);
                                std::vector<std::byte> in(n);
                                if (i % 5 == 1) {
                                    auto m = p.m.mprobe(player::from(static_cast<std::int32_t>(other), t), other);
                                    match::request r;
                                    p.m.start_receive(r, m, {in.data(), n});
                                    p.m.wait(r);
                                    player::check(r.result(), n);
                                } else {
                                    match::request r;
                                    p.m.start_receive(r, player::from(static_cast<std::int32_t>(other), t), other, {in.data(), n});
                                    while (i % 5 == 2 && !p.m.test(r)) {}
                                    p.m.wait(r);
                                    player::check(r.result(), n);
                                }
                                require(in == out, "content of thread " + std::to_string(t));
                                std::uint32_t got = 0;
                                player::check(p.m.receive(player::from(any_source, any_tag, 2), no_peer, {&got, sizeof got}), sizeof got);
                                shared_got.fetch_add(static_cast<int>(got));
                                // Posted and cancelled, while messages arrive.
                                match::request never;
                                p.m.start_receive(never, player::from(any_source, 100 + t), no_peer, {&got, sizeof got});
                                require(p.m.cancel(never), "cancelled");
                                auto& pooled = p.m.acquire();
                                p.m.release(pooled);
                                p.m.wait(s);
                            }
                        } catch (std::exception const& x) {
                            std::lock_guard const lock(mutex);
                            failed += x.what();
                            p.world.board[1].store(1);
                        }
                    });
                }
                for (auto& t : all)
                    t.join();
                require(failed.empty(), failed);
                require(shared_got == threads * rounds, "everything for anybody arrived");
            },
            {}, o);
    }
}

TEST_P(matching_requests, threads_receive_from_one_sender)
{
    run_matching(2, [](player& p) {
        constexpr std::uint32_t messages = 3000;
        constexpr std::uint32_t last = ~std::uint32_t{0};
        if (p.world.rank == 0) {
            for (std::uint32_t i = 0; i < messages + 3; ++i) {
                std::uint32_t const number = i < messages ? i : last;
                p.m.send(1, p.letter(static_cast<std::int32_t>(i % 3)), &number, sizeof number);
            }
            return;
        }
        std::vector<std::atomic<int>> got(messages);
        std::atomic<bool> in_order{true};
        // Each receives from the same source, with any tag: blocking, or posted and waited for.
        auto const receiver = [&](unsigned t) {
            std::int64_t before = -1;
            for (unsigned i = 0;; ++i) {
                std::uint32_t number = 0;
                if ((i + t) % 3 == 0) {
                    match::request r;
                    p.m.start_receive(r, player::from(0, any_tag), 0, {&number, sizeof number});
                    p.m.wait(r);
                } else {
                    p.m.receive(player::from(0, any_tag), 0, {&number, sizeof number});
                }
                if (number == last)
                    return;
                in_order = in_order && number > before;
                before = number;
                ++got[number % messages];
            }
        };
        std::vector<std::thread> all;
        for (unsigned t = 0; t < 3; ++t)
            all.emplace_back(receiver, t);
        for (auto& t : all)
            t.join();
        require(in_order, "whoever receives again gets a later message");
        for (auto const& n : got)
            require(n == 1, "each message once");
    });
}

TEST_P(matching_requests, one_thread_needs_no_locks)
{
    match::options mo;
    mo.threaded = false;
    run_matching(
        2,
        [](player& p) {
            peer const other = 1 - p.world.rank;
            for (std::size_t const n : {8, 5000, 50000}) {
                auto const out = bytes(n, p.world.rank);
                match::request s;
                p.m.start_send(s, other, p.letter(1), out.data(), n, send_mode::synchronous);
                p.receive(any_source, any_tag, n, other);
                p.m.wait(s);
            }
        },
        mo);
}

TEST_P(matching_requests, bad_calls_are_told)
{
    run_matching(2, [](player& p) {
        std::uint64_t v = 0;
        match::request r;
        auto const refuses = [](auto&& f) { require(throws<towline::usage_error>(f), "a usage error"); };
        refuses([&] { p.m.start_send(r, 2, p.letter(1), &v, 8); });
        refuses([&] { p.m.start_send(r, 2, p.letter(1), &v, 8, send_mode::synchronous); });
        refuses([&] { p.m.send(1, p.letter(-1), &v, 8); });
        refuses([&] { p.m.send(1, {1, -1, 1}, &v, 8); });
        refuses([&] { p.m.start_send(r, 1, p.letter(1), nullptr, 8); });
        refuses([&] { p.m.start_receive(r, player::from(0, 1), 0, {nullptr, 8}); });
        require(r.done() && p.m.pending().empty(), "nothing is under way");
        p.m.start_receive(r, player::from(0, 1), 0, {&v, 8});
        refuses([&] { p.m.start_receive(r, player::from(0, 1), 0, {&v, 8}); });
        refuses([&] { p.m.start_send(r, 0, p.letter(1), &v, 8); });
        require(p.m.cancel(r), "it still waits");
    });
}

// What no matcher sends is dropped, and what comes behind it is handled.
TEST_P(matching_requests, nonsense_is_dropped)
{
    run_matching(2, [](player& p) {
        std::uint64_t const seed = test_seed();
        if (p.world.rank == 1) {
            std::mt19937_64 random(seed);
            auto const raw = [&](unsigned kind, std::vector<std::byte> const& head, std::vector<eng::block> const& blocks = {}) {
                p.world.engine.send({.to = 0, .handler = static_cast<eng::handler_id>(kind), .head = head, .blocks = blocks});
            };
            auto const words = [](std::initializer_list<std::uint32_t> w) {
                std::vector<std::byte> b(w.size() * 4);
                std::memcpy(b.data(), std::data(w), b.size());
                return b;
            };
            std::uint32_t const minus = 0xffffffff;
            std::byte byte{};
            eng::block const block{&byte, 1, eng::lending::copy};
            for (unsigned kind = 0; kind < wire::kinds; ++kind) {
                raw(kind, {});
                raw(kind, std::vector<std::byte>(7));
                raw(kind, words({1, minus, 0, 0, 1, 0}));
                raw(kind, words({1, 0, minus, 0, 1, 0}));
                raw(kind, words({1, 0x80000000, 0x80000000, minus, minus, minus}));
                raw(kind, words({1, 0, 0, 0, 1}), {block, block});
            }
            raw(wire::eager, words({1, 1, 1}), {block});
            raw(wire::synchronous, words({1, 1, 1, 0, 0, 0}));            // no token
            raw(wire::lent, words({1, 1, 1, 0, 0, 0}));                   // no block
            raw(wire::lent, words({1, 1, 1, 0, 0, 0, 0}), {block});       // too long
            raw(wire::here, words({1, 1, 1, 8, 0, 0, 64, 0}));            // no token
            raw(wire::here, words({1, 1, 1, 8, 1, 1, 0, 0}));             // nowhere
            raw(wire::here, words({1, 1, 1, 8, 1, 1, 64, 0, 0}));         // too long
            raw(wire::here, words({1, 1, 1, 8, 1, 1, 64, 0}), {block});
            raw(wire::here, words({8, 1, 1, 4096, 77, 1, 64, 0x7ffff000}));  // in nobody's arena
            raw(wire::relayed, words({1, 1, 1, 4096, 0, 4096, 64, 0}));   // no number
            raw(wire::relayed, words({1, 1, 1, 4096, 1, 4096, 0, 0}));    // nowhere
            raw(wire::relayed, words({1, 1, 1, 0x800001, 1, 8, 64, 0}));  // more than a block has
            raw(wire::relayed, words({1, 1, 1, 4096, 1, 4096, 64}));      // too short
            raw(wire::relayed, words({1, 1, 1, 4096, 1, 4096, 64, 0}), {block});
            raw(wire::relayed, words({9, 1, 1, 4096, 1, 4096, 64, 0x7ffff000}));  // in nobody's arena
            auto const laid = [&](std::uint32_t context, std::uint64_t bytes, std::uint64_t where, std::uint64_t span, std::uint64_t form,
                                  std::uint64_t token, std::uint32_t count) {
                wire::laid_header const h{context, 1, 1, count, token, bytes, where, span, form, {1, 2}};
                auto const* const first = reinterpret_cast<std::byte const*>(&h);
                return std::vector<std::byte>(first, first + sizeof h);
            };
            std::uint64_t const nobodys = 0x7ffff00000000040;
            raw(wire::laid, laid(1, 4096, 64, 4096, 64, 0, 8));            // no token
            raw(wire::laid, laid(1, 4096, 0, 4096, 64, 1, 8));             // nowhere
            raw(wire::laid, laid(1, 4096, 64, 4096, 0, 1, 8));             // no layout
            raw(wire::laid, laid(1, 4096, 64, 4096, 64, 1, 0));            // an empty one
            raw(wire::laid, laid(1, 0, 64, 4096, 64, 1, 8));               // no data
            raw(wire::laid, laid(1, ~std::uint64_t{0}, 64, 4096, 64, 1, 8));
            raw(wire::laid, laid(1, 4096, 64, ~std::uint64_t{0}, 64, 1, 8));
            raw(wire::laid, laid(1, 4096, 64, 4096, 64, 1, 8), {block});
            raw(wire::laid, laid(10, 4096, nobodys, 4096, nobodys, 1, 8)); // in nobody's arena
            raw(wire::laid, laid(11, 4096, nobodys, 4096, nobodys, 1, minus));
            raw(wire::matched, words({0, 1}));                            // nobody waits
            raw(wire::matched, words({77, 1}));
            raw(wire::matched, words({minus, minus}));
            raw(wire::throttle, words({1, 2}));
            raw(wire::withdraw, words({0, 1}));                           // nothing has that number
            raw(wire::withdrawn, words({0, 1, 1, 0}));                    // nobody asked
            raw(wire::withdrawn, words({minus, minus, 7, 0}));
            for (int i = 0; i < 300; ++i) {
                std::vector<std::byte> b(random() % 40);
                for (auto& x : b)
                    x = static_cast<std::byte>(random());
                // Only what cannot be a message: its source or tag is negative.
                for (std::size_t const at : {std::size_t{7}, std::size_t{11}}) {
                    if (at < b.size())
                        b[at] |= std::byte{0x80};
                }
                unsigned const kind = static_cast<unsigned>(random() % wire::throttle);
                raw(kind, b);
            }
            p.send(0, 3, bytes(20, 4));
            p.send(0, 3, bytes(20000, 5));
        } else {
            p.receive(1, 3, 20, 4);
            p.receive(1, 3, 20000, 5);
            std::vector<std::byte> room(4096);
            for (match::context_id const context : {8, 9, 10, 11}) {
                auto const s = p.m.receive({context, 1, 1}, 1, {room.data(), room.size()});
                require(s.error == outcome::lost && s.bytes == 4096, "what is told to be where nothing is cannot be received");
            }
            p.send(1, 1, bytes(9, 9), send_mode::synchronous);
        }
        if (p.world.rank == 1)
            p.receive(0, 1, 9, 9);
        p.world.barrier();
        while (auto m = p.m.improbe(player::from(any_source, any_tag)))
            require(p.world.rank == 1, "nothing of it became a message");
    });
}

} // namespace
