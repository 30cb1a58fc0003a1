// Laid messages that both sides copy: each side against one that is played by hand.

#include "engine/copy_task.hpp"
#include "layout/copy_plan.hpp"
#include "matching/laid.hpp"
#include "matching/matcher.hpp"
#include "matching/thresholds.hpp"
#include "matching/wire.hpp"
#include "unit/engine/rank_zero.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <optional>

namespace {

namespace layout = towline::layout;
namespace match = towline::matching;
namespace laid = towline::matching::wire;
using scripted::bytes;
using scripted::in_a_job;
using scripted::rank_zero;
using towline::engine::copy_share;
using towline::engine::copy_task;
using towline::engine::copy_taker;
using towline::engine::copy_units;
using towline::job::counter;
namespace heap = towline::heap;

constexpr std::int64_t words = match::thresholds::laid_together / 8 * 3;
constexpr std::uint64_t size = words * 8;

[[nodiscard]] layout::datatype every(std::int64_t step)
{
    return layout::vector(words, 1, step, layout::datatype::of(layout::kind::int64));
}

/// Data with gaps in the heap.
struct spread {
    std::int64_t step;
    layout::datatype type = every(step);
    std::int64_t* data = static_cast<std::int64_t*>(heap::allocate(static_cast<std::size_t>(words * step) * 8));
    std::shared_ptr<match::shown_layout const> shown = match::shown_layout::make(type, 1);

    explicit spread(std::int64_t apart, std::int64_t first) : step(apart)
    {
        for (std::int64_t i = 0; i < words * step; ++i)
            data[i] = first == 0 ? -1 : first + i;
    }
    /// As the data of the other, and nothing between them.
    [[nodiscard]] bool holds(spread const& other) const
    {
        for (std::int64_t i = 0; i < words * step; ++i)
            if (data[i] != (i % step == 0 ? other.data[i / step * other.step] : -1))
                return false;
        return true;
    }
};

/// Rank 0 with a matcher, which has heard of rank 1, that the test plays.
struct matched_zero : rank_zero {
    match::matcher m;
    explicit matched_zero(bool shared_arena = true)
        : rank_zero(shared_arena), m(*engine, {.threaded = true, .way = match::send_way::direct})
    {
        engine->send_small(1, id, {});
        script.sent.clear();
    }
    [[nodiscard]] unsigned kind(laid::kind k) const { return scripted::wire::first_direct + id + 1 + k; }
    [[nodiscard]] std::size_t told(laid::kind k) const { return sent(kind(k)); }
};

template <class Header>
[[nodiscard]] Header read(scripted::message const& m)
{
    Header h;
    EXPECT_EQ(m.bytes.size(), sizeof h);
    std::memcpy(&h, m.bytes.data(), std::min(sizeof h, m.bytes.size()));
    return h;
}

// The receiver.

[[nodiscard]] bool lay(void* self, std::uint64_t, match::laid_sink& where)
{
    auto& to = *static_cast<spread*>(self);
    where = {&to.type, 1, to.data, [](void* owner) { return static_cast<spread*>(owner)->shown; }, &to};
    return true;
}

struct receiving {
    spread from{2, 1000}, to{3, 0};
    matched_zero r;
    match::request request;
    std::optional<laid::help_header> help;
    std::optional<copy_taker> taker;
    copy_units units{size};
    copy_share taken{};

    void receive(std::function<void(receiving&)> const& helped)
    {
        r.script.on_send = [this, helped](scripted::message const& m) {
            if (m.id != r.kind(laid::help))
                return;
            help = read<laid::help_header>(m);
            taker.emplace(*static_cast<copy_task*>(heap::attach(heap::unpack(help->task), sizeof(copy_task))), help->number, units, 8192,
                          131072);
            helped(*this);
        };
        r.m.start_receive(request, {1, 1, 5}, 1, {&to, size, [](void*, std::span<std::byte const>) { return false; }, &lay});
        laid::laid_header const h{1, 1, 5, static_cast<std::uint32_t>(from.shown->form().size()), 99, size,
                                  heap::find_packed(from.data, from.shown->span()), from.shown->span(),
                                  heap::find_packed(from.shown->form().data(), from.shown->form().size_bytes()),
                                  {from.shown->meaning().first, from.shown->meaning().second}};
        r.script.arrive(1, r.kind(laid::laid), bytes(h));
        r.m.wait(request);
    }
    /// As the sender would.
    void copy()
    {
        auto const* const form = static_cast<std::uint64_t const*>(heap::attach(heap::unpack(help->form), help->words * 8));
        auto const tree = layout::deserialize({form, help->words}, static_cast<std::int64_t>(help->bytes),
                                              {0, static_cast<std::int64_t>(help->span)});
        layout::copy_plan(tree, layout::elements_of(from.type, 1))
            .copy(heap::attach(heap::unpack(help->where), help->span), from.data, static_cast<std::int64_t>(units.begin(taken.first)),
                  static_cast<std::int64_t>(units.begin(taken.first + taken.count)));
    }
    [[nodiscard]] bool is_well() const
    {
        auto const& s = request.result();
        return s.error == match::outcome::ok && s.bytes == size && to.holds(from) && r.told(laid::matched) == 1;
    }
};

TEST(laid_cooperation, a_receiver_finishes_alone)
{
    in_a_job([] {
        receiving all;
        all.receive([](receiving&) {});
        CHECK_THAT(all.help && all.help->token == 99 && all.is_well());
        CHECK_THAT(all.r.count(counter::bytes_cooperated) == 0 && all.r.count(counter::bytes_laid) == size);
        CHECK_THAT(all.taker->is_over() && all.taker->take_back().count == 0);  // who comes now finds nothing to do
    });
}

TEST(laid_cooperation, a_sender_copies_its_shares)
{
    in_a_job([] {
        receiving all;
        std::uint64_t helped = 0;
        all.receive([&](receiving& a) {
            while ((a.taken = a.taker->take_back()).count != 0) {
                a.copy();
                helped += a.units.bytes(a.taken.first, a.taken.count);
                CHECK_THAT(!a.taker->copied(a.taken));
            }
        });
        CHECK_THAT(helped != 0 && all.is_well() && all.r.count(counter::bytes_cooperated) == helped);
    });
}

TEST(laid_cooperation, what_a_dead_sender_took_is_copied_by_the_receiver)
{
    in_a_job([] {
        receiving all;
        all.receive([](receiving& a) {
            a.taken = a.taker->take_back();
            a.r.one_is_dead = true;
        });
        CHECK_THAT(all.taken.count != 0 && all.request.result().error == match::outcome::ok && all.to.holds(all.from));
    });
}

TEST(laid_cooperation, a_damaged_task_costs_no_byte)
{
    in_a_job([] {
        for (std::uint64_t const junk : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 32 | 0x00010002}) {
            receiving all;
            all.receive([junk](receiving& a) {
                static_cast<copy_task*>(heap::attach(heap::unpack(a.help->task), sizeof(copy_task)))->cursor.store(junk);
            });
            CHECK_THAT(all.help && all.is_well());
        }
    });
}

// The sender.

struct sending {
    spread from{2, 5000}, to{3, 0};
    matched_zero r;
    match::request request;
    laid::laid_header sent{};
    copy_task* task = new (heap::allocate(2 * sizeof(copy_task))) copy_task;
    copy_units units{size};
    copy_taker receiver{*task, 9, units, 8192, 131072};
    laid::help_header good{};
    std::uint64_t mine = 0;

    explicit sending(bool shared_arena = true) : r(shared_arena)
    {
        CHECK_THAT(r.m.start_send_laid(request, 1, {1, 0, 5}, {&from.type, 1, from.data, size, from.shown.get()}));
        sent = read<laid::laid_header>(r.script.sent.at(0));
        mine = receiver.begin().count;
        good = {sent.token, heap::find_packed(task, sizeof *task), 9, static_cast<std::uint32_t>(to.shown->form().size()), size,
                heap::find_packed(to.data, to.shown->span()), to.shown->span(),
                heap::find_packed(to.shown->form().data(), to.shown->form().size_bytes()),
                {to.shown->meaning().first, to.shown->meaning().second}};
    }
    void ask(laid::help_header const& h, scripted::peer who = 1)
    {
        r.script.arrive(who, r.kind(laid::help), bytes(h));
        r.settle();
    }
    [[nodiscard]] bool is_untouched() const
    {
        return std::all_of(to.data, to.data + words * to.step, [](std::int64_t x) { return x == -1; });
    }
    void end()
    {
        r.script.arrive(1, r.kind(laid::matched), bytes(sent.token));
        r.settle();
        CHECK_THAT(request.done() && request.result().error == match::outcome::ok);
    }
};

TEST(laid_cooperation, a_sender_copies_what_is_left_and_nothing_else)
{
    in_a_job([] {
        sending s;
        s.ask(s.good);
        CHECK_THAT(s.receiver.take_front().count == 0 && s.task->copied == s.units.count - s.mine);
        std::int64_t const first = static_cast<std::int64_t>(s.units.begin(static_cast<std::uint32_t>(s.mine))) / 8;
        for (std::int64_t i = 0; i < words * s.to.step; ++i)
            CHECK_THAT(s.to.data[i] == (i % 3 == 0 && i / 3 >= first ? s.from.data[i / 3 * 2] : -1));
        CHECK_THAT(!s.request.done());
        s.ask(s.good);  // once is enough
        s.end();
    });
}

TEST(laid_cooperation, a_row_is_a_layout_too)
{
    in_a_job([] {
        sending s;
        auto h = s.good;
        h.words = 0;
        h.form = 0;
        h.span = size;
        h.meaning[0] = h.meaning[1] = 0;
        s.ask(h);
        CHECK_THAT(s.task->copied == s.units.count - s.mine);
        for (auto i = static_cast<std::int64_t>(s.units.begin(static_cast<std::uint32_t>(s.mine))) / 8; i < words; ++i)
            CHECK_THAT(s.to.data[i] == s.from.data[i * 2]);
        s.end();
    });
}

TEST(laid_cooperation, calls_for_help_that_lie)
{
    in_a_job([] {
        auto const refused = [](auto change, scripted::peer who = 1, bool shared = true) {
            sending s(shared);
            auto h = s.good;
            change(h);
            s.ask(h, who);
            CHECK_THAT(s.is_untouched() && s.task->copied == 0);
            s.end();
        };
        refused([](auto& h) { h.token += 1; });
        refused([](auto&) {}, 2);
        refused([](auto& h) { h.task += 8; });
        refused([](auto& h) { h.task = std::uint64_t{1} << 43; });
        refused([](auto& h) { h.task = std::uint64_t{77} << 44; });
        refused([](auto& h) { h.number = 8; });
        refused([](auto& h) { h.words = 0; });
        refused([](auto& h) { h.words -= 1, h.meaning[0] ^= 1; });
        refused([](auto& h) { h.words = ~std::uint32_t{0}; });
        refused([](auto& h) { h.bytes = size - 8; });
        refused([](auto& h) { h.bytes = ~std::uint64_t{0}; });
        refused([](auto& h) { h.span -= 8, h.meaning[0] ^= 1; });
        refused([](auto& h) { h.span = ~std::uint64_t{0} >> 1; });
        refused([](auto& h) { h.where = std::uint64_t{77} << 44; });
        refused([](auto& h) { h.form += 4; });
        refused([](auto& h) { h.meaning[1] ^= 1; });
        refused([](auto&) {}, 1, false);  // rank 1 has no business in the arena of rank 0
        sending s;
        s.r.script.arrive(1, s.r.kind(laid::help), bytes(s.good, 0));
        s.r.script.arrive(1, s.r.kind(laid::help), bytes(std::uint64_t{1}));
        s.r.settle();
        CHECK_THAT(s.is_untouched());
        s.end();
    });
}

} // namespace
