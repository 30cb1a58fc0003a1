// Lent plain memory by XPMEM: which way a block takes, what is counted, and what happens where the device refuses. Two engines over
// shared-memory rings, driven by hand; the driver is played.

#include "conformance/plain_memory.hpp"
#include "engine/engine.hpp"
#include "job/control.hpp"
#include "unit/heap/fake_xpmem.hpp"
#include "unit/heap/ranks.hpp"

#include <cstring>
#include <gtest/gtest.h>

namespace eng = towline::engine;
namespace heap = towline::heap;
using towline::job::counter;

namespace {

constexpr std::size_t bytes = 300'000;

struct two_engines {
    fake::world world;
    conformance::plain_memory memory{2};
    std::vector<std::atomic<std::uint64_t>> counts[2];
    std::shared_ptr<heap::xpmem> sees[2];
    std::unique_ptr<eng::engine> of[2];
    std::atomic<std::uint32_t> deaths{0};
    std::vector<std::byte> received = std::vector<std::byte>(bytes);
    int arrived = 0;
    int failed = 0;
    int sent = 0;

    explicit two_engines(bool with_xpmem[2], bool cross_memory)
    {
        for (eng::peer p = 0; p < 2; ++p) {
            counts[p] = std::vector<std::atomic<std::uint64_t>>(32);
            if (with_xpmem[p])
                sees[p] = std::make_shared<heap::xpmem>(std::make_unique<fake::device>(world, p), [this](std::uint32_t peer) {
                    return peer < 2 && sees[peer] ? sees[peer]->segment() : 0;
                });
        }
        for (eng::peer p = 0; p < 2; ++p) {
            eng::setup s;
            s.rank = p;
            s.size = 2;
            s.transports.push_back(conformance::shm::make(memory.of(p)));
            s.event = &memory.event(p);
            s.counters = counts[p];
            s.background = false;
            s.cross_memory_attach = cross_memory;
            s.xpmem = sees[p];
            s.deaths = &deaths;
            s.is_dead = [](void* self, eng::peer) { return static_cast<two_engines*>(self)->deaths != 0; };
            s.context = this;
            of[p] = std::make_unique<eng::engine>(std::move(s));
            of[p]->add_handler(
                [](void* self, eng::engine&, eng::incoming& m) {
                    auto& me = *static_cast<two_engines*>(self);
                    m.fetch(0, me.received.data());
                    eng::incoming::when_ready(
                        std::move(m),
                        [](void* then, bool ok, eng::incoming&) {
                            static_cast<two_engines*>(then)->arrived += 1;
                            static_cast<two_engines*>(then)->failed += ok ? 0 : 1;
                        },
                        self);
                },
                this);
        }
    }

    /// Rank 0 lends a block; true if rank 1 has all of it.
    bool send(std::byte const* data, std::size_t size = bytes)
    {
        std::memset(received.data(), 0, received.size());
        int const before = sent;
        int const arrived_before = arrived;
        eng::block const b{data, size};
        of[0]->send({.to = 1, .blocks = {&b, 1}, .sent = {[](void* self, bool) { static_cast<two_engines*>(self)->sent += 1; }, this}});
        for (int i = 0; i < 1'000'000 && (sent == before || arrived == arrived_before); ++i)
            for (auto const& e : of)
                e->progress();
        return sent == before + 1 && failed == 0 && std::memcmp(received.data(), data, size) == 0;
    }
    std::byte* lend(unsigned char value)
    {
        std::byte* const data = world.allocate(0, bytes);
        for (std::size_t i = 0; i < bytes; ++i)
            data[i] = static_cast<std::byte>(value + i * 7);
        return data;
    }
    [[nodiscard]] std::uint64_t count(counter c)
    {
        for (auto const& e : of)
            e->publish_counts();
        return counts[0][static_cast<std::size_t>(c)] + counts[1][static_cast<std::size_t>(c)];
    }
};

/// In a child, and as a rank: the test program itself joins no job.
void run(bool sender, bool receiver, bool cross_memory, std::function<void(two_engines&)> const& body)
{
    ranks::run_one([&] {
        bool with[2] = {sender, receiver};
        two_engines e(with, cross_memory);
        body(e);
        CHECK_THAT(e.world.wrong == 0);
    });
}

} // namespace

TEST(engine_xpmem, moves_plain_memory_with_one_copy)
{
    for (bool const cross_memory : {false, true})
        run(true, true, cross_memory, [](two_engines& e) {
            std::byte* const data = e.lend(3);
            CHECK_THAT(e.send(data));
            CHECK_THAT(e.send(data + 1000, bytes - 1000));
            data[5] = std::byte{200};
            CHECK_THAT(e.send(data));
            CHECK_THAT(e.count(counter::bytes_xpmem) == 3 * bytes - 1000);
            CHECK_THAT(e.count(counter::bytes_copied_once) == 3 * bytes - 1000);
            CHECK_THAT(e.count(counter::copied_once) == 3);
            CHECK_THAT(e.count(counter::bytes_cma) == 0 && e.count(counter::bytes_copied_twice) == 0);
            CHECK_THAT(e.world.attaches == 1);
        });
}

TEST(engine_xpmem, sees_memory_that_came_again_with_other_pages)
{
    run(true, true, false, [](two_engines& e) {
        std::byte* const data = e.lend(3);
        CHECK_THAT(e.send(data));
        e.world.remap(data);
        std::memset(data, 77, bytes);
        CHECK_THAT(e.send(data));
        CHECK_THAT(e.count(counter::bytes_xpmem) == 2 * bytes);
    });
}

TEST(engine_xpmem, gives_way_where_the_device_refuses)
{
    run(true, true, false, [](two_engines& e) {
        e.world.get_fails = EACCES;
        std::byte* const data = e.lend(4);
        CHECK_THAT(e.send(data));
        CHECK_THAT(e.send(data));
        CHECK_THAT(e.count(counter::bytes_xpmem) == 0 && e.count(counter::bytes_cma) == 0);
        CHECK_THAT(e.count(counter::bytes_copied_twice) == 2 * bytes);
        CHECK_THAT(e.world.gets == 1);
    });
    run(true, true, false, [](two_engines& e) {
        e.world.attach_fails = ENOMEM;
        std::byte* const data = e.lend(4);
        CHECK_THAT(e.send(data));
        CHECK_THAT(e.count(counter::bytes_copied_twice) == bytes);
        e.world.attach_fails = 0;
        CHECK_THAT(e.send(data));
        CHECK_THAT(e.count(counter::bytes_xpmem) == bytes);
    });
}

TEST(engine_xpmem, one_side_alone_is_no_use)
{
    run(true, false, false, [](two_engines& e) {
        CHECK_THAT(e.send(e.lend(5)));
        CHECK_THAT(e.count(counter::bytes_copied_twice) == bytes);
    });
    run(false, true, false, [](two_engines& e) {
        CHECK_THAT(e.send(e.lend(5)));  // the sender does not offer it: staged
        CHECK_THAT(e.count(counter::bytes_xpmem) == 0);
        CHECK_THAT(e.count(counter::bytes_staged) == bytes);
    });
}

TEST(engine_xpmem, cross_memory_attach_is_next)
{
    run(true, true, true, [](two_engines& e) {
        e.world.get_fails = ENOSYS;
        CHECK_THAT(e.send(e.lend(6)));
        // Where a filter refuses that, too, the bytes come in pieces.
        CHECK_THAT(e.count(counter::bytes_cma) + e.count(counter::bytes_copied_twice) == bytes);
        CHECK_THAT(e.count(counter::bytes_xpmem) == 0);
    });
}

TEST(engine_xpmem, detaches_the_memory_of_the_dead)
{
    run(true, true, false, [](two_engines& e) {
        CHECK_THAT(e.send(e.lend(7)));
        CHECK_THAT(e.world.attached() == 1);
        e.of[0].reset();
        e.deaths = 1;
        for (int i = 0; i < 100'000 && e.world.attached() != 0; ++i)
            e.of[1]->progress();
        CHECK_THAT(e.world.attached() == 0);
    });
}
