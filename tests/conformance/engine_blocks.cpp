// Blocks: lent, given, copied; from the heap and from plain memory; viewed, fetched, taken, ignored, kept; every size around a threshold;
// over every fabric, with accounting.

#include "conformance/engine_worlds.hpp"

#include <towline/error.hpp>

#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

using namespace engine_worlds;
namespace heap = towline::heap;

namespace {

class engine_blocks : public every_fabric {};
EVERY_FABRIC(engine_blocks);

enum class action : std::uint32_t { view, fetch, take, ignore, fetch_later, keep_and_fetch, fetch_and_forget, count_ };
enum class origin : std::uint32_t { plain, arena, count_ };

struct order {
    std::uint64_t number = 0;
    action what = action::view;
    std::uint32_t blocks = 0;
};

std::uint64_t seed_of(std::uint64_t number, std::size_t block)
{
    return number * 17 + block;
}

/// Whoever polls writes it, the counts last: on-loading, that is another thread than the one that waits.
struct receiver {
    std::atomic<std::uint64_t> handled = 0;
    std::atomic<std::uint64_t> finished = 0;
    std::atomic<std::uint64_t> set_aside = 0;  ///< in `kept`
    std::uint64_t next = 0;
    std::deque<eng::incoming> kept;
    std::deque<std::vector<std::byte>> forgotten;  // destinations of fetches whose message is gone
    struct taken_block {
        void* data;
        std::size_t size;
        std::uint64_t seed;
    };
    std::vector<taken_block> taken;
    std::string wrong;

    struct later {
        receiver* self;
        order what;
        std::vector<std::vector<std::byte>> into;
    };

    void must(bool ok, std::string const& text)
    {
        if (!ok && wrong.empty())
            wrong = text;
    }

    void begin_fetch(eng::incoming& m, order const& o)
    {
        auto* l = new later{this, o, {}};
        for (std::size_t i = 0; i < m.blocks(); ++i) {
            l->into.emplace_back(m.block_size(i));
            m.fetch(i, l->into.back().data(), eng::incoming::pace::may_lag);
        }
        eng::incoming::when_ready(
            std::move(m),
            [](void* context, bool ok, eng::incoming& message) {
                std::unique_ptr<later> const done(static_cast<later*>(context));
                auto& self = *done->self;
                self.must(ok, "fetch failed");
                self.must(message.blocks() == done->what.blocks, "blocks of the message that comes back");
                order again;
                std::memcpy(&again, message.head().data(), sizeof again);
                self.must(again.number == done->what.number, "head of the message that comes back");
                for (std::size_t i = 0; i < done->into.size(); ++i)
                    self.must(filled(done->into[i].data(), done->into[i].size(), seed_of(done->what.number, i)), "fetched bytes");
                ++self.finished;
            },
            l);
    }

    static void on(void* context, eng::engine&, eng::incoming& m)
    {
        auto& self = *static_cast<receiver*>(context);
        ++self.handled;
        order o;
        if (m.head().size() < sizeof o)
            return self.must(false, "head too short");
        std::memcpy(&o, m.head().data(), sizeof o);
        self.must(o.number == self.next++, "order of messages");
        self.must(m.blocks() == o.blocks, "number of blocks");
        switch (o.what) {
        case action::view:
            for (std::size_t i = 0; i < m.blocks(); ++i) {
                if (void const* at = m.view(i))
                    self.must(filled(at, m.block_size(i), seed_of(o.number, i)), "viewed bytes");
                else if (m.block_size(i) != 0)
                    return self.begin_fetch(m, o);
            }
            break;
        case action::fetch:
        case action::fetch_later:
            return self.begin_fetch(m, o);
        case action::take:
            for (std::size_t i = 0; i < m.blocks(); ++i) {
                if (void* const block = m.take(i)) {
                    self.must(m.view(i) == nullptr, "a taken block is no longer the message's");
                    self.must(m.take(i) == nullptr, "taken once");
                    self.taken.push_back({block, m.block_size(i), seed_of(o.number, i)});
                }
            }
            break;
        case action::ignore:
            break;
        case action::keep_and_fetch:
            m.keep();
            self.kept.push_back(std::move(m));
            ++self.set_aside;
            return;
        case action::fetch_and_forget:
            for (std::size_t i = 0; i < m.blocks(); ++i) {
                self.forgotten.emplace_back(m.block_size(i));
                m.fetch(i, self.forgotten.back().data());
            }
            break;
        case action::count_:
            break;
        }
        ++self.finished;
    }
};

/// A message whose lent memory is spoilt as soon as the engine says that it may be.
struct sender {
    struct part {
        std::byte* data = nullptr;
        std::size_t size = 0;
        eng::lending how = eng::lending::lend;
        origin from = origin::plain;
    };
    std::vector<part> parts;
    std::atomic<bool> ok = true;
    std::atomic<int> sent = 0;
    std::atomic<int> delivered = 0;

    static void on_sent(void* context, bool ok)
    {
        auto& s = *static_cast<sender*>(context);
        if (!ok)
            s.ok = false;
        for (auto& p : s.parts) {
            if (p.how == eng::lending::lend && p.size != 0)
                std::memset(p.data, 0xee, p.size);
        }
        ++s.sent;
    }
    static void on_delivered(void* context, bool ok)
    {
        auto& s = *static_cast<sender*>(context);
        if (!ok)
            s.ok = false;
        ++s.delivered;
    }
    ~sender()
    {
        for (auto& p : parts) {
            if (p.how == eng::lending::give)
                continue;
            if (p.from == origin::arena)
                heap::deallocate(p.data);
            else
                delete[] p.data;
        }
    }
};

void send_blocks(rank_context& c, eng::handler_id id, std::uint64_t number, action what, std::vector<sender::part> const& wish, bool viewed,
                 std::size_t extra_head, std::deque<sender>& senders)
{
    auto& s = senders.emplace_back();
    std::vector<eng::block> blocks;
    for (std::size_t i = 0; i < wish.size(); ++i) {
        auto p = wish[i];
        if (p.how == eng::lending::give)
            p.from = origin::arena;
        p.data = p.from == origin::arena ? static_cast<std::byte*>(heap::allocate(p.size + 1)) : new std::byte[p.size + 1];
        fill(p.data, p.size, seed_of(number, i));
        s.parts.push_back(p);
        blocks.push_back({p.data, p.size, p.how, viewed});
    }
    std::vector<std::byte> head(sizeof(order) + extra_head);
    order const o{number, what, static_cast<std::uint32_t>(wish.size())};
    std::memcpy(head.data(), &o, sizeof o);
    c.engine.send({.to = 1 - c.rank, .handler = id, .head = head, .blocks = blocks, .sent = {&sender::on_sent, &s},
                   .delivered = {&sender::on_delivered, &s}});
    // Copied means: now.
    for (auto const& p : s.parts) {
        if (p.how == eng::lending::copy && p.size != 0)
            std::memset(p.data, 0xdd, p.size);
    }
}

void finish_kept(rank_context& c, receiver& r)
{
    for (auto& m : r.kept) {
        order o;
        std::memcpy(&o, m.head().data(), sizeof o);
        r.begin_fetch(m, o);
    }
    r.kept.clear();
    c.until([&] { return r.finished == r.handled; }, "kept messages");
}

TEST_P(engine_blocks, every_way_of_sending_and_receiving)
{
    options o;
    o.segment_bytes = std::uint64_t{1} << 28;
    run(
        2,
        [](rank_context& c) {
            receiver r;
            auto const id = c.engine.add_handler(&receiver::on, &r);
            c.barrier();
            std::vector<std::size_t> const sizes{0,    1,    7,    8,    40,   100,  200,  216,  224,   240,  256,
                                                 2047, 2048, 4096, 8100, 8144, 8152, 8160, 8192, 20000, 70001};
            std::uint64_t number = 0;
            if (c.rank == 0) {
                std::deque<sender> senders;
                for (std::size_t const size : sizes)
                    for (auto how : {eng::lending::lend, eng::lending::give, eng::lending::copy})
                        for (unsigned from = 0; from < static_cast<unsigned>(origin::count_); ++from)
                            for (unsigned what = 0; what < static_cast<unsigned>(action::count_); ++what)
                                for (bool const viewed : {false, true}) {
                                    std::vector<sender::part> parts{{nullptr, size, how, static_cast<origin>(from)}};
                                    if (number % 5 == 0)
                                        parts.push_back({nullptr, 33, eng::lending::lend, origin::plain});
                                    if (number % 7 == 0)
                                        parts.push_back({nullptr, 9001, eng::lending::give, origin::arena});
                                    send_blocks(c, id, number, static_cast<action>(what), parts, viewed, number % 11, senders);
                                    ++number;
                                }
                c.board[rank_context::first_word].store(number);
                c.until([&] { return c.board[rank_context::first_word + 1].load() != 0; }, "the receiver");
                c.until(
                    [&] {
                        return std::all_of(senders.begin(), senders.end(), [](auto const& s) { return s.sent == 1 && s.delivered == 1; });
                    },
                    "completions");
                require(c.engine.drain(20s), "drain");
                for (auto const& s : senders)
                    require(s.sent == 1 && s.delivered == 1 && s.ok, "each completion once");
                c.barrier();
            } else {
                c.until([&] {
                    auto const n = c.board[rank_context::first_word].load();
                    return n != 0 && r.handled == n && r.finished + r.set_aside == n;
                }, "all messages");
                finish_kept(c, r);
                for (auto const& t : r.taken) {
                    r.must(filled(t.data, t.size, t.seed), "taken bytes");
                    heap::deallocate(t.data);
                }
                require(r.wrong.empty(), r.wrong);
                c.board[rank_context::first_word + 1].store(1);
                c.barrier();
            }
            c.barrier();
        },
        o);
}

TEST_P(engine_blocks, messages_that_wait_for_pieces_and_small_ones_keep_their_order)
{
    options o;
    o.sim_in_flight = 3;
    run(
        2,
        [](rank_context& c) {
            receiver r;
            auto const id = c.engine.add_handler(&receiver::on, &r);
            c.barrier();
            std::mt19937_64 random(test_seed() + c.rank);
            std::deque<sender> senders;
            constexpr std::uint64_t n = 400;
            for (std::uint64_t number = 0; number < n; ++number) {
                std::vector<sender::part> parts;
                for (std::uint64_t b = random() % 6; b > 1; --b)
                    parts.push_back({nullptr, static_cast<std::size_t>(random() % (std::uint64_t{1} << random() % 17)),
                                     static_cast<eng::lending>(random() % 3), static_cast<origin>(random() % 2)});
                std::size_t const extra = random() % 4 == 0 ? random() % 30000 : 0;
                send_blocks(c, id, number, static_cast<action>(random() % static_cast<unsigned>(action::count_)), parts, random() % 2 == 0,
                            extra, senders);
            }
            c.until([&] { return r.handled == n && r.finished + r.set_aside == n; }, "all messages");
            finish_kept(c, r);
            for (auto const& t : r.taken) {
                r.must(filled(t.data, t.size, t.seed), "taken bytes");
                heap::deallocate(t.data);
            }
            require(r.wrong.empty(), r.wrong);
            c.until(
                [&] {
                    return std::all_of(senders.begin(), senders.end(),
                                       [](auto const& s) { return s.sent == 1 && s.delivered == 1 && s.ok; });
                },
                "completions");
            require(c.engine.drain(20s), "drain");
            c.barrier();
            c.engine.progress();
            c.barrier();
        },
        o);
}

TEST_P(engine_blocks, many_blocks_and_misuse)
{
    run(2, [](rank_context& c) {
        struct checker {
            std::atomic<bool> seen{false};
            static void on(void* context, eng::engine&, eng::incoming& m)
            {
                require(m.blocks() == 3000, "blocks");
                for (std::size_t i = 0; i < 3000; ++i)
                    require(m.block_size(i) == i % 50, "size");
                auto const throws = [](auto&& f) {
                    try {
                        f();
                    } catch (towline::usage_error const&) {
                        return true;
                    }
                    return false;
                };
                std::array<std::byte, 64> into{};
                require(throws([&] { (void)m.block_size(3000); }), "no such block");
                require(throws([&] { m.fetch(3000, into.data()); }), "no such block");
                m.fetch(49, into.data());
                require(throws([&] { m.fetch(49, into.data()); }), "fetched twice");
                static_cast<checker*>(context)->seen = true;
                eng::incoming::when_ready(std::move(m), [](void*, bool, eng::incoming&) {}, nullptr);
            }
        } in;
        auto const id = c.engine.add_handler(&checker::on, &in);
        c.barrier();
        std::array<std::byte, 50> const data{};
        if (c.rank == 0) {
            std::vector<eng::block> blocks;
            for (std::size_t i = 0; i < 3000; ++i)
                blocks.push_back({data.data(), i % 50, eng::lending::lend, false});
            c.engine.send({.to = 1, .handler = id, .blocks = blocks});
            blocks.resize(70000);
            try {
                c.engine.send({.to = 1, .handler = id, .blocks = blocks});
                require(false, "70000 blocks");
            } catch (towline::limit_error const&) {
            }
            require(c.engine.drain(20s), "drain");
        } else {
            c.until([&] { return in.seen.load(); });
        }
        c.barrier();
    });
}

// Who counts what: engine/accounting.hpp.
TEST_P(engine_blocks, accounting_is_exact)
{
    run(2, [](rank_context& c) {
        receiver r;
        auto const id = c.engine.add_handler(&receiver::on, &r);
        c.barrier();
        constexpr std::size_t size = 100000;
        std::uint64_t number = 0;
        std::deque<sender> senders;
        bool const mapped = maps(c.kind);

        struct expected {
            std::uint64_t handed, once, twice, wire, cma, staged, mapped, pushed = 0;
        };
        auto const one = [&](eng::lending how, origin from, bool viewed, action what, expected e) {
            auto const read = [&] {
                return expected{c.total(counter::bytes_handed_over),  c.total(counter::bytes_copied_once),
                                c.total(counter::bytes_copied_twice), c.total(counter::bytes_wire),
                                c.total(counter::bytes_cma),          c.total(counter::bytes_staged),
                                c.total(counter::bytes_mapped),       c.total(counter::bytes_pushed)};
            };
            c.barrier();
            auto const before = read();
            auto const taken = r.taken.size();
            c.barrier();
            if (c.rank == 0) {
                send_blocks(c, id, number, what, {{nullptr, size, how, from}}, viewed, 0, senders);
                auto const& s = senders.back();
                c.until([&] { return s.sent == 1 && s.delivered == 1; });
            } else {
                c.until([&] { return r.finished == number + 1; });
            }
            ++number;
            c.barrier();
            auto const after = read();
            if (!mapped) {
                bool const moved = what == action::fetch || what == action::view;
                e = {0, 0, 0, moved ? 1u : 0u, 0, 0, 0};
            }
            std::string const which = "message " + std::to_string(number);
            // A sender that waits may push what is attached otherwise.
            std::uint64_t const pushed = after.pushed - before.pushed;
            require(pushed <= e.cma * size, which + ": pushed");
            require(after.handed - before.handed == e.handed * size, which + ": handed over");
            require(after.once - before.once + pushed == e.once * size, which + ": copied once");
            require(after.twice - before.twice - pushed == e.twice * size, which + ": copied twice");
            require(after.wire - before.wire == e.wire * size, which + ": wire");
            require(after.cma - before.cma + pushed == e.cma * size, which + ": attached");
            require(after.staged - before.staged == e.staged * size, which + ": staged");
            require(after.mapped - before.mapped == e.mapped * size, which + ": mapped");
            require(r.taken.size() - taken ==
                        (c.rank == 1 && what == action::take && mapped && (how != eng::lending::lend || (viewed && from == origin::plain))
                             ? 1
                             : 0),
                    which + ": taken");
            c.barrier();
        };
        using enum eng::lending;
        using enum action;
        //                                            handed once twice wire cma staged mapped
        one(give, origin::arena, false, view,          {1, 0, 0, 0, 0, 0, 0});
        one(give, origin::arena, false, take,          {1, 0, 0, 0, 0, 0, 0});
        one(give, origin::arena, false, ignore,        {1, 0, 0, 0, 0, 0, 0});
        one(give, origin::arena, false, action::fetch, {0, 1, 0, 0, 0, 0, 1});
        one(lend, origin::arena, false, view,          {0, 0, 0, 0, 0, 0, 0});
        one(lend, origin::arena, false, action::fetch, {0, 1, 0, 0, 0, 0, 1});
        one(lend, origin::arena, true, view,           {0, 0, 0, 0, 0, 0, 0});
        one(lend, origin::plain, true, view,           {0, 1, 0, 0, 0, 1, 0});
        one(lend, origin::plain, true, take,           {0, 1, 0, 0, 0, 1, 0});
        one(lend, origin::plain, true, action::fetch,  {0, 0, 1, 0, 0, 1, 0});
        // Where reading is refused, an engine that knows it stages the block; one that was told otherwise lets it be asked for in pieces.
        int const here = 1;
        bool const attach = eng::engine::probe_cross_memory_attach(getpid(), &here, sizeof here);
        bool const staged = !attach && c.kind == fabric::shm_processes;
        one(lend, origin::plain, false, action::fetch,
            attach ? expected{0, 1, 0, 0, 1, 0, 0} : expected{0, 0, 1, 0, 0, staged ? 1u : 0u, 0});
        one(lend, origin::plain, false, ignore,        staged ? expected{0, 1, 0, 0, 0, 1, 0} : expected{0, 0, 0, 0, 0, 0, 0});
        one(copy, origin::plain, false, action::fetch, {0, 0, 1, 0, 0, 1, 0});
        one(copy, origin::arena, false, view,          {0, 1, 0, 0, 0, 1, 0});
        for (auto const& t : r.taken)
            heap::deallocate(t.data);
        require(r.wrong.empty(), r.wrong);
        c.barrier();
    });
}

// Taking lines writes to the block that is read (base/copy.hpp): not to what may be constant.
TEST_P(engine_blocks, a_rank_lends_itself_what_cannot_be_written)
{
    run(1, [](rank_context& c) {
        constexpr std::size_t size = 64 << 10;
        void* const constant = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        require(constant != MAP_FAILED, "memory");
        struct target {
            std::vector<std::byte> bytes = std::vector<std::byte>(size);
            std::atomic<std::uint64_t> fetched = 0;  ///< whoever polls counts, when it has looked
            bool same = true;
            static void on(void* context, eng::engine&, eng::incoming& m)
            {
                m.fetch(0, static_cast<target*>(context)->bytes.data());
                eng::incoming::when_ready(
                    std::move(m),
                    [](void* self, bool ok, eng::incoming&) {
                        auto& t = *static_cast<target*>(self);
                        t.same = t.same && ok && filled(t.bytes.data(), size, t.fetched + 1);
                        ++t.fetched;
                    },
                    context);
            }
        } t;
        auto const id = c.engine.add_handler(&target::on, &t);
        eng::block const b{constant, size, eng::lending::lend, false};
        for (std::uint64_t i = 1; i <= 8; ++i) {
            require(::mprotect(constant, size, PROT_READ | PROT_WRITE) == 0, "memory that can be written");
            fill(constant, size, i);
            require(::mprotect(constant, size, PROT_READ) == 0, "memory that cannot");
            c.engine.send({.to = 0, .handler = id, .blocks = {&b, 1}});
            c.until([&] { return t.fetched == i; }, "a block of its own");
        }
        require(t.same, "bytes");
        require(c.engine.drain(20s), "drain");
        ::munmap(constant, size);
    });
}

TEST_P(engine_blocks, a_given_block_of_any_size_is_not_copied)
{
    run(2, [](rank_context& c) {
        struct checker {
            std::atomic<std::uint64_t> seen{0};
            std::vector<void*> taken;
            static void on(void* context, eng::engine&, eng::incoming& m)
            {
                auto& self = *static_cast<checker*>(context);
                if (void* p = m.take(0))
                    self.taken.push_back(p);
                ++self.seen;
            }
        } in;
        auto const id = c.engine.add_handler(&checker::on, &in);
        c.barrier();
        if (!maps(c.kind))
            return;
        std::vector<std::size_t> const sizes{1, 8, 64, 4096, 100000, 1 << 20, 50 << 20};
        std::uint64_t bytes = 0;
        for (auto n : sizes)
            bytes += n;
        if (c.rank == 0) {
            for (auto n : sizes) {
                void* const p = heap::allocate(n);
                *static_cast<char*>(p) = 1;
                eng::block const b{p, n, eng::lending::give, false};
                c.engine.send({.to = 1, .handler = id, .blocks = {&b, 1}});
            }
            require(c.engine.drain(20s), "drain");
        } else {
            c.until([&] { return in.seen == sizes.size(); });
            require(in.taken.size() == sizes.size(), "all taken");
            for (void* p : in.taken)
                heap::deallocate(p);
        }
        c.barrier();
        require(c.total(counter::bytes_handed_over) == bytes && c.total(counter::bytes_copied_once) == 0 &&
                    c.total(counter::bytes_copied_twice) == 0,
                "not copied");
        c.barrier();
    });
}

TEST_P(engine_blocks, without_attach_nothing_is_lost)
{
    options o;
    o.attach = false;
    if (GetParam() == fabric::shm_processes)
        return;  // there the probe decides; refusal at run time: unit tests
    run(
        2,
        [](rank_context& c) {
            receiver r;
            auto const id = c.engine.add_handler(&receiver::on, &r);
            c.barrier();
            std::deque<sender> senders;
            for (std::uint64_t n = 0; n < 10; ++n)
                send_blocks(c, id, n, action::fetch, {{nullptr, 50000, eng::lending::lend, origin::plain}}, false, 0, senders);
            c.until(
                [&] {
                    return r.finished == 10 &&
                           std::all_of(senders.begin(), senders.end(), [](auto const& s) { return s.sent == 1 && s.delivered == 1; });
                });
            require(r.wrong.empty(), r.wrong);
            c.barrier();
            if (maps(c.kind))
                require(c.total(counter::bytes_copied_twice) == 20 * 50000 && c.total(counter::bytes_staged) == 20 * 50000, "staged");
            c.barrier();
        },
        o);
}

TEST_P(engine_blocks, threads_fetch_what_handlers_keep)
{
    run(2, [](rank_context& c) {
        struct keeper {
            std::mutex mutex;
            std::deque<eng::incoming> messages;
            static void on(void* context, eng::engine&, eng::incoming& m)
            {
                auto& self = *static_cast<keeper*>(context);
                m.keep();
                std::lock_guard const lock(self.mutex);
                self.messages.push_back(std::move(m));
            }
        } in;
        auto const id = c.engine.add_handler(&keeper::on, &in);
        c.barrier();
        constexpr std::uint64_t n = 120;
        std::atomic<std::uint64_t> done{0};
        std::atomic<bool> wrong{false};
        std::vector<std::thread> workers;
        for (int w = 0; w < 3; ++w) {
            workers.emplace_back([&] {
                while (done.load() < n && !wrong) {
                    std::optional<eng::incoming> m;
                    {
                        std::lock_guard const lock(in.mutex);
                        if (!in.messages.empty()) {
                            m.emplace(std::move(in.messages.front()));
                            in.messages.pop_front();
                        }
                    }
                    if (!m) {
                        sched_yield();
                        continue;
                    }
                    std::uint64_t number = 0;
                    std::memcpy(&number, m->head().data(), sizeof number);
                    std::vector<std::byte> into(m->block_size(0));
                    m->fetch(0, into.data());
                    if (!c.engine.wait([&] { return m->ready(); }, "a fetch", 60s) || m->failed() ||
                        !filled(into.data(), into.size(), number))
                        wrong = true;
                    m.reset();
                    done.fetch_add(1);
                }
            });
        }
        std::deque<std::vector<std::byte>> buffers;
        for (std::uint64_t i = 0; i < n; ++i) {
            auto& b = buffers.emplace_back(1 + i * 700);
            fill(b.data(), b.size(), i);
            eng::block const block{b.data(), b.size(), eng::lending::lend, false};
            c.engine.send({.to = 1 - c.rank, .handler = id, .head = std::as_bytes(std::span(&i, 1)), .blocks = {&block, 1}});
        }
        c.until([&] { return done.load() == n || wrong.load(); });
        for (auto& t : workers)
            t.join();
        require(!wrong, "a thread fetched something else");
        require(c.engine.drain(20s), "drain");
        c.barrier();
    });
}

} // namespace
