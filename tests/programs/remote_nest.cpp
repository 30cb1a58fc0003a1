// A chain of nested calls between two ranks: every handler on it waits for the next. Argument: how deep.
#include "remote_check.hpp"

#include <towline/async.hpp>
#include <towline/world.hpp>

static int down(int from, int at, int depth)
{
    return depth == 0 ? 0 : 1 + towline::async<&down>(towline::locality(from), at, from, depth - 1).get();
}

int main(int argc, char** argv)
{
    CHECK(argc == 2);
    int const depth = std::atoi(argv[1]);
    towline::world w(argc, argv);
    if (w.rank() == 0)
        CHECK(towline::async<&down>(w.next(), w.rank(), w.next().rank(), depth).get() == depth);
}
