// Start, barrier, CALLS calls each around the ring, one after the other. crowd CALLS

#include <towline/async.hpp>
#include <towline/world.hpp>

#include <cstdio>
#include <cstdlib>

namespace {

int add(int a, int b)
{
    return a + b;
}

} // namespace

int main(int argc, char** argv)
{
    int const calls = argc > 1 ? std::atoi(argv[1]) : 1000;
    towline::world w(argc, argv);
    w.barrier();
    int right = 0;
    for (int i = 0; i < calls; ++i)
        right += towline::async<&add>(w.at((w.rank() + 1 + i % w.size()) % w.size()), i, w.rank()).get() == i + w.rank();
    w.barrier();
    std::printf("%d of %d\n", right, calls);
    return right == calls ? 0 : 1;
}
