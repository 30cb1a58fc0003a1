// Matched messages beside the engine messages that they are made of, two ranks under `towline run -n 2 --bind core`.
//
//   matching         one way: half of the time until the other rank has received a message and sent one of the same size back.
//                    Variants: engine (no matching, a handler answers), program (no matching, the program waits and answers), one_thread
//                    (no locks), threads, and 256_ahead: with receives posted ahead of the one that matches
//   matching_early   per message that came before its receive, of a stream of 256: sent, kept, received
//   matching_rate    per message of a window of 64 receives posted ahead

#include "harness.hpp"

#include "engine/process_engine.hpp"
#include "job/job.hpp"
#include "matching/matcher.hpp"

#include <array>
#include <cstring>
#include <deque>
#include <vector>

namespace {

namespace engine = towline::engine;
namespace job = towline::job;
namespace match = towline::matching;

constexpr std::int32_t plain = 1;
constexpr std::size_t most_bytes = 65536;
constexpr int window = 64;
constexpr int early = 256;

/// What a message asks the other rank to do; its first word.
enum command : std::uint64_t { echo = 0, post_ahead, cancel_ahead, use_threads, use_one_thread, take_window, take_early, answer_bare, stop };

struct side {
    engine::engine& e;
    match::matcher one;
    match::matcher many;
    match::matcher* m = &one;
    engine::peer other;
    engine::handler_id bare_id = 0;
    std::uint64_t bare = 0;  ///< the last engine message; its end is ~0
    std::deque<match::request> ahead;
    std::array<match::request, window> slots;
    std::vector<std::array<std::uint64_t, window>> rooms = std::vector<std::array<std::uint64_t, window>>(1);
    std::vector<std::uint64_t> buffer = std::vector<std::uint64_t>(most_bytes / 8);

    explicit side(engine::engine& on)
        : e(on), one(on, {.threaded = false}), many(on, {.threaded = true, .take_on_death = false}), other(1 - on.rank())
    {
    }
    [[nodiscard]] match::envelope letter(std::int32_t tag = plain) const { return {1, static_cast<std::int32_t>(e.rank()), tag}; }
    [[nodiscard]] match::pattern ask(std::int32_t tag = plain) const { return {1, static_cast<std::int32_t>(other), tag}; }
    void send(std::size_t bytes) { m->send(other, letter(), buffer.data(), bytes); }
    std::size_t receive() { return m->receive(ask(), other, {buffer.data(), most_bytes}).bytes; }
    void tell(command c)
    {
        buffer[0] = c;
        send(8);
    }
    void post_some(std::size_t n)
    {
        for (std::size_t i = 0; i < n; ++i)
            m->start_receive(ahead.emplace_back(), ask(1000 + static_cast<std::int32_t>(i)), other, {&rooms[0][0], 8});
    }
    void cancel_all()
    {
        for (auto& r : ahead)
            m->cancel(r);
        ahead.clear();
    }
    void receive_window()
    {
        for (int i = 0; i < window; ++i)
            m->start_receive(slots[static_cast<std::size_t>(i)], ask(2), other, {&rooms[0][static_cast<std::size_t>(i)], 8});
    }
    void serve()
    {
        for (;;) {
            std::size_t const n = receive();
            switch (buffer[0]) {
            case echo: send(n); break;
            case post_ahead: post_some(256); break;
            case cancel_ahead: cancel_all(); break;
            case use_threads: m = &many; break;
            case use_one_thread: m = &one; break;
            case take_window:
                receive_window();
                send(8);
                for (auto& r : slots)
                    m->wait(r);
                send(8);
                break;
            case take_early:
                for (int i = 0; i < early; ++i)
                    m->receive(ask(3), other, {buffer.data(), most_bytes});
                send(8);
                break;
            case answer_bare:
                for (std::uint64_t number = 0; number + 1 != 0;) {
                    e.wait([&] { return bare != number; }, "an engine message");
                    number = bare;
                    e.send_small(other, bare_id, std::as_bytes(std::span(&number, 1)));
                }
                bare = 0;
                break;
            default: return;
            }
        }
    }
};

double ns_since(bench::clock::time_point begin, int operations)
{
    return static_cast<double>(std::chrono::nanoseconds(bench::clock::now() - begin).count()) / operations;
}

} // namespace

int main(int argc, char** argv)
{
    bench::program program(argc, argv, "matching", "Matched messages between two ranks; run it with `towline run -n 2 --bind core`.");
    auto& job = job::membership::instance();
    if (job.size() != 2) {
        std::fprintf(stderr, "matching: needs two ranks: towline run -n 2 --bind core %s\n", argv[0]);
        return 2;
    }
    auto const owner = engine::process_engine(false);
    engine::engine& e = *owner;
    std::uint64_t echoes = 0;
    auto const echo_id = e.add_handler([](void*, engine::engine& me, engine::incoming& m) {
        me.send_small(m.source(), 1, m.head());
    }, nullptr);
    e.add_handler([](void* p, engine::engine&, engine::incoming& m) { std::memcpy(p, m.head().data(), sizeof(std::uint64_t)); }, &echoes);
    side s(e);
    s.bare_id = e.add_handler([](void* p, engine::engine&, engine::incoming& m) { std::memcpy(p, m.head().data(), sizeof(std::uint64_t)); },
                              &s.bare);
    job.fence();

    int result = 0;
    if (job.rank() == 1) {
        s.serve();
    } else {
        constexpr int laps = 200;
        auto const ping_pong = [&s](bench::sampler& b, std::size_t size) {
            b.timed([&] {
                auto const begin = bench::clock::now();
                for (int i = 0; i < laps; ++i) {
                    s.buffer[0] = echo;
                    s.send(size);
                    s.receive();
                }
                return ns_since(begin, 2 * laps);
            });
        };
        program.add({.name = "matching", .size = 8, .subject = "towline", .variant = "engine"}, [&](bench::sampler& b) {
            std::uint64_t number = echoes;
            b.timed([&] {
                auto const begin = bench::clock::now();
                for (int i = 0; i < laps; ++i) {
                    ++number;
                    e.send_small(1, echo_id, std::as_bytes(std::span(&number, 1)));
                    e.wait([&] { return echoes == number; }, "an echo");
                }
                return ns_since(begin, 2 * laps);
            });
        });
        program.add({.name = "matching", .size = 8, .subject = "towline", .variant = "program"}, [&](bench::sampler& b) {
            s.tell(answer_bare);
            std::uint64_t number = 0;
            auto const lap = [&] {
                e.send_small(1, s.bare_id, std::as_bytes(std::span(&number, 1)));
                e.wait([&] { return s.bare == number; }, "an answer");
            };
            b.timed([&] {
                auto const begin = bench::clock::now();
                for (int i = 0; i < laps; ++i) {
                    ++number;
                    lap();
                }
                return ns_since(begin, 2 * laps);
            });
            number = ~std::uint64_t{0};
            lap();
            s.bare = 0;
        });
        for (std::size_t const size : {8, 64, 1024, 4096, 8192, 65536})
            program.add({.name = "matching", .size = size, .subject = "towline", .variant = "one_thread"},
                        [&, size](bench::sampler& b) { ping_pong(b, size); });
        program.add({.name = "matching", .size = 8, .subject = "towline", .variant = "threads"}, [&](bench::sampler& b) {
            s.tell(use_threads);
            s.m = &s.many;
            ping_pong(b, 8);
            s.tell(use_one_thread);
            s.m = &s.one;
        });
        program.add({.name = "matching", .size = 8, .subject = "towline", .variant = "256_ahead"}, [&](bench::sampler& b) {
            s.tell(post_ahead);
            s.post_some(256);
            ping_pong(b, 8);
            s.tell(cancel_ahead);
            s.cancel_all();
        });
        program.add({.name = "matching_early", .size = 8, .subject = "towline"}, [&](bench::sampler& b) {
            b.timed([&] {
                auto const begin = bench::clock::now();
                // What goes first is what makes the other rank look at the stream, so that all of it is early.
                for (int i = 0; i < early; ++i)
                    s.m->send(1, s.letter(3), s.buffer.data(), 8);
                s.tell(take_early);
                s.receive();
                return ns_since(begin, early);
            });
        });
        program.add({.name = "matching_rate", .size = 8, .subject = "towline"}, [&](bench::sampler& b) {
            b.timed([&] {
                s.tell(take_window);
                s.receive();
                auto const begin = bench::clock::now();
                for (int i = 0; i < window; ++i)
                    s.m->send(1, s.letter(2), s.buffer.data(), 8);
                s.receive();
                return ns_since(begin, window);
            });
        });
        result = program.run();
        s.tell(stop);
    }
    s.one.drain(std::chrono::seconds(10));
    job.fence();
    e.close();
    return result;
}
