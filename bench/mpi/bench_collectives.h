// Collective operations of two ranks, for bench.c. Reductions add doubles. With rewritten data every rank that contributes writes its part
// before, and every rank that gets something compares it after; a check is one such operation outside of what is timed.
#ifndef TOWLINE_BENCH_COLLECTIVES_H
#define TOWLINE_BENCH_COLLECTIVES_H

#include "turn.h"

#include <mpi.h>

// Where rank 0 does not wait for rank 1 by the operation itself, the batch ends when rank 1 is done.
static void batch_end(struct work *w)
{
    if (w->rank == 1)
        MPI_Send(NULL, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
    else
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void barrier(struct work *w, long times)
{
    (void)w;
    for (long i = 0; i < times; ++i)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void bcasts(struct work *w, long times, int rewritten)
{
    for (long i = 0; i < times; ++i) {
        char *at = slot_of(w, w->rank == 0 ? &w->send : &w->receive);
        if (rewritten && w->rank == 0)
            fill(at, w->size, seed(0, w->given++));
        MPI_Bcast(at, (int)w->size, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (rewritten && w->rank == 1)
            w->wrong |= differs(at, w->size, seed(0, w->taken++));
        if (w->cold)
            next_slot(w);
    }
    batch_end(w);
}

static void reductions(struct work *w, long times, int rewritten, int all)
{
    int count = (int)(w->size / 8);
    for (long i = 0; i < times; ++i) {
        char *from = slot_of(w, &w->send), *to = slot_of(w, &w->receive);
        uint64_t k = w->given++;
        if (rewritten)
            fill_numbers(from, w->size, small_seed(w->rank, k));
        if (all)
            MPI_Allreduce(from, to, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        else
            MPI_Reduce(from, to, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rewritten && (all || w->rank == 0))
            w->wrong |= sum_differs(to, w->size, small_seed(0, k) + small_seed(1, k));
        if (w->cold)
            next_slot(w);
    }
    batch_end(w);
}

// Block b of what rank r gives to rank b (alltoall) or to both (allgather) is message 2k + b of rank r.
static void exchanges(struct work *w, long times, int rewritten, int personal)
{
    int count = (int)w->size;
    for (long i = 0; i < times; ++i) {
        char *from = slot_of(w, &w->send), *to = slot_of(w, &w->receive);
        uint64_t k = 2 * w->given++;
        if (rewritten)
            for (int b = 0; b < 1 + personal; ++b)
                fill(from + w->size * (size_t)b, w->size, seed(w->rank, k + (uint64_t)b));
        if (personal)
            MPI_Alltoall(from, count, MPI_BYTE, to, count, MPI_BYTE, MPI_COMM_WORLD);
        else
            MPI_Allgather(from, count, MPI_BYTE, to, count, MPI_BYTE, MPI_COMM_WORLD);
        if (rewritten)
            for (int r = 0; r < 2; ++r)
                w->wrong |= differs(to + w->size * (size_t)r, w->size, seed(r, k + (personal ? (uint64_t)w->rank : 0)));
        if (w->cold)
            next_slot(w);
    }
    batch_end(w);
}

static void bcast(struct work *w, long times) { bcasts(w, times, w->rewritten); }
static void reduce(struct work *w, long times) { reductions(w, times, w->rewritten, 0); }
static void allreduce(struct work *w, long times) { reductions(w, times, w->rewritten, 1); }
static void allgather(struct work *w, long times) { exchanges(w, times, w->rewritten, 0); }
static void alltoall(struct work *w, long times) { exchanges(w, times, w->rewritten, 1); }

static void check_bcast(struct work *w, long times) { bcasts(w, times, 1); }
static void check_reduce(struct work *w, long times) { reductions(w, times, 1, 0); }
static void check_allreduce(struct work *w, long times) { reductions(w, times, 1, 1); }
static void check_allgather(struct work *w, long times) { exchanges(w, times, 1, 0); }
static void check_alltoall(struct work *w, long times) { exchanges(w, times, 1, 1); }

#endif
