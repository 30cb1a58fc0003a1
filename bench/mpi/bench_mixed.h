// Iterations as programs mix operations, for bench.c, of any number of ranks.
//   mixed            write the own buffer, send it around the ring while the neighbour's comes, add 8 bytes of all, compute a little
//   X_barrier        an operation and a barrier; a sample is the whole iteration
//   X_alone          the same iterations, of which only the operation counts, mean over the ranks: the way of OSU's benchmarks, which does
//                    not see what an operation leaves for the barrier to do
#ifndef TOWLINE_BENCH_MIXED_H
#define TOWLINE_BENCH_MIXED_H

#include "bench_collectives.h"

static volatile double computed;

// About a microsecond: each step needs the last one's result.
static void compute_a_little(void)
{
    double x = computed;
    for (int i = 0; i < 500; ++i)
        x = x * 0.9999999 + 0.1;
    computed = x;
}

static void mixed_iterations(struct work *w, long times, int rewritten)
{
    int before = (w->rank + w->ranks - 1) % w->ranks, after = (w->rank + 1) % w->ranks;
    char *from = slot_of(w, &w->send), *to = slot_of(w, &w->receive);
    for (long i = 0; i < times; ++i) {
        uint64_t k = w->given++;
        if (rewritten)
            fill(from, w->size, seed(w->rank, k));
        MPI_Request both[2];
        MPI_Irecv(to, (int)w->size, MPI_BYTE, before, 1, MPI_COMM_WORLD, &both[0]);
        MPI_Isend(from, (int)w->size, MPI_BYTE, after, 1, MPI_COMM_WORLD, &both[1]);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
        double own = small_seed(w->rank, k), sum = 0;
        MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        compute_a_little();
        w->wrong |= sum != first_sum(w->ranks, k);
        if (rewritten)
            w->wrong |= differs(to, w->size, seed(before, k));
    }
    batch_end(w);
}

enum beside_barrier { broadcast, everyone_to_each, sum_for_all };

static inline __attribute__((always_inline)) void with_barrier(struct work *w, long times, int rewritten, enum beside_barrier kind,
                                                               int alone)
{
    int n = (int)w->size;
    double spent = 0, spent_by_all = 0;
    char *from = slot_of(w, &w->send), *to = slot_of(w, &w->receive);
    for (long i = 0; i < times; ++i) {
        uint64_t k = w->given++;
        if (rewritten && kind == sum_for_all)
            fill_numbers(from, w->size, small_seed(w->rank, k));
        else if (rewritten && kind == everyone_to_each)
            fill(from, w->size * (size_t)w->ranks, seed(w->rank, k));
        else if (rewritten && w->rank == 0)
            fill(from, w->size, seed(0, k));
        double begin = alone ? now_ns() : 0;
        if (kind == broadcast)
            MPI_Bcast(w->rank == 0 ? from : to, n, MPI_BYTE, 0, MPI_COMM_WORLD);
        else if (kind == everyone_to_each)
            MPI_Alltoall(from, n, MPI_BYTE, to, n, MPI_BYTE, MPI_COMM_WORLD);
        else
            MPI_Allreduce(from, to, n / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (alone)
            spent += now_ns() - begin;
        if (rewritten && kind == sum_for_all)
            w->wrong |= sum_differs(to, w->size, first_sum(w->ranks, k), w->ranks);
        else if (rewritten && kind == broadcast && w->rank != 0)
            w->wrong |= differs(to, w->size, seed(0, k));
        for (int r = 0; rewritten && kind == everyone_to_each && r < w->ranks; ++r)
            w->wrong |= differs(to + w->size * (size_t)r, w->size, seed(r, k) + w->size / 8 * (uint64_t)w->rank);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (alone) {
        MPI_Reduce(&spent, &spent_by_all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        w->alone = spent_by_all / w->ranks;
    }
}

static void mixed(struct work *w, long times) { mixed_iterations(w, times, w->rewritten); }
static void bcast_barrier(struct work *w, long times) { with_barrier(w, times, w->rewritten, broadcast, 0); }
static void alltoall_barrier(struct work *w, long times) { with_barrier(w, times, w->rewritten, everyone_to_each, 0); }
static void allreduce_barrier(struct work *w, long times) { with_barrier(w, times, w->rewritten, sum_for_all, 0); }
static void bcast_alone(struct work *w, long times) { with_barrier(w, times, w->rewritten, broadcast, 1); }
static void alltoall_alone(struct work *w, long times) { with_barrier(w, times, w->rewritten, everyone_to_each, 1); }
static void allreduce_alone(struct work *w, long times) { with_barrier(w, times, w->rewritten, sum_for_all, 1); }

static void check_mixed(struct work *w, long times) { mixed_iterations(w, times, 1); }
static void check_bcast_barrier(struct work *w, long times) { with_barrier(w, times, 1, broadcast, 0); }
static void check_alltoall_barrier(struct work *w, long times) { with_barrier(w, times, 1, everyone_to_each, 0); }
static void check_allreduce_barrier(struct work *w, long times) { with_barrier(w, times, 1, sum_for_all, 0); }

#endif
