// Collective operations, for bench.c, of any number of ranks. Reductions add doubles. With rewritten data every rank that contributes
// writes its part before, and every rank that gets something compares it after; a check is one such operation outside of what is timed.
#ifndef TOWLINE_BENCH_COLLECTIVES_H
#define TOWLINE_BENCH_COLLECTIVES_H

#include "turn.h"

#include <mpi.h>

// Where rank 0 does not wait for the others by the operation itself, the batch ends when they are done.
static void batch_end(struct work *w)
{
    if (w->rank != 0)
        MPI_Send(NULL, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
    for (int r = 1; w->rank == 0 && r < w->ranks; ++r)
        MPI_Recv(NULL, 0, MPI_BYTE, r, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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
        uint64_t k = w->given++;
        if (rewritten && w->rank == 0)
            fill(at, w->size, seed(0, k));
        MPI_Bcast(at, (int)w->size, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (rewritten && w->rank != 0)
            w->wrong |= differs(at, w->size, seed(0, k));
        if (w->cold)
            next_slot(w);
    }
    batch_end(w);
}

enum reduction { to_root, to_all, to_blocks, to_prefixes };

static inline __attribute__((always_inline)) void reductions(struct work *w, long times, int rewritten, enum reduction kind)
{
    int count = (int)(w->size / 8);
    size_t given = w->size * (kind == to_blocks ? (size_t)w->ranks : 1);
    for (long i = 0; i < times; ++i) {
        char *from = slot_of(w, &w->send), *to = slot_of(w, &w->receive);
        uint64_t k = w->given++;
        if (rewritten)
            fill_numbers(from, given, small_seed(w->rank, k));
        if (kind == to_all)
            MPI_Allreduce(from, to, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        else if (kind == to_root)
            MPI_Reduce(from, to, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        else if (kind == to_blocks)
            MPI_Reduce_scatter_block(from, to, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        else
            MPI_Scan(from, to, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (rewritten && (kind != to_root || w->rank == 0)) {
            int summed = kind == to_prefixes ? w->rank + 1 : w->ranks;
            double skipped = kind == to_blocks ? (double)w->ranks * count * w->rank : 0;
            w->wrong |= sum_differs(to, w->size, first_sum(summed, k) + skipped, summed);
        }
        if (w->cold)
            next_slot(w);
    }
    batch_end(w);
}

enum exchange { same_to_all, own_to_each, from_root, at_root };

// What a rank gives is one message, however many blocks it has.
static inline __attribute__((always_inline)) void exchanges(struct work *w, long times, int rewritten, enum exchange kind)
{
    int count = (int)w->size, all = kind == same_to_all || kind == own_to_each;
    size_t given = w->size * (kind == own_to_each || kind == from_root ? (size_t)w->ranks : 1);
    for (long i = 0; i < times; ++i) {
        char *from = slot_of(w, &w->send), *to = slot_of(w, &w->receive);
        uint64_t k = w->given++;
        if (rewritten && (kind != from_root || w->rank == 0))
            fill(from, given, seed(w->rank, k));
        if (kind == same_to_all)
            MPI_Allgather(from, count, MPI_BYTE, to, count, MPI_BYTE, MPI_COMM_WORLD);
        else if (kind == own_to_each)
            MPI_Alltoall(from, count, MPI_BYTE, to, count, MPI_BYTE, MPI_COMM_WORLD);
        else if (kind == from_root)
            MPI_Scatter(from, count, MPI_BYTE, to, count, MPI_BYTE, 0, MPI_COMM_WORLD);
        else
            MPI_Gather(from, count, MPI_BYTE, to, count, MPI_BYTE, 0, MPI_COMM_WORLD);
        uint64_t part = w->size / 8 * (uint64_t)w->rank;
        if (rewritten && kind == from_root)
            w->wrong |= differs(to, w->size, seed(0, k) + part);
        else if (rewritten && (all || w->rank == 0))
            for (int r = 0; r < w->ranks; ++r)
                w->wrong |= differs(to + w->size * (size_t)r, w->size, seed(r, k) + (kind == own_to_each ? part : 0));
        if (w->cold)
            next_slot(w);
    }
    batch_end(w);
}

static void bcast(struct work *w, long times) { bcasts(w, times, w->rewritten); }
static void reduce(struct work *w, long times) { reductions(w, times, w->rewritten, to_root); }
static void allreduce(struct work *w, long times) { reductions(w, times, w->rewritten, to_all); }
static void reduce_scatter(struct work *w, long times) { reductions(w, times, w->rewritten, to_blocks); }
static void scan(struct work *w, long times) { reductions(w, times, w->rewritten, to_prefixes); }
static void allgather(struct work *w, long times) { exchanges(w, times, w->rewritten, same_to_all); }
static void alltoall(struct work *w, long times) { exchanges(w, times, w->rewritten, own_to_each); }
static void scatter(struct work *w, long times) { exchanges(w, times, w->rewritten, from_root); }
static void gather(struct work *w, long times) { exchanges(w, times, w->rewritten, at_root); }

static void check_bcast(struct work *w, long times) { bcasts(w, times, 1); }
static void check_reduce(struct work *w, long times) { reductions(w, times, 1, to_root); }
static void check_allreduce(struct work *w, long times) { reductions(w, times, 1, to_all); }
static void check_reduce_scatter(struct work *w, long times) { reductions(w, times, 1, to_blocks); }
static void check_scan(struct work *w, long times) { reductions(w, times, 1, to_prefixes); }
static void check_allgather(struct work *w, long times) { exchanges(w, times, 1, same_to_all); }
static void check_alltoall(struct work *w, long times) { exchanges(w, times, 1, own_to_each); }
static void check_scatter(struct work *w, long times) { exchanges(w, times, 1, from_root); }
static void check_gather(struct work *w, long times) { exchanges(w, times, 1, at_root); }

#endif
