// Remote calls of 8 bytes in and 8 bytes out, two ranks under `towline run -n 2 --bind core`.
//
//   null_call      round trip
//   outstanding64  per call, 64 begun before the first answer is awaited
//
// small: the function is marked as small and runs where the message arrives; pool: it is not, and runs on a worker.

#include "harness.hpp"

#include <towline/towline.hpp>

#include <cstdio>

namespace {

std::uint64_t next_small(std::uint64_t x)
{
    return x + 1;
}
std::uint64_t next_pooled(std::uint64_t x)
{
    return x + 1;
}

template <auto Function>
void offer(bench::program& program, towline::locality peer, std::string const& variant)
{
    program.add({.name = "null_call", .size = 8, .subject = "towline", .variant = variant}, [=](bench::sampler& b) {
        std::uint64_t value = 0, calls = 0;
        b.batch(200, [&] {
            value = towline::async<Function>(peer, value).get();
            ++calls;
        });
        b.check(value == calls, "calls were lost or run twice");
    });
    program.add({.name = "outstanding64", .size = 8, .subject = "towline", .variant = variant}, [=](bench::sampler& b) {
        bool good = true;
        b.timed([&] {
            std::vector<towline::future<std::uint64_t>> answers(64);
            auto const begin = bench::clock::now();
            for (int round = 0; round < 10; ++round) {
                for (std::uint64_t i = 0; i < 64; ++i)
                    answers[i] = towline::async<Function>(peer, i);
                for (std::uint64_t i = 0; i < 64; ++i)
                    good = answers[i].get() == i + 1 && good;
            }
            return static_cast<double>(std::chrono::nanoseconds(bench::clock::now() - begin).count()) / 640;
        });
        b.check(good, "an answer belongs to another call");
    });
}

} // namespace

template <>
inline constexpr bool towline::small<&next_small> = true;

int main(int argc, char** argv)
{
    bench::program program(argc, argv, "call", "Remote calls between two ranks; run it with `towline run -n 2 --bind core`.");
    towline::world w(argc, argv);
    if (w.size() != 2) {
        std::fprintf(stderr, "call: needs two ranks: towline run -n 2 --bind core %s\n", argv[0]);
        return 2;
    }
    if (w.rank() != 0)
        return 0;  // the world answers until everybody is at its end
    offer<&next_small>(program, w.next(), "small");
    offer<&next_pooled>(program, w.next(), "pool");
    return program.run();
}
