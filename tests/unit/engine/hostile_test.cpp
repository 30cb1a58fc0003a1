// Whatever arrives: dropped with a word, and the stream goes on.

#include "unit/engine/scripted.hpp"
#include "unit/heap/ranks.hpp"

#include "engine/wire.hpp"
#include "heap/heap.hpp"

#include <towline/error.hpp>

#include <gtest/gtest.h>
#include <random>

namespace eng = towline::engine;
namespace wire = towline::engine::wire;
using scripted::bytes;
using scripted::peer;

namespace {

struct victim {
    scripted::script script;
    std::unique_ptr<eng::engine> engine;
    eng::handler_id id = 0;
    std::vector<std::vector<std::byte>> heads;
    std::vector<std::vector<std::byte>> blocks;

    explicit victim(std::size_t max_eager = 512)
    {
        script.max_eager = max_eager;
        eng::setup s;
        s.rank = 0;
        s.size = 3;
        s.transports.push_back(std::make_unique<scripted::component>(script));
        engine = std::make_unique<eng::engine>(std::move(s));
        id = engine->add_handler(
            [](void* context, eng::engine&, eng::incoming& m) {
                auto& self = *static_cast<victim*>(context);
                self.heads.emplace_back(m.head().begin(), m.head().end());
                for (std::size_t i = 0; i < m.blocks(); ++i) {
                    if (auto const* at = static_cast<std::byte const*>(m.view(i)))
                        self.blocks.emplace_back(at, at + m.block_size(i));
                }
            },
            this);
    }
    void settle()
    {
        while (engine->progress() != 0) {}
    }
    /// A good message still gets through.
    void expect_alive()
    {
        std::size_t const before = heads.size();
        script.arrive(1, wire::first_direct + id, bytes(std::uint64_t{42}));
        settle();
        ASSERT_EQ(heads.size(), before + 1);
        EXPECT_EQ(heads.back(), bytes(std::uint64_t{42}));
    }
    [[nodiscard]] std::size_t refusals() const
    {
        std::size_t n = 0;
        for (auto const& m : script.sent)
            n += m.id == wire::done && (static_cast<unsigned>(m.bytes[0]) & wire::was_refused) != 0;
        return n;
    }
};

std::vector<std::byte> message(std::uint32_t head, std::uint16_t handler, std::uint16_t blocks, std::uint64_t id_flags, auto const&... rest)
{
    return bytes(wire::message_header{head, handler, blocks, id_flags}, rest...);
}

TEST(engine_hostile, lengths_that_lie)
{
    victim v;
    auto const d = [](wire::how how, std::uint64_t size, std::uint64_t where = 0) { return wire::descriptor::make(how, size, where); };
    std::uint64_t const word = 7;
    std::vector<std::vector<std::byte>> const bad{
        {},
        bytes(std::uint64_t{1}),
        message(8, 0, 0, 0),                                                       // head not there
        message(0xffffffff, 0, 0, 0, word),                                        // head of 4 GiB
        message(0, 0, 1, 0),                                                       // descriptor not there
        message(0, 0, 65535, 0, word),                                             // many descriptors not there
        message(0, 0, 0, 0, word),                                                 // too long
        message(0, 99, 0, 0),                                                      // no such handler
        message(0, 0, 1, 0, d(wire::how::inside, 9), word),                        // block not all there
        message(0, 0, 1, 0, d(wire::how::inside, wire::max_block), word),          // 2^56 bytes
        message(0, 0, 1, 0, d(wire::how::inside, 4), word),                        // too long
        message(0, 0, 2, 0, d(wire::how::inside, wire::max_block), d(wire::how::inside, 3), word),
        message(0, 0, 1, 0, d(wire::how::attached, 100, 8), word),                 // too long
        message(0, 0, 1, 0, d(wire::how::exposed, 100), word),                     // region cut off
        message(0, 0, 1, 0, d(wire::how::given_here, 100, 8)),                     // a pointer of another process
        message(0, 0, 1, 0, d(wire::how::mapped_here, 100, 8)),
        message(0, 0, 1, 0, d(wire::how::count_, 1)),
        message(0, 0, 1, 0, d(static_cast<wire::how>(200), 1)),
    };
    for (auto const& b : bad)
        v.script.arrive(1, wire::message, b);
    v.settle();
    EXPECT_TRUE(v.heads.empty());
    v.expect_alive();
    EXPECT_EQ(v.refusals(), 0U);
    // Who waits is told.
    v.script.arrive(1, wire::message, message(8, 0, 0, 5 << wire::flag_bits | wire::wants_delivered));
    v.settle();
    EXPECT_EQ(v.refusals(), 1U);
}

TEST(engine_hostile, addresses_that_lie)
{
    // In a child of its own: the heap joins a job.
    EXPECT_EQ(ranks::status_of(ranks::spawn([] {
        void* const mine = towline::heap::allocate(100);
        victim v;
        for (std::uint64_t const where : {std::uint64_t{0}, std::uint64_t{1} << 43, ~std::uint64_t{0}, std::uint64_t{77} << 44})
            for (wire::how const how : {wire::how::given, wire::how::staged, wire::how::mapped})
                for (std::uint64_t const size : {std::uint64_t{1} << 50, wire::max_block})
                    v.script.arrive(1, wire::message, message(0, 0, 1, 0, wire::descriptor::make(how, size, where)));
        v.settle();
        CHECK_THAT(v.heads.empty());
        v.expect_alive();
        CHECK_THAT(v.heads.size() == 1);
        towline::heap::deallocate(mine);
    })), 0);
}

// Its blocks belong to the receiver from the sending on, whatever becomes of the message.
TEST(engine_hostile, a_refused_message_leaks_no_given_block)
{
    EXPECT_EQ(ranks::status_of(ranks::spawn([] {
        constexpr std::size_t size = std::size_t{1} << 20;
        victim v;
        v.script.arrive(1, wire::first_direct + v.id, bytes(std::uint64_t{0}));
        v.settle();
        towline::heap::deallocate(towline::heap::allocate(64));
        std::uint64_t const before = towline::heap::stats().in_use;
        auto const gift = [](wire::how how) {
            return wire::descriptor::make(how, size, towline::heap::find_packed(towline::heap::allocate(size), size));
        };
        auto const nowhere = wire::descriptor::make(wire::how::mapped, size, std::uint64_t{77} << 44);
        auto const cut_off = wire::descriptor::make(wire::how::inside, 100, 0);
        auto const strange = wire::descriptor::make(wire::how::given_here, size, 8);
        using enum wire::how;
        std::uint64_t const wants = 9 << wire::flag_bits | wire::wants_released;
        v.script.arrive(1, wire::message, message(0, 0, 3, 0, gift(given), gift(staged), nowhere));
        v.script.arrive(1, wire::message, message(0, 0, 3, 0, nowhere, gift(given), gift(staged)));
        v.script.arrive(1, wire::message, message(0, 0, 2, wants, gift(given), cut_off));
        v.script.arrive(1, wire::message, message(0, 0, 2, 0, cut_off, gift(given)));
        v.script.arrive(1, wire::message, message(0, 0, 2, 0, strange, gift(given)));
        v.script.arrive(1, wire::message, message(0, 0, 1, 0, gift(given), std::uint64_t{1}));  // too long
        v.script.arrive(1, wire::message, message(0, 99, 1, 0, gift(given)));                   // no such handler
        v.script.arrive(1, wire::message, message(64, 0, 1, 0, gift(given)));                   // no head
        v.settle();
        CHECK_THAT(v.heads.size() == 1 && v.refusals() == 1);
        CHECK_THAT(towline::heap::stats().in_use == before);
        // One that is taken is freed once.
        v.script.arrive(1, wire::message, message(0, 0, 1, 0, gift(given)));
        v.settle();
        CHECK_THAT(v.blocks.size() == 1 && v.blocks[0].size() == size);
        CHECK_THAT(towline::heap::stats().in_use == before);
    })), 0);
}

TEST(engine_hostile, fragments_that_do_not_fit)
{
    victim v;
    auto const f = [](std::uint64_t stream, std::uint64_t total, std::uint64_t offset, auto const&... rest) {
        return bytes(wire::fragment_header{stream, total, offset}, rest...);
    };
    std::uint64_t const word = 7;
    for (auto const& b : {
             bytes(word), f(1, 100, 0),                     // empty
             f(1, 100, 8, word),                            // begins in the middle
             f(2, 4, 0, word),                              // more than its total
             f(3, ~std::uint64_t{0}, 0, word), f(3, 16, 8, word),  // changes its total
             f(4, 24, 0, word), f(4, 24, 16, word),         // a gap
             f(5, 24, 0, word), f(5, 24, 0, word),          // twice
             f(6, 8, 0, word),                              // whole, but no message
         })
        v.script.arrive(1, wire::fragment, b);
    v.settle();
    EXPECT_TRUE(v.heads.empty());
    v.expect_alive();
    // And a good one, between others of the same number from elsewhere.
    auto const good = message(8, 0, 0, 0, word);
    std::uint64_t halves[3];
    std::memcpy(halves, good.data(), 24);
    v.script.arrive(1, wire::fragment, f(9, 24, 0, halves[0], halves[1]));
    v.script.arrive(2, wire::fragment, f(9, 24, 16, halves[0]));
    v.script.arrive(1, wire::fragment, f(9, 24, 16, halves[2]));
    v.settle();
    ASSERT_EQ(v.heads.size(), 2U);
    EXPECT_EQ(v.heads.back(), bytes(word));
}

TEST(engine_hostile, numbers_nobody_gave_out)
{
    victim v;
    std::uint64_t const word = 7;
    struct seen {
        int sent = 0;
        int delivered = 0;
    } s;
    eng::completion const on_sent{[](void* c, bool ok) { static_cast<seen*>(c)->sent += ok ? 1 : 100; }, &s};
    eng::completion const on_delivered{[](void* c, bool ok) { static_cast<seen*>(c)->delivered += ok ? 1 : 100; }, &s};
    v.engine->send({.to = 1, .handler = v.id, .head = std::as_bytes(std::span(&word, 1)), .sent = on_sent, .delivered = on_delivered});
    ASSERT_EQ(v.script.sent.size(), 1U);
    wire::message_header sent;
    std::memcpy(&sent, v.script.sent[0].bytes.data(), sizeof sent);
    EXPECT_EQ(sent.id_flags & wire::flag_mask, wire::wants_delivered);
    std::uint64_t const id = sent.id_flags & ~wire::flag_mask;
    v.script.arrive(2, wire::done, bytes(id | wire::wants_delivered));                           // another rank
    v.script.arrive(1, wire::done, bytes(id | wire::wants_released));                            // it lent nothing
    v.script.arrive(1, wire::done, bytes(id));                                                   // nothing at all
    v.script.arrive(1, wire::done, bytes((id + (std::uint64_t{1} << 40)) | wire::wants_delivered));   // another generation
    v.script.arrive(1, wire::done, bytes((id + (1 << wire::flag_bits)) | wire::wants_delivered));     // another slot
    v.script.arrive(1, wire::done, bytes(~std::uint64_t{0}));
    v.script.arrive(1, wire::done, bytes(std::uint32_t{1}));
    v.script.arrive(1, wire::done, bytes(id | wire::wants_delivered, word));
    v.settle();
    EXPECT_EQ(s.delivered, 0);
    v.script.arrive(1, wire::done, bytes(id | wire::wants_delivered));
    v.script.arrive(1, wire::done, bytes(id | wire::wants_delivered));  // again
    v.settle();
    EXPECT_EQ(s.delivered, 1);
    EXPECT_EQ(s.sent, 1);

    for (auto const& m : {wire::pull_message{id >> wire::flag_bits, 1, 0, 8, 0}, wire::pull_message{~std::uint64_t{0}, 1, 0, 8, 0}})
        v.script.arrive(1, wire::pull, bytes(m));
    v.script.arrive(1, wire::pull, bytes(word));
    v.script.arrive(1, wire::piece, bytes(wire::piece_header{1, 0}, word));
    v.script.arrive(1, wire::piece, bytes(wire::piece_header{~std::uint64_t{0}, wire::refused}));
    v.script.arrive(1, wire::piece, bytes(word));
    v.settle();
    v.expect_alive();
}

// A pull may ask for what was lent, and for nothing else.
TEST(engine_hostile, requests_beyond_what_was_lent)
{
    EXPECT_EQ(ranks::status_of(ranks::spawn([] {
        victim v(128);
        v.script.maps = false;
        scripted::script plain;
        plain.maps = false;
        plain.max_eager = 128;
        eng::setup s;
        s.rank = 0;
        s.size = 3;
        s.transports.push_back(std::make_unique<scripted::component>(plain));
        eng::engine e(std::move(s));
        auto const id = e.add_handler([](void*, eng::engine&, eng::incoming&) {}, nullptr);
        std::vector<std::byte> lent(1000, std::byte{5});
        eng::block const b{lent.data(), lent.size(), eng::lending::lend, false};
        e.send({.to = 1, .handler = id, .blocks = {&b, 1}});
        wire::message_header h;
        std::memcpy(&h, plain.sent[0].bytes.data(), sizeof h);
        std::uint64_t const number = h.id_flags >> wire::flag_bits;
        plain.sent.clear();
        for (auto const& m : {wire::pull_message{number, 1, 0, 1001, 0}, wire::pull_message{number, 1, 1000, 1, 0},
                              wire::pull_message{number, 1, ~std::uint64_t{0}, 2, 0},
                              wire::pull_message{number, 1, 2, ~std::uint64_t{0}, 0}, wire::pull_message{number, 1, 0, 0, 0},
                              wire::pull_message{number, 1, 0, 8, 1}, wire::pull_message{number, 1, 0, 8, ~std::uint64_t{0}}})
            plain.arrive(1, wire::pull, bytes(m));
        plain.arrive(2, wire::pull, bytes(wire::pull_message{number, 1, 0, 8, 0}));
        e.progress(100);
        CHECK_THAT(plain.sent.size() == 8);
        for (auto const& m : plain.sent) {
            wire::piece_header p;
            CHECK_THAT(m.id == wire::piece && m.bytes.size() == sizeof p);
            std::memcpy(&p, m.bytes.data(), sizeof p);
            CHECK_THAT(p.offset == wire::refused);
        }
        plain.sent.clear();
        plain.arrive(1, wire::pull, bytes(wire::pull_message{number, 77, 992, 8, 0}));
        e.progress();
        CHECK_THAT(plain.sent.size() == 1 && plain.sent[0].bytes.size() == sizeof(wire::piece_header) + 8);
    })), 0);
}

TEST(engine_hostile, random_bytes)
{
    EXPECT_EQ(ranks::status_of(ranks::spawn([] {
        std::uint64_t const seed = std::random_device{}();
        std::fprintf(stderr, "seed %llu\n", static_cast<unsigned long long>(seed));
        setenv("TOWLINE_LOG", "off", 1);
        std::mt19937_64 random(seed);
        victim v;
        for (int i = 0; i < 50000; ++i) {
            std::vector<std::byte> b(random() % 64 * (random() % 4 == 0 ? 1 : 8) % 512);
            for (auto& x : b)
                x = static_cast<std::byte>(random() % 3 == 0 ? random() % 4 : random() % 8 == 0 ? random() : 0);
            // Not blocks by address: an address that is right by chance is right. They have their own test.
            if (b.size() >= 32 && (static_cast<unsigned>(b[16]) - 1) % 256 < 3)
                b[16] = std::byte{0};
            v.script.arrive(static_cast<peer>(1 + random() % 2), static_cast<unsigned>(random() % 5), b);
            if (i % 64 == 0)
                v.settle();
        }
        v.settle();
        auto const before = v.heads.size();
        v.expect_alive();
        CHECK_THAT(v.heads.size() == before + 1);
    })), 0);
}

TEST(engine_setup, what_cannot_work_is_refused)
{
    scripted::script s;
    auto const refused = [&](peer rank, peer size) {
        eng::setup setup;
        setup.rank = rank;
        setup.size = size;
        setup.transports.push_back(std::make_unique<scripted::component>(s));
        EXPECT_THROW(eng::engine{std::move(setup)}, towline::usage_error);
    };
    refused(0, 0);
    refused(2, 2);
    s.max_eager = 63;
    refused(0, 1);
    s.max_eager = 512;
    s.reliable = false;
    refused(0, 1);
    s.reliable = true;

    eng::setup setup;
    setup.size = 4;
    setup.transports.push_back(std::make_unique<scripted::component>(s));
    eng::engine e(std::move(setup));
    auto const id = e.add_handler([](void*, eng::engine&, eng::incoming&) {}, nullptr);
    try {
        e.send_small(3, id, {});
        ADD_FAILURE() << "rank 3 is not reached";
    } catch (towline::peer_error const& x) {
        EXPECT_EQ(x.rank(), 3);
        EXPECT_NE(std::string(x.what()).find("three is far away"), std::string::npos);
    }
}

// What found no room goes first, whatever comes after it.
TEST(engine_order, nothing_overtakes_the_queue)
{
    scripted::script s;
    eng::setup setup;
    setup.size = 2;
    setup.transports.push_back(std::make_unique<scripted::component>(s));
    eng::engine e(std::move(setup));
    struct context {
        scripted::script& s;
        eng::handler_id answer = 0;
    } c{s};
    auto const go = e.add_handler(
        [](void* p, eng::engine& self, eng::incoming&) {
            auto& x = *static_cast<context*>(p);
            x.s.busy = true;
            for (std::uint64_t i = 0; i < 10; ++i)
                self.send_small(1, x.answer, std::as_bytes(std::span(&i, 1)));
            x.s.busy = false;
            for (std::uint64_t i = 10; i < 20; ++i)
                self.send_small(1, x.answer, std::as_bytes(std::span(&i, 1)));
        },
        &c);
    c.answer = e.add_handler([](void*, eng::engine&, eng::incoming&) {}, nullptr);
    s.arrive(1, wire::first_direct + go, {});
    e.progress();
    std::uint64_t const last = 20;
    e.send_small(1, c.answer, std::as_bytes(std::span(&last, 1)));
    EXPECT_TRUE(e.drain(std::chrono::seconds{10}));
    ASSERT_EQ(s.sent.size(), 21U);
    for (std::uint64_t i = 0; i < 21; ++i)
        EXPECT_EQ(s.sent[i].bytes, bytes(i));
}

} // namespace
