// Many ranks, for bench.c: more than there are processors. Rank 0 prints
//     memory KIB KIB ...      proportional set size of each rank, when every rank has sent to every other
//     barrier NS NS ...       batches of barriers, nanoseconds each
#ifndef TOWLINE_BENCH_CROWD_H
#define TOWLINE_BENCH_CROWD_H

#include "turn.h"

#include <mpi.h>

static long proportional_kib(void)
{
    char line[256];
    long kib = -1;
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "Pss: %ld kB", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib;
}

/// Of all ranks, which call it together; rank 0 prints.
static void print_memory(int rank, int ranks)
{
    long mine = proportional_kib();
    MPI_Barrier(MPI_COMM_WORLD);  // nobody goes on, and allocates, before all have looked
    if (rank == 0)
        printf("memory %ld", mine);
    for (int r = 1; r < ranks; ++r) {
        if (rank == r)
            MPI_Send(&mine, 1, MPI_LONG, 0, 2, MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Recv(&mine, 1, MPI_LONG, r, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            printf(" %ld", mine);
        }
    }
    if (rank == 0)
        printf("\n");
}

static void crowd(int rank, int ranks, double milliseconds)
{
    enum { bytes = 1024, longs = 4096 };
    static char from[bytes], to[bytes];
    for (int d = 1; d < ranks; ++d) {
        int next = (rank + d) % ranks, last = (rank - d + ranks) % ranks;
        fill(from, bytes, seed(rank, (uint64_t)next));
        MPI_Sendrecv(from, bytes, MPI_BYTE, next, 1, to, bytes, MPI_BYTE, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (differs(to, bytes, seed(last, (uint64_t)rank)))
            give_up("a rank read what was not written");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    print_memory(rank, ranks);
    if (rank == 0)
        printf("barrier");
    double end = now_ns() + milliseconds * 1e6;
    for (int i = 0, more = 1, batch = 1; more && i < longs; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = now_ns();
        for (int k = 0; k < batch; ++k)
            MPI_Barrier(MPI_COMM_WORLD);
        double took = now_ns() - begin;
        if (rank == 0 && i > 0)  // the first warms up
            printf(" %.0f", took / batch);
        int told[2] = {now_ns() < end || i < 3, took < 2e6 && batch < 64 ? 2 * batch : batch};
        MPI_Bcast(told, 2, MPI_INT, 0, MPI_COMM_WORLD);
        more = told[0];
        batch = told[1];
    }
    if (rank == 0)
        printf("\n");
}

#endif
