// Hand-over of a moved rma_vector to the other rank and back, two ranks under `towline run -n 2 --bind core`.
//
//   handover   round trip: the vector changes owner twice
//              small: the function is marked as small and runs where the message arrives; pool: it is not, and runs on a worker
//   null_call  a call of 8 bytes in the same run, to compare with (as in call.cpp)
//
// untouched: nobody looks at the data. rewritten: the caller writes every word before (not timed), the callee reads every word (timed).

#include "harness.hpp"
#include "harness/data.hpp"

#include <towline/towline.hpp>

#include <cstdio>

namespace {

using bench::word;
using field = towline::rma_vector<word>;

struct answer {
    word sum = 0;
    field back;
};

answer bounce(field f, bool read)
{
    word const sum = read ? bench::sum({f.data(), f.size()}) : f.size();
    return {sum, std::move(f)};
}
answer bounce_small(field f, bool read)
{
    return bounce(std::move(f), read);
}
word next_small(word x)
{
    return x + 1;
}
word next_pooled(word x)
{
    return x + 1;
}

template <auto Function>
void handover(bench::sampler& b, towline::locality peer, std::uint64_t size, bool rewritten)
{
    auto const n = bench::words(size);
    static word seed = 0;
    field f(n);
    word sum = 0;
    auto write = [&] { bench::rewrite({f.data(), n}, ++seed); };
    auto once = [&](bool read) {
        auto a = towline::async<Function>(peer, std::move(f), read).get();
        f = std::move(a.back);
        sum = a.sum;
    };
    bool good = true;
    write();
    if (rewritten)
        b.each(bench::repeats(size), write, [&] { once(true); good = good && sum == bench::expected(n, seed); });
    else
        b.batch(50, [&] { once(false); good = good && sum == n; });
    once(true);
    b.check(good && sum == bench::expected(n, seed) && bench::sum({f.data(), n}) == sum, "the data did not arrive as they were sent");
}

template <auto Function>
void null_call(bench::program& program, towline::locality peer, std::string const& variant)
{
    program.add({.name = "null_call", .size = 8, .subject = "towline", .variant = variant}, [=](bench::sampler& b) {
        word value = 0, calls = 0;
        b.batch(200, [&] { value = towline::async<Function>(peer, value).get(); ++calls; });
        b.check(value == calls, "calls were lost or run twice");
    });
}

} // namespace

template <>
inline constexpr bool towline::small<&next_small> = true;
template <>
inline constexpr bool towline::small<&bounce_small> = true;

int main(int argc, char** argv)
{
    bench::program program(argc, argv, "handover", "A moved rma_vector there and back; run it with `towline run -n 2 --bind core`.");
    towline::world w(argc, argv);
    if (w.size() != 2) {
        std::fprintf(stderr, "handover: needs two ranks: towline run -n 2 --bind core %s\n", argv[0]);
        return 2;
    }
    if (w.rank() != 0)
        return 0;
    auto const peer = w.next();
    for (auto const size : bench::handover_sizes)
        for (std::string const mode : bench::modes)
            for (auto const& [variant, run] : {std::pair("small", &handover<&bounce_small>), std::pair("pool", &handover<&bounce>)})
                program.add({.name = "handover", .size = size, .mode = mode, .subject = "towline", .variant = variant},
                            [=](bench::sampler& b) { run(b, peer, size, mode == "rewritten"); });
    null_call<&next_small>(program, peer, "small");
    null_call<&next_pooled>(program, peer, "pool");
    return program.run();
}
