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

enum exchange { same_to_all, own_to_each, from_root, at_root, to_neighbours };

// The blocks of all ranks, for the operations that are told where each lies.
enum { listed_most = 1024 };
static int counts[listed_most], places[listed_most];

static void list_blocks(const struct work *w)
{
    if (w->ranks > listed_most)
        give_up("more ranks than lists have room for");
    for (int r = 0; r < w->ranks; ++r) {
        counts[r] = (int)w->size;
        places[r] = (int)w->size * r;
    }
}

// All ranks in a circle: the one before and the one after are neighbours.
static MPI_Comm circle(int ranks)
{
    static MPI_Comm made;
    static int is_made;
    int around = 1;
    if (!is_made)
        MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &around, 0, &made);
    is_made = 1;
    return made;
}

static inline __attribute__((always_inline)) void exchange_once(enum exchange kind, int lists, char *from, char *to, int n, MPI_Comm ring)
{
    if (kind == to_neighbours)
        MPI_Neighbor_alltoall(from, n, MPI_BYTE, to, n, MPI_BYTE, ring);
    else if (kind == same_to_all && lists)
        MPI_Allgatherv(from, n, MPI_BYTE, to, counts, places, MPI_BYTE, MPI_COMM_WORLD);
    else if (kind == same_to_all)
        MPI_Allgather(from, n, MPI_BYTE, to, n, MPI_BYTE, MPI_COMM_WORLD);
    else if (kind == own_to_each && lists)
        MPI_Alltoallv(from, counts, places, MPI_BYTE, to, counts, places, MPI_BYTE, MPI_COMM_WORLD);
    else if (kind == own_to_each)
        MPI_Alltoall(from, n, MPI_BYTE, to, n, MPI_BYTE, MPI_COMM_WORLD);
    else if (kind == from_root && lists)
        MPI_Scatterv(from, counts, places, MPI_BYTE, to, n, MPI_BYTE, 0, MPI_COMM_WORLD);
    else if (kind == from_root)
        MPI_Scatter(from, n, MPI_BYTE, to, n, MPI_BYTE, 0, MPI_COMM_WORLD);
    else if (lists)
        MPI_Gatherv(from, n, MPI_BYTE, to, counts, places, MPI_BYTE, 0, MPI_COMM_WORLD);
    else
        MPI_Gather(from, n, MPI_BYTE, to, n, MPI_BYTE, 0, MPI_COMM_WORLD);
}

// What a rank gives is one message, however many blocks it has.
static inline __attribute__((always_inline)) void exchanges(struct work *w, long times, int rewritten, enum exchange kind, int lists)
{
    int all = kind == same_to_all || kind == own_to_each, before = (w->rank + w->ranks - 1) % w->ranks, after = (w->rank + 1) % w->ranks;
    size_t given = w->size * (kind == to_neighbours ? 2 : kind == own_to_each || kind == from_root ? (size_t)w->ranks : 1);
    MPI_Comm ring = kind == to_neighbours ? circle(w->ranks) : MPI_COMM_NULL;
    if (lists)
        list_blocks(w);
    for (long i = 0; i < times; ++i) {
        char *from = slot_of(w, &w->send), *to = slot_of(w, &w->receive);
        uint64_t k = w->given++;
        if (rewritten && (kind != from_root || w->rank == 0))
            fill(from, given, seed(w->rank, k));
        exchange_once(kind, lists, from, to, (int)w->size, ring);
        uint64_t block = w->size / 8, part = block * (uint64_t)w->rank;
        if (rewritten && kind == to_neighbours)
            w->wrong |= differs(to, w->size, seed(before, k) + block) | differs(to + w->size, w->size, seed(after, k));
        else if (rewritten && kind == from_root)
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
static void allgather(struct work *w, long times) { exchanges(w, times, w->rewritten, same_to_all, 0); }
static void allgatherv(struct work *w, long times) { exchanges(w, times, w->rewritten, same_to_all, 1); }
static void alltoall(struct work *w, long times) { exchanges(w, times, w->rewritten, own_to_each, 0); }
static void alltoallv(struct work *w, long times) { exchanges(w, times, w->rewritten, own_to_each, 1); }
static void scatter(struct work *w, long times) { exchanges(w, times, w->rewritten, from_root, 0); }
static void scatterv(struct work *w, long times) { exchanges(w, times, w->rewritten, from_root, 1); }
static void gather(struct work *w, long times) { exchanges(w, times, w->rewritten, at_root, 0); }
static void gatherv(struct work *w, long times) { exchanges(w, times, w->rewritten, at_root, 1); }
static void neighbor_alltoall(struct work *w, long times) { exchanges(w, times, w->rewritten, to_neighbours, 0); }

static void check_bcast(struct work *w, long times) { bcasts(w, times, 1); }
static void check_reduce(struct work *w, long times) { reductions(w, times, 1, to_root); }
static void check_allreduce(struct work *w, long times) { reductions(w, times, 1, to_all); }
static void check_reduce_scatter(struct work *w, long times) { reductions(w, times, 1, to_blocks); }
static void check_scan(struct work *w, long times) { reductions(w, times, 1, to_prefixes); }
static void check_allgather(struct work *w, long times) { exchanges(w, times, 1, same_to_all, 0); }
static void check_allgatherv(struct work *w, long times) { exchanges(w, times, 1, same_to_all, 1); }
static void check_alltoall(struct work *w, long times) { exchanges(w, times, 1, own_to_each, 0); }
static void check_alltoallv(struct work *w, long times) { exchanges(w, times, 1, own_to_each, 1); }
static void check_scatter(struct work *w, long times) { exchanges(w, times, 1, from_root, 0); }
static void check_scatterv(struct work *w, long times) { exchanges(w, times, 1, from_root, 1); }
static void check_gather(struct work *w, long times) { exchanges(w, times, 1, at_root, 0); }
static void check_gatherv(struct work *w, long times) { exchanges(w, times, 1, at_root, 1); }
static void check_neighbor_alltoall(struct work *w, long times) { exchanges(w, times, 1, to_neighbours, 0); }

#endif
