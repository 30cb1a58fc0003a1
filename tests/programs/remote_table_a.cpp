#include "remote_tables.hpp"

static int only_in_a(int x) { return x; }
static void more() {}

int main(int argc, char** argv)
{
    if (argc > 5)
        towline::post<&more>(towline::locality(0));
    return run<&only_in_a>(argc, argv, "only_in_a");
}
