// Engine messages: what the layer under remote calls takes, two ranks under `towline run -n 2 --bind core`.
//
//   message  one way: half of the time until a handler at the other rank has answered with a message of the same size
//   rate     per message of a one-way stream

#include "harness.hpp"

#include "engine/process_engine.hpp"
#include "job/job.hpp"

#include <array>
#include <cstring>

namespace {

namespace engine = towline::engine;
namespace job = towline::job;

struct counts {
    std::uint64_t echoes = 0, streamed = 0, total = 0, confirmed = 0;
    bool stop = false;
};
enum : engine::handler_id { echo, echoed, stream, confirm, confirmed, stop };

std::uint64_t first_word(engine::incoming& m)
{
    std::uint64_t w = 0;
    std::memcpy(&w, m.head().data(), sizeof w);
    return w;
}

} // namespace

int main(int argc, char** argv)
{
    bench::program program(argc, argv, "message", "Engine messages between two ranks; run it with `towline run -n 2 --bind core`.");
    auto& job = job::membership::instance();
    if (job.size() != 2) {
        std::fprintf(stderr, "message: needs two ranks: towline run -n 2 --bind core %s\n", argv[0]);
        return 2;
    }
    counts c;
    auto const owner = engine::process_engine();
    engine::engine& e = *owner;
    e.add_handler([](void*, engine::engine& me, engine::incoming& m) { me.send_small(m.source(), echoed, m.head()); }, nullptr);
    e.add_handler([](void* p, engine::engine&, engine::incoming& m) { static_cast<counts*>(p)->echoes = first_word(m); }, &c);
    e.add_handler([](void* p, engine::engine&, engine::incoming& m) {
        ++static_cast<counts*>(p)->streamed;
        static_cast<counts*>(p)->total += first_word(m);
    }, &c);
    e.add_handler([](void* p, engine::engine& me, engine::incoming& m) {
        me.send_small(m.source(), confirmed, std::as_bytes(std::span(&static_cast<counts*>(p)->total, 1)));
    }, &c);
    e.add_handler([](void* p, engine::engine&, engine::incoming& m) { static_cast<counts*>(p)->confirmed = first_word(m); }, &c);
    e.add_handler([](void* p, engine::engine&, engine::incoming&) { static_cast<counts*>(p)->stop = true; }, &c);
    job.fence();

    int result = 0;
    if (job.rank() == 1)
        e.wait([&] { return c.stop; }, "the end of the benchmark");
    else {
        std::array<std::uint64_t, 4> payload{};
        for (std::size_t const size : {8, 16, 32})
            program.add({.name = "message", .size = size, .subject = "towline"}, [&, size](bench::sampler& b) {
                std::span const head = std::as_bytes(std::span(payload)).first(size);
                b.timed([&] {
                    auto const begin = bench::clock::now();
                    for (int i = 0; i < 200; ++i) {
                        ++payload[0];
                        e.send_small(1, echo, head);
                        e.wait([&] { return c.echoes == payload[0]; }, "an echo");
                    }
                    return static_cast<double>(std::chrono::nanoseconds(bench::clock::now() - begin).count()) / 400;
                });
                b.check(c.echoes == payload[0], "the echo is not what was sent");
            });
        std::uint64_t sent = 0;
        program.add({.name = "rate", .size = 8, .subject = "towline"}, [&](bench::sampler& b) {
            b.timed([&] {
                constexpr int burst = 10000;
                auto const begin = bench::clock::now();
                for (int i = 0; i < burst; ++i) {
                    ++sent;
                    e.send_small(1, stream, std::as_bytes(std::span(&sent, 1)));
                }
                e.send_small(1, confirm, std::as_bytes(std::span(&sent, 1)));
                e.wait([&] { return c.confirmed == sent * (sent + 1) / 2; }, "the end of the stream");
                return static_cast<double>(std::chrono::nanoseconds(bench::clock::now() - begin).count()) / burst;
            });
        });
        result = program.run();
        e.send_small(1, stop, {});
    }
    e.drain(std::chrono::seconds(10));
    job.fence();
    return result;
}
