// A stranger's program: knows the installed headers and libraries, nothing else.
#include <towline/towline.hpp>

#include <cstdio>
#include <vector>

long sum(std::vector<long> const& values)
{
    long s = 0;
    for (long v : values)
        s += v;
    return s;
}

int main(int argc, char** argv)
{
    towline::world w(argc, argv);
    auto s = towline::async<&sum>(w.next(), std::vector<long>{1, 2, 39}).get();
    if (w.rank() == 0)
        std::printf("consumer: %ld on %d ranks\n", s, w.size());
    return s == 42 ? 0 : 1;
}
