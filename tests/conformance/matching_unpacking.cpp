// Long unpacking does not keep other threads from making progress: it runs while nobody holds the polling token for it.
#include "conformance/matching_worlds.hpp"

#include "heap/heap.hpp"
#include "layout/copy_plan.hpp"
#include "matching/laid.hpp"
#include "matching/thresholds.hpp"

#include <atomic>
#include <span>
#include <thread>

namespace {

using namespace matching_worlds;
namespace layout = towline::layout;
namespace thresholds = match::thresholds;

class matching_unpacking : public every_matching {};
EVERY_FABRIC(matching_unpacking);

/// Unpacks as slowly as another thread is: until that has sent a message and received the answer.
struct slow_sink {
    std::vector<std::byte> seen;
    std::atomic<bool> begun{false}, answered{false}, in_time{false};

    [[nodiscard]] match::sink sink(std::uint64_t room)
    {
        return {this, room, [](void* self, std::span<std::byte const> bytes) {
                    auto& s = *static_cast<slow_sink*>(self);
                    s.begun = true;
                    auto const give_up = std::chrono::steady_clock::now() + 60s;
                    while (!s.answered && std::chrono::steady_clock::now() < give_up)
                        std::this_thread::sleep_for(100us);
                    s.in_time = s.answered.load();
                    s.seen.assign(bytes.begin(), bytes.end());
                    return true;
                }};
    }
};

enum class data { heap, plain, gaps };

/// Every second of 2 n bytes.
[[nodiscard]] layout::datatype every_second(std::size_t n)
{
    return layout::vector(static_cast<std::int64_t>(n), 1, 2, layout::datatype::of(layout::kind::byte));
}

void send_and_answer(player& p, data what, std::size_t n, bool early)
{
    bool const in_heap = what != data::plain;
    std::size_t const all = what == data::gaps ? 2 * n : n;
    std::vector<std::byte> plain(in_heap ? 0 : all);
    auto* const memory = in_heap ? static_cast<std::byte*>(towline::heap::allocate(all)) : plain.data();
    fill(memory, all, 7);
    if (!early)
        p.world.barrier();
    match::request s;
    auto const type = every_second(n);
    auto const shown = match::shown_layout::make(type, 1);
    bool const laid = what == data::gaps && shown != nullptr &&
                      p.m.start_send_laid(s, 1, p.letter(1), {&type, 1, memory, n, shown.get()});
    if (what == data::gaps && !laid) {
        std::vector<std::byte> packed(n);
        for (std::size_t i = 0; i < n; ++i)
            packed[i] = memory[2 * i];
        p.m.start_send(s, 1, p.letter(1), packed.data(), n);
        if (early)
            p.world.barrier();
        p.m.wait(s);
    } else {
        if (!laid)
            p.m.start_send(s, 1, p.letter(1), memory, n);
        if (early)
            p.world.barrier();
    }
    (void)p.receive(1, 2, 8, 8);
    p.send(1, 3, bytes(8, 9));
    p.m.wait(s);
    if (in_heap)
        towline::heap::deallocate(memory);
}

void receive_slowly(player& p, data what, std::size_t n, bool early)
{
    slow_sink slow;
    match::request r;
    if (early)
        p.world.barrier();
    std::thread other([&] {
        while (!slow.begun)
            std::this_thread::yield();
        p.send(0, 2, bytes(8, 8));
        (void)p.receive(0, 3, 8, 9);
        slow.answered = true;
    });
    p.m.start_receive(r, player::from(0, 1), 0, slow.sink(n));
    if (!early)
        p.world.barrier();
    p.m.wait(r);
    other.join();
    require(slow.in_time, "another thread exchanged messages while a long one was unpacked");
    player::check(r.result(), n);
    std::vector<std::byte> expected(what == data::gaps ? 2 * n : n);
    fill(expected.data(), expected.size(), 7);
    for (std::size_t i = 0; i < n; ++i)
        require(slow.seen[i] == expected[what == data::gaps ? 2 * i : i], "content");
}

// Whatever way the bytes take to where they are unpacked from.
TEST_P(matching_unpacking, other_threads_make_progress_meanwhile)
{
    for (match::send_way const way : {match::send_way::direct, match::send_way::relay}) {
        match::options mo;
        mo.way = way;
        run_matching(
            2,
            [](player& p) {
                // How a peer is reached is known since the first message.
                if (p.world.rank == 0)
                    p.send(1, 99, bytes(8, 1));
                else
                    (void)p.receive(0, 99, 8, 1);
                for (data const what : {data::heap, data::plain, data::gaps}) {
                    for (std::size_t const n : {std::size_t{thresholds::long_unpacking}, std::size_t{300'000}}) {
                        SCOPED_TRACE("size " + std::to_string(n) + ", data " + std::to_string(static_cast<int>(what)));
                        for (bool const early : {false, true}) {
                            if (p.world.rank == 0)
                                send_and_answer(p, what, n, early);
                            else
                                receive_slowly(p, what, n, early);
                            p.world.barrier();
                        }
                    }
                }
            },
            mo);
    }
}

} // namespace
