// Blocks that their sender pushes through a window, each side against one that is played by hand.

#include "engine/push_window.hpp"

#include "unit/engine/rank_zero.hpp"

#include <gtest/gtest.h>
#include <thread>

namespace eng = towline::engine;
namespace heap = towline::heap;
namespace wire = towline::engine::wire;
using eng::push_window;
using scripted::bytes;
using scripted::in_a_job;
using scripted::rank_zero;
using towline::job::counter;

namespace {

struct plain_pair {
    static constexpr std::size_t size = 100001;
    std::vector<std::byte> from = std::vector<std::byte>(size);
    std::vector<std::byte> to = std::vector<std::byte>(size);
    plain_pair()
    {
        for (std::size_t i = 0; i < size; ++i)
            from[i] = static_cast<std::byte>(i * 7 + i / 1024);
    }
    [[nodiscard]] bool same() const { return from == to; }
    void write_anew()
    {
        for (std::byte& b : from)
            b = static_cast<std::byte>(static_cast<unsigned>(b) + 1);
    }
};

wire::push_message call_in(scripted::message const& m)
{
    wire::push_message p;
    std::memcpy(&p, m.bytes.data(), sizeof p);
    return p;
}

std::uint32_t use_of(std::uint64_t number)
{
    return static_cast<std::uint32_t>(number >> 32);
}

bool may_read()
{
    int const here = 1;
    return eng::engine::probe_cross_memory_attach(getpid(), &here, sizeof here);
}

/// What is lent comes by cross-memory attach, if it may be read, until it is found to change from one time to the next.
void be_known_to_change(plain_pair& p, rank_zero& r)
{
    r.into = p.to.data();
    for (int i = 0; i < 2; ++i) {
        p.write_anew();
        r.lend_plain(p.from.data(), p.size);
        r.settle();
    }
    CHECK_THAT(r.ended == 2 && r.ok && p.same() && r.sent(wire::push) == 0 && r.count(counter::bytes_cma) == 2 * p.size);
}

/// Comes with the call, and brings so many pieces: those for which there is room at once, the others on a thread of its own.
struct played_sender {
    plain_pair const& p;
    std::uint32_t pieces;
    wire::push_message call{};
    push_window* window = nullptr;
    std::thread thread{};

    void come(wire::push_message const& m)
    {
        call = m;
        window = static_cast<push_window*>(heap::attach(heap::unpack(m.window), sizeof(push_window)));
        ranks::check(window->enter(use_of(m.number)), "the window is open");
        std::uint32_t const first = std::min(pieces, push_window::pieces);
        for (std::uint32_t i = 0; i < first; ++i)
            bring(i);
        thread = std::thread([this, first] {
            for (std::uint32_t i = first; i < pieces; ++i) {
                while (i >= window->emptied.load(std::memory_order_acquire) + push_window::pieces) {
                    if (window->word.load() != push_window::make(use_of(call.number), push_window::entered))
                        return;
                    std::this_thread::yield();
                }
                bring(i);
            }
        });
    }
    void bring(std::uint32_t i) const
    {
        std::memcpy(window->piece[i % push_window::pieces], p.from.data() + i * push_window::piece_bytes,
                    push_window::bytes_of_piece(p.size, i));
        window->filled.store(i + 1, std::memory_order_release);
    }
};

TEST(engine_pushing, a_sender_that_comes_brings_all)
{
    in_a_job([] {
        plain_pair p;
        rank_zero r(true, [](eng::setup& setup) { setup.cross_memory_attach = may_read(); });
        std::uint64_t const before = may_read() ? 2 : 0;
        if (before != 0)
            be_known_to_change(p, r);
        for (std::uint64_t round = 1; round < 20; ++round) {
            p.write_anew();
            played_sender s{p, push_window::pieces_of(p.size)};
            r.script.on_send = [&](scripted::message const& m) {
                if (m.id == wire::push)
                    s.come(call_in(m));
            };
            std::fill(p.to.begin(), p.to.end(), std::byte{0});
            r.into = p.to.data();
            r.lend_plain(p.from.data(), p.size);
            r.settle();
            // A sender that is slow (these tests share their cores) is not waited for, but then the bytes are read.
            if (r.count(counter::bytes_pushed) == round * p.size || may_read())
                CHECK_THAT(r.ended == static_cast<int>(before + round) && r.ok && p.same());
            s.thread.join();
            if (!p.same())
                return;
        }
        CHECK_THAT(r.count(counter::bytes_pushed) > 0 && r.count(counter::bytes_pushed) == r.count(counter::bytes_copied_twice));
        CHECK_THAT(r.count(counter::bytes_pushed) + r.count(counter::bytes_cma) == (before + 19) * p.size);
    });
}

TEST(engine_pushing, a_sender_that_is_away_is_not_needed_and_called_less)
{
    if (!may_read())
        GTEST_SKIP() << "process_vm_readv is refused";
    in_a_job([] {
        plain_pair p;
        rank_zero r;
        be_known_to_change(p, r);
        std::vector<std::size_t> calls;
        for (int i = 1; i <= 12; ++i) {
            p.write_anew();
            std::fill(p.to.begin(), p.to.end(), std::byte{0});
            r.lend_plain(p.from.data(), p.size);
            r.settle();
            CHECK_THAT(r.ended == 2 + i && r.ok && p.same());
            calls.push_back(r.sent(wire::push));
        }
        CHECK_THAT(calls == (std::vector<std::size_t>{1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4}));
        CHECK_THAT(r.count(counter::bytes_pushed) == 0 && r.count(counter::bytes_cma) == 14 * p.size);
        // Who comes late finds the window closed.
        for (auto const& m : r.script.sent) {
            if (m.id != wire::push)
                continue;
            auto const call = call_in(m);
            auto* const w = static_cast<push_window*>(heap::attach(heap::unpack(call.window), sizeof(push_window)));
            CHECK_THAT(!w->enter(use_of(call.number)));
        }
    });
}

TEST(engine_pushing, a_sender_that_goes_away_keeps_its_window_until_it_is_out)
{
    if (!may_read())
        GTEST_SKIP() << "process_vm_readv is refused";
    in_a_job([] {
        plain_pair p;
        rank_zero r;
        be_known_to_change(p, r);
        p.write_anew();
        played_sender s{p, 10};
        r.script.on_send = [&](scripted::message const& m) {
            if (m.id == wire::push && s.window == nullptr)
                s.come(call_in(m));
        };
        p.write_anew();
        r.lend_plain(p.from.data(), p.size);
        r.settle();
        s.thread.join();
        CHECK_THAT(r.ended == 3 && r.ok && p.same());
        CHECK_THAT(r.count(counter::copied_twice) + r.count(counter::copied_once) == 3);
        CHECK_THAT(r.count(counter::bytes_pushed) <= 10 * push_window::piece_bytes);
        CHECK_THAT(r.count(counter::bytes_pushed) + r.count(counter::bytes_cma) == 3 * p.size);
        // It may still write: the next fetch has another window.
        p.write_anew();
        r.lend_plain(p.from.data(), p.size);
        r.settle();
        auto const last = [&] {
            for (auto m = r.script.sent.rbegin(); m != r.script.sent.rend(); ++m) {
                if (m->id == wire::push)
                    return call_in(*m);
            }
            return wire::push_message{};
        };
        CHECK_THAT(r.sent(wire::push) == 2 && last().window != s.call.window);
        // Only its own word, and once, gives it free.
        r.script.arrive(2, wire::pushed, bytes(s.call.number));
        r.script.arrive(1, wire::pushed, bytes(s.call.number + (std::uint64_t{1} << 32)));
        r.script.arrive(1, wire::pushed, bytes(s.call.number + 77));
        r.script.arrive(1, wire::pushed, bytes(~std::uint64_t{0}));
        r.script.arrive(1, wire::pushed, bytes(std::uint32_t{0}));
        r.settle();
        p.write_anew();
        r.lend_plain(p.from.data(), p.size);
        r.settle();
        CHECK_THAT(r.sent(wire::push) == 3 && last().window != s.call.window);
        r.script.arrive(1, wire::pushed, bytes(s.call.number));
        r.script.arrive(1, wire::pushed, bytes(s.call.number));
        r.settle();
        for (int i = 0; i < 2; ++i) {  // one of the two is not called
            p.write_anew();
            r.lend_plain(p.from.data(), p.size);
            r.settle();
        }
        CHECK_THAT(r.sent(wire::push) == 4 && last().window == s.call.window && r.ended == 7 && r.ok);
    });
}

TEST(engine_pushing, a_damaged_window_costs_no_byte)
{
    if (!may_read())
        GTEST_SKIP() << "process_vm_readv is refused";
    in_a_job([] {
        for (std::uint32_t const junk : {5U, 1000U, ~0U}) {
            plain_pair p;
            rank_zero r;
            be_known_to_change(p, r);
            p.write_anew();
            r.script.on_send = [&](scripted::message const& m) {
                if (m.id != wire::push)
                    return;
                auto* const w = static_cast<push_window*>(heap::attach(heap::unpack(call_in(m).window), sizeof(push_window)));
                ranks::check(w->enter(use_of(call_in(m).number)), "open");
                w->filled.store(junk);
            };
            r.lend_plain(p.from.data(), p.size);
            r.settle();
            CHECK_THAT(r.ended == 3 && r.sent(wire::push) == 1 && r.ok && p.same() && r.count(counter::bytes_cma) == 3 * p.size);
        }
    });
}

// The sender's side: pushes what it lent as far as there is room, sees that the window is closed, and believes nothing.
TEST(engine_pushing, calls_are_checked_and_windows_watched)
{
    in_a_job([] {
        plain_pair p;
        rank_zero r;
        int freed = 0;
        r.engine.reset();
        eng::setup setup;
        setup.size = 3;
        setup.transports.push_back(std::make_unique<scripted::component>(r.script));
        setup.shared_arena = true;
        setup.cross_memory_attach = true;
        eng::engine e(std::move(setup));
        auto const id = e.add_handler([](void*, eng::engine&, eng::incoming&) {}, nullptr);
        eng::block const b{p.from.data(), p.size, eng::lending::lend, false};
        e.send({.to = 1, .handler = id, .blocks = {&b, 1}, .sent = {[](void* c, bool) { ++*static_cast<int*>(c); }, &freed}});
        wire::message_header h;
        std::memcpy(&h, r.script.sent[0].bytes.data(), sizeof h);
        std::uint64_t const m = h.id_flags >> wire::flag_bits;
        auto* const w = new (heap::allocate(sizeof(push_window))) push_window;
        std::uint64_t const at = heap::find_packed(w, sizeof *w);
        std::uint64_t const number = std::uint64_t{6} << 32 | 2;
        auto const poll = [&] {
            for (int i = 0; i < 20; ++i)
                e.progress();
        };
        w->begin(6);
        using bad = wire::push_message;
        for (auto const& x : {bad{m + 1, number, at, 0}, bad{m, number, at, 1}, bad{~std::uint64_t{0}, number, at, ~std::uint64_t{0}},
                              bad{m, number, at + 8, 0}, bad{m, number, std::uint64_t{1} << 43, 0},
                              bad{m, number, ~std::uint64_t{0} & ~std::uint64_t{63}, 0}, bad{m, number + (std::uint64_t{1} << 32), at, 0}})
            r.script.arrive(1, wire::push, bytes(x));
        r.script.arrive(2, wire::push, bytes(bad{m, number, at, 0}));
        r.script.arrive(1, wire::push, bytes(bad{m, number, at, 0}, number));
        r.script.arrive(1, wire::push, bytes(number));
        poll();
        CHECK_THAT(w->word == push_window::make(6, push_window::open) && w->filled == 0);
        std::uint32_t const count = push_window::pieces_of(p.size);
        auto const take = [&] {
            for (std::uint32_t i = w->emptied; i != w->filled; ++i) {
                std::memcpy(p.to.data() + i * push_window::piece_bytes, w->piece[i % push_window::pieces],
                            push_window::bytes_of_piece(p.size, i));
                w->emptied.store(i + 1);
            }
        };
        r.script.arrive(1, wire::push, bytes(bad{m, number, at, 0}));
        poll();
        CHECK_THAT(w->was_entered(6) && w->filled == push_window::pieces);
        for (std::uint32_t i = 0; i < count; ++i) {
            take();
            poll();
        }
        CHECK_THAT(w->filled == count && p.same() && r.sent(wire::pushed) == 0);
        // Closed in the middle: it says that it has seen it, and writes no more.
        w->begin(7);
        r.script.arrive(1, wire::push, bytes(bad{m, number + (std::uint64_t{1} << 32), at, 0}));
        poll();
        CHECK_THAT(w->filled == push_window::pieces);
        w->close(7);
        w->emptied.store(push_window::pieces);
        poll();
        CHECK_THAT(w->filled == push_window::pieces && r.sent(wire::pushed) == 1);
        CHECK_THAT(r.script.sent.back().bytes == bytes(number + (std::uint64_t{1} << 32)));
        // What was emptied cannot be: out.
        w->begin(8);
        w->emptied.store(3);
        r.script.arrive(1, wire::push, bytes(bad{m, number + (std::uint64_t{2} << 32), at, 0}));
        poll();
        CHECK_THAT(r.sent(wire::pushed) == 2 && w->filled == 0);
        // The receiver is done with the block while the window is entered: out.
        w->begin(9);
        r.script.arrive(1, wire::push, bytes(bad{m, number + (std::uint64_t{3} << 32), at, 0}));
        poll();
        CHECK_THAT(w->filled == push_window::pieces && freed == 0);
        r.script.arrive(1, wire::done, bytes(m << wire::flag_bits | wire::wants_released));
        poll();
        CHECK_THAT(r.sent(wire::pushed) == 3 && freed == 1);
    });
}

} // namespace
