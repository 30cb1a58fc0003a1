// Blocks that sender and receiver copy together: each side against one that is played by hand. copy_task_test.cpp has the task by itself.

#include "engine/copy_task.hpp"

#include "unit/engine/rank_zero.hpp"

#include <towline/error.hpp>

#include <gtest/gtest.h>
#include <thread>

namespace eng = towline::engine;
namespace heap = towline::heap;
namespace wire = towline::engine::wire;
using eng::copy_share;
using eng::copy_taker;
using eng::copy_task;
using eng::copy_units;
using scripted::big_pair;
using scripted::bytes;
using scripted::in_a_job;
using scripted::rank_zero;
using towline::job::counter;

namespace {

constexpr std::size_t least = 8192;
constexpr std::size_t most = 65536;

wire::help_message help_in(scripted::message const& m)
{
    wire::help_message h;
    std::memcpy(&h, m.bytes.data(), sizeof h);
    return h;
}

/// The sender's part, played by hand.
struct played_sender {
    explicit played_sender(wire::help_message const& h)
        : number(h.number), units(big_pair::size),
          taker(*static_cast<copy_task*>(heap::attach(heap::unpack(h.task), sizeof(copy_task))), static_cast<std::uint32_t>(h.number >> 32),
                units, least, most)
    {
    }
    std::uint64_t number;
    copy_units units;
    copy_taker taker;
    copy_share taken{};

    void copy(big_pair const& p)
    {
        std::memcpy(p.to + units.begin(taken.first), p.from + units.begin(taken.first), units.bytes(taken.first, taken.count));
    }
};

TEST(engine_cooperation, a_receiver_finishes_alone)
{
    in_a_job([] {
        big_pair p;
        rank_zero r;
        r.into = p.to;
        r.lend(p.from, p.size);
        r.settle();
        CHECK_THAT(r.ended == 1 && r.ok && p.same());
        CHECK_THAT(r.sent(wire::help) == 1 && r.sent(wire::done) == 1);
        CHECK_THAT(r.count(counter::bytes_copied_once) == p.size && r.count(counter::bytes_mapped) == p.size);
        CHECK_THAT(r.count(counter::bytes_cooperated) == 0);
        // Who comes now finds nothing to do.
        played_sender late(help_in(r.script.sent[0]));
        CHECK_THAT(late.taker.take_back().count == 0);
        // The next block uses the same task under another number.
        r.lend(p.from, p.size);
        r.settle();
        CHECK_THAT(r.ended == 2 && late.taker.take_back().count == 0 && r.sent(wire::help) == 2);
        CHECK_THAT(help_in(r.script.sent[2]).task == help_in(r.script.sent[0]).task);
    });
}

TEST(engine_cooperation, plain_destinations_and_small_blocks_are_copied_by_the_receiver)
{
    in_a_job([] {
        big_pair p;
        rank_zero r;
        std::vector<std::byte> plain(p.size);
        r.into = plain.data();
        r.lend(p.from, p.size);
        r.settle();
        CHECK_THAT(r.ended == 1 && r.ok && std::memcmp(plain.data(), p.from, p.size) == 0);
        r.into = p.to;
        r.lend(p.from, 32767);
        r.settle();
        CHECK_THAT(r.ended == 2 && r.sent(wire::help) == 0);
        r.lend(p.from, 32768);
        r.settle();
        CHECK_THAT(r.ended == 3 && r.sent(wire::help) == 1);
    });
}

TEST(engine_cooperation, a_share_that_takes_long_ends_the_fetch_later)
{
    in_a_job([] {
        big_pair p;
        rank_zero r;
        std::optional<played_sender> s;
        r.script.on_send = [&](scripted::message const& m) {
            if (m.id == wire::help) {
                s.emplace(help_in(m));
                s->taken = s->taker.take_back();
            }
        };
        r.into = p.to;
        r.lend(p.from, p.size);
        r.settle();
        CHECK_THAT(s && s->taken.count != 0 && r.ended == 0 && r.sent(wire::done) == 0);
        // Told too early, or by somebody else, or of another task: nothing happens.
        r.script.arrive(1, wire::helped, bytes(s->number));
        r.script.arrive(2, wire::helped, bytes(s->number));
        r.script.arrive(1, wire::helped, bytes(s->number + (std::uint64_t{1} << 32)));
        r.script.arrive(1, wire::helped, bytes(s->number + 1));
        r.script.arrive(1, wire::helped, bytes(~std::uint64_t{0}));
        r.script.arrive(1, wire::helped, bytes(std::uint32_t{0}));
        r.settle();
        CHECK_THAT(r.ended == 0);
        s->copy(p);
        CHECK_THAT(s->taker.copied(s->taken));
        r.script.arrive(1, wire::helped, bytes(s->number));
        r.script.arrive(1, wire::helped, bytes(s->number));
        r.settle();
        CHECK_THAT(r.ended == 1 && r.ok && p.same() && r.sent(wire::done) == 1);
        CHECK_THAT(r.count(counter::bytes_mapped) == p.size);
        CHECK_THAT(r.count(counter::bytes_cooperated) == s->units.bytes(s->taken.first, s->taken.count));
    });
}

TEST(engine_cooperation, a_sender_that_dies_in_a_share_fails_the_fetch)
{
    in_a_job([] {
        big_pair p;
        rank_zero r;
        std::optional<played_sender> s;
        r.script.on_send = [&](scripted::message const& m) {
            if (m.id == wire::help && !s) {
                s.emplace(help_in(m));
                s->taken = s->taker.take_back();
            }
        };
        r.into = p.to;
        r.lend(p.from, p.size);
        r.settle();
        CHECK_THAT(r.ended == 0);
        r.one_is_dead = true;
        ++r.deaths;
        r.settle();
        CHECK_THAT(r.ended == 1 && !r.ok);
        CHECK_THAT(r.count(counter::bytes_copied_once) == 0);
        // What it lent before is still there.
        r.lend(p.from, p.size);
        r.settle();
        CHECK_THAT(r.ended == 2 && r.ok && p.same() && r.sent(wire::help) == 1);
    });
}

/// A receiver whose sender has taken a share and not copied it; the receiver's fetch waits for it.
struct interrupted {
    big_pair p;
    rank_zero r;
    std::optional<played_sender> s;
    std::atomic<bool> out{false};  ///< the sender is out of the receiver's memory
    interrupted()
    {
        r.script.on_send = [this](scripted::message const& m) {
            if (m.id == wire::help) {
                s.emplace(help_in(m));
                s->taken = s->taker.take_back();
            }
        };
        r.into = p.to;
        r.lend(p.from, p.size);
        r.settle();
        CHECK_THAT(s && s->taken.count != 0 && r.ended == 0);
    }
    std::thread goes_on_after(std::chrono::milliseconds time)
    {
        return std::thread([this, time] {
            std::this_thread::sleep_for(time);
            s->copy(p);
            out = true;
            (void)s->taker.copied(s->taken);
        });
    }
};

TEST(engine_cooperation, an_engine_that_ends_waits_for_shares_under_way)
{
    in_a_job([] {
        for (int const ms : {50, 2500}) {  // there is no time after which it goes without the sender
            interrupted i;
            auto sender = i.goes_on_after(std::chrono::milliseconds(ms));
            i.r.engine.reset();
            CHECK_THAT(i.out);
            sender.join();
            CHECK_THAT(i.r.ended == 1 && i.r.ok && i.p.same());
        }
    });
}

TEST(engine_cooperation, an_engine_that_ends_does_not_wait_for_the_dead)
{
    in_a_job([] {
        interrupted i;
        std::thread launcher([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            i.r.one_is_dead = true;
        });
        i.r.engine.reset();
        launcher.join();
        CHECK_THAT(i.r.ended == 1 && !i.r.ok);
    });
}

TEST(engine_cooperation, a_sender_that_is_lost_and_lives_is_waited_for)
{
    in_a_job([] {
        interrupted i;
        auto sender = i.goes_on_after(std::chrono::milliseconds(100));
        i.r.script.unreachable = true;
        try {
            i.r.engine->send({.to = 1, .handler = i.r.id});
        } catch (towline::peer_error const&) {
        }
        while (i.r.ended == 0)
            i.r.engine->progress();
        CHECK_THAT(i.out);
        sender.join();
        CHECK_THAT(i.r.ok && i.p.same());
    });
}

// The other side: what was lent is not the lender's before the receiver has all of it.
TEST(engine_cooperation, a_sender_that_drains_waits_for_a_peer_in_the_middle_of_a_copy)
{
    in_a_job([] {
        big_pair p;
        for (bool const dies : {false, true}) {
            rank_zero r;
            eng::block const b{p.from, p.size, eng::lending::lend, false};
            r.engine->send({.to = 1, .handler = r.id, .blocks = {&b, 1}});
            CHECK_THAT(!r.engine->drain(std::chrono::milliseconds(20)));  // it has not begun, as far as anybody knows
            auto const id = wire::read<wire::message_header>(r.script.sent[0].bytes)->id_flags >> wire::flag_bits;
            auto* const task = new (heap::allocate(2 * sizeof(copy_task))) copy_task;
            copy_taker receiver(*task, 9, copy_units(p.size), least, most);
            (void)receiver.begin();
            auto const at = [](void const* where) { return heap::find_packed(where, 1); };
            r.script.arrive(1, wire::help, bytes(wire::help_message{id, std::uint64_t{9} << 32, at(task), at(p.to), 0}));
            std::atomic<bool> done{false};
            std::thread peer([&] {
                std::this_thread::sleep_for(std::chrono::milliseconds(300));
                done = true;
                if (dies) {
                    r.one_is_dead = true;
                    ++r.deaths;
                } else {
                    r.script.arrive(1, wire::done, bytes(id << wire::flag_bits | wire::wants_released));
                }
            });
            CHECK_THAT(r.engine->drain(std::chrono::milliseconds(20)) && done);
            peer.join();
        }
    });
}

TEST(engine_cooperation, a_damaged_task_costs_no_byte)
{
    in_a_job([] {
        for (std::uint64_t const junk : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 32 | 0x00010002}) {
            big_pair p;
            rank_zero r;
            r.script.on_send = [&](scripted::message const& m) {
                if (m.id == wire::help)
                    static_cast<copy_task*>(heap::attach(heap::unpack(help_in(m).task), sizeof(copy_task)))->cursor.store(junk);
            };
            r.into = p.to;
            r.lend(p.from, p.size);
            r.settle();
            CHECK_THAT(r.ended == 1 && r.ok && p.same());
        }
    });
}

// The sender's side: what it lent, and nothing else, goes into what the receiver names.
TEST(engine_cooperation, calls_for_help_that_lie)
{
    in_a_job([] {
        big_pair p;
        for (bool const shared : {true, false}) {
            rank_zero r(shared);
            int freed = 0;
            eng::block const b{p.from, p.size, eng::lending::lend, false};
            r.engine->send({.to = 1, .handler = r.id, .blocks = {&b, 1}, .sent = {[](void* c, bool) { ++*static_cast<int*>(c); }, &freed}});
            wire::message_header h;
            std::memcpy(&h, r.script.sent[0].bytes.data(), sizeof h);
            std::uint64_t const id = h.id_flags >> wire::flag_bits;
            auto* const task = new (heap::allocate(2 * sizeof(copy_task))) copy_task;
            copy_units const units(p.size);
            copy_taker receiver(*task, 9, units, least, most);
            auto const first = receiver.begin();
            auto const at = [](void const* where) { return heap::find_packed(where, 1); };
            std::uint64_t const number = std::uint64_t{9} << 32 | 3;
            std::memset(p.to, 0, p.size);
            auto const nothing = [&] { return std::all_of(p.to, p.to + p.size, [](std::byte x) { return x == std::byte{0}; }); };
            using bad = wire::help_message;
            for (auto const& m : {bad{id + 1, number, at(task), at(p.to), 0}, bad{id, number, at(task), at(p.to), 1},
                                  bad{~std::uint64_t{0}, number, at(task), at(p.to), ~std::uint64_t{0}},
                                  bad{id, number, at(task) + 8, at(p.to), 0}, bad{id, number, at(task), std::uint64_t{1} << 43, 0},
                                  bad{id, number, ~std::uint64_t{0} & ~std::uint64_t{63}, at(p.to), 0},
                                  bad{id, number, at(task), std::uint64_t{77} << 44, 0},
                                  bad{id, number + (std::uint64_t{1} << 32), at(task), at(p.to), 0}})
                r.script.arrive(1, wire::help, bytes(m));
            r.script.arrive(2, wire::help, bytes(bad{id, number, at(task), at(p.to), 0}));
            r.script.arrive(1, wire::help, bytes(bad{id, number, at(task), at(p.to), 0}, number));
            r.script.arrive(1, wire::help, bytes(number));
            r.settle();
            CHECK_THAT(nothing());
            r.script.arrive(1, wire::help, bytes(bad{id, number, at(task), at(p.to), 0}));
            r.settle();
            if (!shared) {
                // Rank 1 has no business in the arena of rank 0.
                CHECK_THAT(nothing());
            } else {
                std::uint64_t const rest = units.begin(first.count);
                CHECK_THAT(receiver.take_front().count == 0 && !receiver.damaged());
                CHECK_THAT(task->copied == receiver.senders() && receiver.senders() == units.count - first.count);
                CHECK_THAT(std::memcmp(p.to + rest, p.from + rest, p.size - rest) == 0);
                CHECK_THAT(std::all_of(p.to, p.to + rest, [](std::byte x) { return x == std::byte{0}; }));
                CHECK_THAT(r.sent(wire::helped) == 0);
            }
            CHECK_THAT(freed == 0);
            r.script.arrive(1, wire::done, bytes(id << wire::flag_bits | wire::wants_released));
            r.settle();
            CHECK_THAT(freed == 1);
        }
    });
}

} // namespace
