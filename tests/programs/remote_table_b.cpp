#include "remote_tables.hpp"

static int only_in_b(int x) { return x; }

int main(int argc, char** argv)
{
    return run<&only_in_b>(argc, argv, "only_in_b");
}
