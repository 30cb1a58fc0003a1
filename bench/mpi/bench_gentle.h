// What is asked of ranks that wait, or that are many, for bench.c. Rank 0 prints
//     stencil NS NS ...       batches of steps of a five-point stencil, nanoseconds a step; the grid is the same for any number of ranks
//     waiting PERCENT         of a processor that a rank uses while it waits a second for a message
#ifndef TOWLINE_BENCH_GENTLE_H
#define TOWLINE_BENCH_GENTLE_H

#include "turn.h"

#include <mpi.h>

enum { grid = 2048, steps_of_batch = 10 };

// One step: rows 1 to `rows` of `to` from those of `from` and their neighbours, after the border rows were exchanged.
static void stencil_step(int rank, int ranks, int rows, double (*from)[grid], double (*to)[grid])
{
    int above = rank > 0 ? rank - 1 : MPI_PROC_NULL, below = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(from[1], grid, MPI_DOUBLE, above, 1, from[rows + 1], grid, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(from[rows], grid, MPI_DOUBLE, below, 2, from[0], grid, MPI_DOUBLE, above, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 1; i <= rows; ++i)
        for (int j = 1; j < grid - 1; ++j)
            to[i][j] = 0.25 * (from[i - 1][j] + from[i + 1][j] + from[i][j - 1] + from[i][j + 1]);
}

// The sum over all ranks, as a check: it must not depend on how many there are.
static double stencil_sum(int rank, int ranks, int rows, double (*at)[grid])
{
    double mine = 0, all = 0;
    for (int i = 1; i <= rows; ++i)
        for (int j = 0; j < grid; ++j)
            mine += at[i][j];
    if (rank != 0)
        MPI_Send(&mine, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD);
    else
        for (all = mine, rows = 1; rows < ranks; ++rows) {
            MPI_Recv(&mine, 1, MPI_DOUBLE, rows, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            all += mine;
        }
    return all;
}

static void stencil(int rank, int ranks, double milliseconds)
{
    if (grid % ranks != 0)
        give_up("the number of ranks has to divide 2048");
    int rows = grid / ranks;
    size_t bytes = sizeof(double[grid]) * (size_t)(rows + 2);
    double(*from)[grid] = calloc(1, bytes), (*to)[grid] = calloc(1, bytes);
    if (!from || !to)
        give_up("no memory");
    for (int i = 1; i <= rows; ++i)
        for (int j = 0; j < grid; ++j)
            from[i][j] = to[i][j] = (rank * rows + i + j) % 7;
    double end = now_ns() + milliseconds * 1e6;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("stencil");
    for (int batch = 0, more = 1; more; ++batch) {
        double begin = now_ns();
        for (int s = 0; s < steps_of_batch; ++s) {
            stencil_step(rank, ranks, rows, from, to);
            double(*other)[grid] = from;
            from = to;
            to = other;
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (batch == 0) {
            double sum = stencil_sum(rank, ranks, rows, from);
            if (rank == 0)
                printf(" sum %.6f", sum);
        } else if (rank == 0)
            printf(" %.0f", (now_ns() - begin) / steps_of_batch);
        more = batch < 3 || now_ns() < end;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("\n");
    free(from);
    free(to);
}

static double processor_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void wait_long(int rank)
{
    char byte = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        double begin = now_ns(), used = processor_ns();
        MPI_Recv(&byte, 1, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("waiting %.3f\n", 100 * (processor_ns() - used) / (now_ns() - begin));
    } else if (rank == 1) {
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
        MPI_Send(&byte, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

#endif
