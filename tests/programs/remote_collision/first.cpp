// Two static functions of one name in two source files: the world refuses to start and names them.
#include <towline/async.hpp>
#include <towline/world.hpp>

int call_second(towline::world&);
static int same_name(int x) { return x + 1; }

int main(int argc, char** argv)
{
    towline::world w(argc, argv);
    return towline::async<&same_name>(w.here(), 1).get() + call_second(w);
}
