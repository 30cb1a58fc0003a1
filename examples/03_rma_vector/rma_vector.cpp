// A big vector goes to another process and comes back; no byte of it is copied.   towline run -n 2 03_rma_vector
#include <towline/async.hpp>
#include <towline/rma_vector.hpp>
#include <towline/stats.hpp>
#include <towline/world.hpp>

#include <cstdio>

towline::rma_vector<double> scale(towline::rma_vector<double> v, double by)
{
    for (double& x : v)
        x *= by;
    return v;
}

int main(int argc, char** argv)
{
    towline::world w(argc, argv);
    towline::rma_vector<double> v(8'000'000, 1.5);
    double const* const before = v.data();
    v = towline::async<&scale>(w.next(), std::move(v), 2.0).get();
    towline::statistics const s = towline::stats();
    std::printf("rank %d: %zu elements, all %.1f; %s block; handed over %.0f MB, copied %.0f MB\n", w.rank(), v.size(), v[12345],
                v.data() == before ? "the same" : "another", static_cast<double>(s.bytes_handed_over) / 1e6,
                static_cast<double>(s.bytes_copied_once + s.bytes_copied_twice) / 1e6);
}
