#include <towline/async.hpp>
#include <towline/world.hpp>

static int same_name(int x) { return x + 2; }

int call_second(towline::world& w)
{
    return towline::async<&same_name>(w.here(), 1).get();
}
