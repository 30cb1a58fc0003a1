// Small messages, big heads, order, completions, floods: over every fabric.

#include "conformance/engine_worlds.hpp"

#include <towline/error.hpp>

#include <cstring>

using namespace engine_worlds;

namespace {

class engine_messages : public every_fabric {};
EVERY_FABRIC(engine_messages);

/// Handlers want plain functions; this keeps what they need. Whoever polls writes it, the count last: on-loading, that is another thread
/// than the one that waits.
struct inbox {
    std::atomic<std::size_t> count{0};
    std::vector<std::vector<std::byte>> got;
    std::vector<peer> sources;
    static void on(void* context, eng::engine&, eng::incoming& m)
    {
        auto& self = *static_cast<inbox*>(context);
        if (reinterpret_cast<std::uintptr_t>(m.head().data()) % 8 != 0)
            std::abort();
        self.got.emplace_back(m.head().begin(), m.head().end());
        self.sources.push_back(m.source());
        ++self.count;
    }
};

std::vector<std::byte> bytes(std::size_t n, std::uint64_t seed)
{
    std::vector<std::byte> b(n);
    fill(b.data(), n, seed);
    return b;
}

TEST_P(engine_messages, heads_of_every_size_arrive_in_order)
{
    run(2, [](rank_context& c) {
        inbox in;
        auto const id = c.engine.add_handler(&inbox::on, &in);
        c.barrier();
        std::vector<std::size_t> sizes;
        for (std::size_t n = 0; n <= 300; n += n < 80 ? 1 : 7)
            sizes.push_back(n);
        for (std::size_t around : {512, 4096, 8192, 16384, 65536, 300000}) {
            for (std::size_t d : {32, 17, 16, 8, 1, 0})
                sizes.push_back(around - d);
            sizes.push_back(around + 1);
        }
        peer const other = 1 - c.rank;
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            auto const b = bytes(sizes[i], i + c.rank);
            if (sizes[i] <= 40)
                c.engine.send_small(other, id, b);
            else
                c.engine.send({.to = other, .handler = id, .head = b});
        }
        c.until([&] { return in.count == sizes.size(); }, "all heads");
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            require(in.sources[i] == other, "source");
            require(in.got[i] == bytes(sizes[i], i + other), "head of " + std::to_string(sizes[i]) + " bytes");
        }
        c.barrier();
    });
}

TEST_P(engine_messages, a_rank_talks_to_itself)
{
    run(1, [](rank_context& c) {
        inbox in;
        auto const id = c.engine.add_handler(&inbox::on, &in);
        for (std::size_t n : {0, 8, 40, 100, 5000, 100000})
            c.engine.send({.to = 0, .handler = id, .head = bytes(n, n)});
        c.until([&] { return in.count == 6; });
        require(in.got[5] == bytes(100000, 100000), "content");
        require(c.engine.drain(10s), "drained");
    });
}

TEST_P(engine_messages, more_handlers_than_direct_numbers)
{
    run(2, [](rank_context& c) {
        struct slot {
            int number;
            std::vector<int>* order;
            std::atomic<std::size_t>* handled;
        };
        std::vector<int> order;
        std::atomic<std::size_t> handled{0};
        std::deque<slot> slots;
        for (int i = 0; i < 600; ++i) {
            slots.push_back({i, &order, &handled});
            auto const id = c.engine.add_handler(
                [](void* context, eng::engine&, eng::incoming&) {
                    auto const& s = *static_cast<slot*>(context);
                    s.order->push_back(s.number);
                    ++*s.handled;
                },
                &slots.back());
            require(id == i, "numbers are dense");
        }
        c.barrier();
        if (c.rank == 0) {
            for (int i = 0; i < 600; ++i)
                c.engine.send_small(1, static_cast<eng::handler_id>((i * 7) % 600), {});
        } else {
            c.until([&] { return handled == 600; });
            for (int i = 0; i < 600; ++i)
                require(order[static_cast<std::size_t>(i)] == (i * 7) % 600, "order");
        }
        c.barrier();
    });
}

struct ends {
    std::atomic<int> sent{0};
    std::atomic<int> delivered{0};
    std::atomic<int> bad{0};
    static void on_sent(void* context, bool ok)
    {
        auto& e = *static_cast<ends*>(context);
        e.sent.fetch_add(1);
        e.bad.fetch_add(ok ? 0 : 1);
    }
    static void on_delivered(void* context, bool ok)
    {
        auto& e = *static_cast<ends*>(context);
        e.delivered.fetch_add(1);
        e.bad.fetch_add(ok ? 0 : 1);
    }
};

TEST_P(engine_messages, completions_come_exactly_once)
{
    run(2, [](rank_context& c) {
        inbox in;
        auto const id = c.engine.add_handler(&inbox::on, &in);
        c.barrier();
        if (c.rank == 0) {
            std::deque<ends> all;
            for (std::size_t n : {0, 1, 40, 41, 200, 260, 9000, 70000}) {
                auto& e = all.emplace_back();
                auto const b = bytes(n, n);
                c.engine.send({.to = 1, .handler = id, .head = b, .sent = {&ends::on_sent, &e}, .delivered = {&ends::on_delivered, &e}});
                require(e.sent == 1, "a head is copied before send returns");
            }
            c.until([&] { return std::all_of(all.begin(), all.end(), [](auto const& e) { return e.delivered == 1; }); });
            c.barrier();
            for (int i = 0; i < 100; ++i)
                c.engine.progress();
            for (auto const& e : all)
                require(e.sent == 1 && e.delivered == 1 && e.bad == 0, "once each");
        } else {
            c.until([&] { return in.count == 8; });
            c.barrier();
        }
        c.barrier();
    });
}

/// Every handler answers until the token's life is used up: both directions full, inside handlers.
struct bouncer {
    eng::handler_id id = 0;
    std::atomic<std::uint64_t> ended{0};
    struct ball {
        std::uint64_t life;
        std::uint64_t filler[40];
    };
    static void on(void* context, eng::engine& e, eng::incoming& m)
    {
        auto& self = *static_cast<bouncer*>(context);
        ball b{};
        std::memcpy(&b, m.head().data(), std::min(sizeof b, m.head().size()));
        if (b.life == 0) {
            ++self.ended;
            return;
        }
        --b.life;
        std::size_t const size = 8 + b.life % 3 * 100;
        for (peer to : {m.source(), e.rank() == 0 ? peer{1} : peer{0}}) {
            e.send({.to = to, .handler = self.id, .head = std::as_bytes(std::span(&b, 1)).first(size)});
            if (b.life > 5)
                break;
        }
        try {
            e.wait([] { return false; }, "nothing", 1ms);
            std::abort();
        } catch (towline::usage_error const&) {
        }
    }
};

TEST_P(engine_messages, both_directions_saturate_inside_handlers)
{
    options o;
    o.sim_in_flight = 2;
    run(
        2,
        [](rank_context& c) {
            bouncer b;
            b.id = c.engine.add_handler(&bouncer::on, &b);
            c.barrier();
            std::uint64_t const balls = 100;
            for (std::uint64_t i = 0; i < balls; ++i) {
                std::uint64_t const life = 12;
                c.engine.send_small(1 - c.rank, b.id, std::as_bytes(std::span(&life, 1)));
            }
            // Each ball makes 2^6 ends.
            auto& words = c.board;
            std::size_t const w = rank_context::first_word + c.rank;
            c.until([&] {
                words[w].store(b.ended.load());
                return words[rank_context::first_word].load() + words[rank_context::first_word + 1].load() == 2 * balls * 64;
            });
            c.barrier();
            require(c.engine.drain(10s), "drain");
            c.barrier();
        },
        o);
}

TEST_P(engine_messages, many_threads_send_and_wait)
{
    run(2, [](rank_context& c) {
        struct shared {
            std::atomic<std::uint64_t> got{0};
            std::atomic<std::uint64_t> sum{0};
            std::vector<std::uint64_t> last = std::vector<std::uint64_t>(4, 0);
            bool ordered = true;
            static void on(void* context, eng::engine&, eng::incoming& m)
            {
                auto& s = *static_cast<shared*>(context);
                std::uint64_t v[2];
                std::memcpy(v, m.head().data(), sizeof v);
                s.ordered = s.ordered && v[1] == s.last[v[0]] + 1;
                s.last[v[0]] = v[1];
                s.sum.fetch_add(v[1]);
                s.got.fetch_add(1);
            }
        } s;
        auto const id = c.engine.add_handler(&shared::on, &s);
        c.barrier();
        constexpr std::uint64_t each = 2000;
        std::vector<std::thread> threads;
        std::atomic<bool> failed{false};
        for (std::uint64_t t = 0; t < 4; ++t) {
            threads.emplace_back([&, t] {
                for (std::uint64_t i = 1; i <= each; ++i) {
                    std::uint64_t const v[2] = {t, i};
                    c.engine.send_small(1 - c.rank, id, std::as_bytes(std::span(v)));
                }
                if (!c.engine.wait([&] { return s.got.load() == 4 * each; }, "everything", 60s))
                    failed = true;
            });
        }
        for (auto& t : threads)
            t.join();
        require(!failed, "a thread waited in vain");
        require(s.ordered, "each thread's messages in order");
        require(s.sum == 4 * each * (each + 1) / 2, "sum");
        c.barrier();
        require(c.engine.drain(10s), "drain");
        require(c.counted(c.rank, counter::messages_sent) == 4 * each, "messages counted");
        require(c.counted(c.rank, counter::bytes_inline) == 4 * each * 16, "bytes counted");
        c.barrier();
    });
}

/// Whether it returns after a handler that runs on another thread meanwhile.
void check_outlasting(rank_context& c, bool (*outlast)(eng::engine&))
{
    struct visit {
        std::atomic<bool> begun{false};
        std::atomic<bool> may_end{false};
        std::atomic<bool> over{false};
        static void on(void* context, eng::engine&, eng::incoming&)
        {
            auto& self = *static_cast<visit*>(context);
            self.begun = true;
            while (!self.may_end)
                sched_yield();
            self.over = true;
        }
    } v;
    auto const id = c.engine.add_handler(&visit::on, &v);
    c.engine.send_small(0, id, {});
    std::thread poller([&] {
        while (!v.begun)
            c.engine.progress();
    });
    while (!v.begun)
        sched_yield();
    bool ended = false;
    bool over = false;
    std::thread other([&] {
        ended = outlast(c.engine);
        over = v.over;
    });
    std::this_thread::sleep_for(20ms);
    v.may_end = true;
    poller.join();
    other.join();
    require(ended && over, "the handler had not returned");
}

// Whoever drains may end what handlers use.
TEST_P(engine_messages, a_drain_outlasts_the_handlers_of_other_threads)
{
    run(1, [](rank_context& c) { check_outlasting(c, [](eng::engine& e) { return e.drain(60s); }); });
}

TEST_P(engine_messages, handlers_of_other_threads_are_outlasted_on_demand)
{
    run(1, [](rank_context& c) {
        c.engine.outlast_handlers();  // of which there are none
        check_outlasting(c, [](eng::engine& e) {
            e.outlast_handlers();
            return true;
        });
    });
}

TEST_P(engine_messages, who_waits_may_take_a_message_itself)
{
    run(2, [](rank_context& c) {
        struct state {
            std::uint64_t next = 0;  ///< that is still to come
            std::uint64_t handled = 0;
            bool in_order = true;
            void take(std::span<std::byte const> head)
            {
                std::uint64_t number = 0;
                std::memcpy(&number, head.data(), std::min(head.size(), sizeof number));
                in_order = in_order && head.size() == 2 * sizeof number && number == next;
                ++next;
            }
            static void on(void* context, eng::engine&, eng::incoming& m)
            {
                auto& self = *static_cast<state*>(context);
                ++self.handled;
                self.take(m.head());
            }
        } heard;
        inbox others;
        auto const ours = c.engine.add_handler(&state::on, &heard);
        auto const theirs = c.engine.add_handler(&inbox::on, &others);
        c.barrier();
        constexpr std::uint64_t count = 3000;
        if (c.rank == 0) {
            for (std::uint64_t i = 0; i < count; ++i) {
                std::array<std::uint64_t, 2> const words{i, 0};
                c.engine.send_small(1, ours, std::as_bytes(std::span(words)));
                if (i % 10 == 0)
                    c.engine.send_small(1, theirs, std::as_bytes(std::span(words)));
            }
        } else {
            std::uint64_t taken = 0;
            auto const end = std::chrono::steady_clock::now() + 60s;
            while (heard.next != count || others.count != count / 10) {
                bool const took = c.engine.take_next(0, [&](eng::handler_id id, std::span<std::byte const> head) {
                    if (id != ours || heard.next % 5 == 0)
                        return false;  // its handler's
                    heard.take(head);
                    return true;
                });
                if (took)
                    ++taken;
                else if (c.engine.progress(1) == 0)
                    require(std::chrono::steady_clock::now() < end, "all messages come");
            }
            require(heard.in_order, "each in its turn");
            require(taken + heard.handled == count, "each once");
        }
        c.barrier();
    });
}

TEST_P(engine_messages, bad_calls_are_told)
{
    run(2, [](rank_context& c) {
        inbox in;
        auto const id = c.engine.add_handler(&inbox::on, &in);
        auto const throws = [](auto&& f) {
            try {
                f();
            } catch (towline::usage_error const&) {
                return true;
            }
            return false;
        };
        require(throws([&] { c.engine.send_small(2, id, {}); }), "no such rank");
        require(throws([&] {
                    eng::block const b{nullptr, 10};
                    c.engine.send({.to = 0, .handler = id, .blocks = {&b, 1}});
                }),
                "null block");
        require(!c.engine.wait([] { return false; }, "nothing", 2ms), "a wait times out");
        c.barrier();
        c.engine.close();
        require(throws([&] { c.engine.send_small(0, id, {}); }), "closed: send");
        require(throws([&] { (void)c.engine.wait([] { return false; }, "nothing"); }), "closed: wait");
        require(c.engine.progress() == 0, "closed: progress");
        c.board[2].fetch_add(1);
        while (c.board[2].load() < c.size)
            sched_yield();
    });
}

} // namespace
