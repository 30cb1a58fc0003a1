// Operations of a team of two: `towline run -n 2 --bind core`. Rank 0 says what is measured; both do it, back to back.

#include "harness.hpp"

#include <towline/team.hpp>
#include <towline/world.hpp>

#include <algorithm>
#include <cstdio>
#include <span>

namespace {

enum class operation : std::uint64_t { end, barrier, broadcast, all_gather, all_to_all, all_reduce };
struct order {
    operation what = operation::end;
    std::uint64_t doubles = 0;  ///< of a rank
    std::uint64_t times = 0;
};

struct member {
    towline::team& t;
    std::vector<double> from = std::vector<double>(std::size_t{1} << 18, 1.0), to = std::vector<double>(std::size_t{1} << 18);

    void follow(order const& o)
    {
        std::span const in = std::span(from).first(o.doubles), out = std::span(to).first(o.doubles);
        std::span const wide_in = std::span(from).first(2 * o.doubles), wide_out = std::span(to).first(2 * o.doubles);
        for (std::uint64_t i = 0; i < o.times; ++i) {
            switch (o.what) {
            case operation::barrier: t.barrier(); break;
            case operation::broadcast: t.broadcast(out); break;
            case operation::all_gather: t.all_gather(in, wide_out); break;
            case operation::all_to_all: t.all_to_all(wide_in, wide_out); break;
            case operation::all_reduce: t.all_reduce(in, out); break;
            case operation::end: return;
            }
        }
    }
};

} // namespace

int main(int argc, char** argv)
{
    bench::program program(argc, argv, "team", "Operations of two ranks; run it with `towline run -n 2 --bind core`.");
    towline::world w(argc, argv);
    if (w.size() != 2) {
        std::fprintf(stderr, "team: needs two ranks: towline run -n 2 --bind core %s\n", argv[0]);
        return 2;
    }
    towline::team t(w);
    member m{t};
    if (w.rank() == 1) {
        for (order o = t.broadcast(order{}); o.what != operation::end; o = t.broadcast(order{}))
            m.follow(o);
        return 0;
    }
    auto const offer = [&](char const* name, operation what, std::uint64_t bytes) {
        program.add({.name = name, .size = bytes, .subject = "towline"}, [&, what, bytes](bench::sampler& s) {
            order const o{what, bytes / sizeof(double), std::clamp<std::uint64_t>((1 << 21) / (bytes + 1), 4, 400)};
            s.timed([&] {
                static_cast<void>(t.broadcast(o));
                auto const begin = bench::clock::now();
                m.follow(o);
                return static_cast<double>(std::chrono::nanoseconds(bench::clock::now() - begin).count()) / static_cast<double>(o.times);
            });
            s.check(what != operation::all_reduce || m.to[0] == 2, "the sum of all ranks is not what they gave");
        });
    };
    offer("barrier", operation::barrier, 0);
    for (std::uint64_t const bytes : {8u, 4096u, 65536u, 1048576u}) {
        offer("broadcast", operation::broadcast, bytes);
        offer("all_gather", operation::all_gather, bytes);
        offer("all_to_all", operation::all_to_all, bytes);
        offer("all_reduce", operation::all_reduce, bytes);
    }
    int const result = program.run();
    static_cast<void>(t.broadcast(order{}));
    return result;
}
