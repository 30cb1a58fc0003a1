/* What the tests of communicators share. */
#include "check.h"

#include <stdint.h>
#include <string.h>

static inline int class_of(int code)
{
    int c = -1;
    MPI_Error_class(code, &c);
    return c;
}

static inline int rank_in(MPI_Comm c)
{
    int r = -1;
    CHECK(MPI_Comm_rank(c, &r) == MPI_SUCCESS);
    return r;
}

static inline int size_of(MPI_Comm c)
{
    int n = -1;
    CHECK(MPI_Comm_size(c, &n) == MPI_SUCCESS);
    return n;
}

/* Every rank of an intracommunicator sends its number in the world around the ring; all see all. Returns the sum. */
static inline int ring(MPI_Comm c)
{
    int const n = size_of(c), me = rank_in(c);
    int sum = 0, carried = rank;
    for (int i = 0; i < n; ++i) {
        sum += carried;
        MPI_Status s;
        CHECK(MPI_Sendrecv_replace(&carried, 1, MPI_INT, (me + 1) % n, 5, (me + n - 1) % n, 5, c, &s) == MPI_SUCCESS);
        CHECK(s.MPI_SOURCE == (me + n - 1) % n);
    }
    CHECK(carried == rank);
    return sum;
}

static inline int sum_of_all(void) { return size * (size - 1) / 2; }

static inline void compares(MPI_Comm a, MPI_Comm b, int wanted)
{
    int result = -1;
    CHECK(MPI_Comm_compare(a, b, &result) == MPI_SUCCESS);
    CHECK(result == wanted);
}

struct scenario {
    const char* name;
    void (*run)(void);
};

/* Runs the one that is named, with threads where there is another argument. */
static inline int run_scenario(int argc, char** argv, const struct scenario* scenarios, size_t n)
{
    int provided;
    if (argc > 2)
        MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    else
        MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; argc > 1 && i < n; ++i)
        if (strcmp(argv[1], scenarios[i].name) == 0) {
            scenarios[i].run();
            MPI_Finalize();
            return 0;
        }
    fprintf(stderr, "usage: %s SCENARIO [multiple]\n", argv[0]);
    return 2;
}
