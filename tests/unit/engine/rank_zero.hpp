#pragma once
// An engine whose peer is played by the test, with memory that both have.

#include "engine/wire.hpp"
#include "heap/heap.hpp"
#include "job/control.hpp"
#include "unit/engine/scripted.hpp"
#include "unit/heap/ranks.hpp"

#include <algorithm>
#include <cstring>

namespace scripted {

namespace eng = towline::engine;
namespace heap = towline::heap;
namespace wire = towline::engine::wire;
using towline::job::counter;

/// Rank 0, whose peer 1 is played by the test, in a process that is a job of one: both are in its arena.
struct rank_zero {
    scripted::script script;
    std::array<std::atomic<std::uint64_t>, 32> counters{};
    std::atomic<std::uint32_t> deaths{0};
    std::atomic<bool> one_is_dead{false};
    std::unique_ptr<eng::engine> engine;
    eng::handler_id id = 0;
    void* into = nullptr;
    int ended = 0;
    bool ok = false;

    explicit rank_zero(bool shared_arena = true, std::function<void(eng::setup&)> const& change = nullptr)
    {
        eng::setup s;
        s.rank = 0;
        s.size = 3;
        s.transports.push_back(std::make_unique<scripted::component>(script));
        s.counters = counters;
        s.deaths = &deaths;
        s.is_dead = [](void* c, peer p) { return p == 1 && static_cast<rank_zero*>(c)->one_is_dead; };
        s.context = this;
        s.shared_arena = shared_arena;
        s.cross_memory_attach = true;
        s.sizes.cooperate = 32768;
        s.sizes.take_alone = 1;  // what lies in a cache is copied together, too: where it lies is the machine's affair
        if (change)
            change(s);
        engine = std::make_unique<eng::engine>(std::move(s));
        id = engine->add_handler(
            [](void* context, eng::engine&, eng::incoming& m) {
                auto& self = *static_cast<rank_zero*>(context);
                m.fetch(0, self.into);
                eng::incoming::when_ready(
                    std::move(m),
                    [](void* c, bool fetched, eng::incoming&) {
                        ++static_cast<rank_zero*>(c)->ended;
                        static_cast<rank_zero*>(c)->ok = fetched;
                    },
                    &self);
            },
            this);
    }
    [[nodiscard]] std::uint64_t count(counter c) const { return counters[static_cast<std::size_t>(c)].load(); }
    [[nodiscard]] std::size_t sent(unsigned kind) const
    {
        return static_cast<std::size_t>(std::count_if(script.sent.begin(), script.sent.end(), [&](auto const& m) { return m.id == kind; }));
    }
    /// A message of peer 1 that lends a block of the heap.
    void lend(void* block, std::size_t size)
    {
        script.arrive(1, wire::message,
                      bytes(wire::message_header{0, id, 1, 77 << wire::flag_bits | wire::wants_released},
                            wire::descriptor::make(wire::how::mapped, size, heap::find_packed(block, size))));
    }
    /// The same with memory outside the heap.
    void lend_plain(void const* block, std::size_t size)
    {
        script.arrive(1, wire::message,
                      bytes(wire::message_header{0, id, 1, 77 << wire::flag_bits | wire::wants_released},
                            wire::descriptor::make(wire::how::attached, size, reinterpret_cast<std::uintptr_t>(block))));
    }
    void settle()
    {
        for (int i = 0; i < 600; ++i)  // long enough to look for deaths
            engine->progress();
    }
};

struct big_pair {
    static constexpr std::size_t size = 500000;
    std::byte* from = static_cast<std::byte*>(heap::allocate(size));
    std::byte* to = static_cast<std::byte*>(heap::allocate(size));
    big_pair()
    {
        for (std::size_t i = 0; i < size; ++i)
            from[i] = static_cast<std::byte>(i * 7 + i / 4096);
        std::memset(to, 0, size);
    }
    [[nodiscard]] bool same() const { return std::memcmp(from, to, size) == 0; }
};

inline void in_a_job(std::function<void()> const& body)
{
    EXPECT_EQ(ranks::status_of(ranks::spawn(body)), 0);
}

} // namespace scripted
