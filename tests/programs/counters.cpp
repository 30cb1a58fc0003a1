// Hands a block over, has another copied and a value sent; then each rank prints its counters: "RANK NAME VALUE".
#include "job/counters.hpp"

#include <towline/towline.hpp>

#include <cstdio>
#include <utility>
#include <vector>

static double last(towline::rma_vector<double> v) { return v[v.size() - 1]; }
static double sum(std::vector<double> const& v) { return v.front() + v.back(); }

int main(int argc, char** argv)
{
    towline::world w(argc, argv);
    towline::statistics const begin = towline::stats();
    double got = 0;
    for (int i = 0; i < 3; ++i)
        got += towline::async<&last>(w.next(), towline::rma_vector<double>(1 << 17, 1.0)).get();
    std::vector<double> const v(1 << 16, 2.0);
    got += towline::async<&sum>(w.next(), v).get();
    w.barrier();
    towline::statistics const now = towline::stats();
    towline::statistics const since = now.since(begin);
    if (got != 7.0 || since.calls_sent != 4 || since.calls_sent + begin.calls_sent != now.calls_sent)
        return 1;
#define PRINT(name, unit, meaning) std::printf("%d %s %llu\n", w.rank(), #name, static_cast<unsigned long long>(now.name));
    TOWLINE_COUNTERS(PRINT)
#undef PRINT
}
