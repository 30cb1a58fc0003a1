// Collective operations of two ranks by hand, for limits.c, as a program would with shared memory: small data lie in slots beside flags,
// big ones are read and written where they are. Reductions add doubles.
#ifndef TOWLINE_BENCH_LIMITS_COLLECTIVES_H
#define TOWLINE_BENCH_LIMITS_COLLECTIVES_H

#include "limits_messages.h"

enum kind { k_bcast, k_reduce, k_allreduce, k_allgather, k_alltoall, k_scatter, k_gather, k_reduce_scatter, k_scan };

#define PURE static inline __attribute__((always_inline))

PURE int adds(enum kind k) { return k == k_reduce || k == k_allreduce || k == k_reduce_scatter || k == k_scan; }
PURE int gives_two(enum kind k) { return k == k_alltoall || k == k_scatter || k == k_reduce_scatter; }
PURE int gets_two(enum kind k) { return k == k_allgather || k == k_alltoall || k == k_gather; }

// The rank whose data the other needs, or -1: each needs the other's.
PURE int source_of(enum kind k)
{
    return k == k_bcast || k == k_scatter || k == k_scan ? 0 : k == k_reduce || k == k_gather ? 1 : -1;
}

static inline void add(char *to, const char *a, const char *b, size_t bytes)
{
    double *sum = (double *)(void *)to;
    const double *x = (const double *)(const void *)a, *y = (const double *)(const void *)b;
    for (size_t i = 0; i < bytes / 8; ++i)
        sum[i] = x[i] + y[i];
}

// The same to two places.
static inline void add_twice(char *to, char *too, const char *a, const char *b, size_t bytes)
{
    double *sum = (double *)(void *)to, *again = (double *)(void *)too;
    const double *x = (const double *)(const void *)a, *y = (const double *)(const void *)b;
    for (size_t i = 0; i < bytes / 8; ++i)
        sum[i] = again[i] = x[i] + y[i];
}

INLINED provide(struct work *w, enum kind k, uint64_t number)
{
    size_t bytes = w->size * (gives_two(k) ? 2 : 1);
    if (adds(k))
        fill_numbers(mine(w), bytes, small_seed(w->rank, number));
    else if (w->rank == 0 || (k != k_bcast && k != k_scatter))
        fill(mine(w), bytes, seed(w->rank, number));
}

INLINED verify(struct work *w, enum kind k, uint64_t number)
{
    char *at = into(w);
    int r = w->rank, summed = k == k_scan ? r + 1 : 2;
    uint64_t part = w->size / 8 * (uint64_t)r;
    if (adds(k) && (k != k_reduce || r == 0))
        w->wrong |= sum_differs(at, w->size, first_sum(summed, number) + (k == k_reduce_scatter ? 2.0 * (double)part : 0), summed);
    else if (k == k_bcast ? r == 1 : k == k_scatter)
        w->wrong |= differs(at, w->size, seed(0, number) + (k == k_scatter ? part : 0));
    else if (gets_two(k) && (k != k_gather || r == 0))
        for (int from = 0; from < 2; ++from)
            w->wrong |= differs(at + w->size * (size_t)from, w->size, seed(from, number) + (k == k_alltoall ? part : 0));
}

// This rank's result, out of its own data and those of the other, wherever they lie.
INLINED finish(struct work *w, enum kind k, const char *other)
{
    size_t size = w->size, r = (size_t)w->rank;
    char *own = mine(w), *to = into(w);
    switch (k) {
    case k_bcast:
        if (r == 1)
            move(to, other, size, size);
        break;
    case k_reduce:
        if (r == 0)
            add(to, own, other, size);
        break;
    case k_allreduce: add(to, own, other, size); break;
    case k_allgather:
        move(to + size * (1 - r), other, size, size);
        move(to + size * r, own, size, size);
        break;
    case k_alltoall:
        move(to + size * (1 - r), other + size * r, size, size);
        move(to + size * r, own + size * r, size, size);
        break;
    case k_scatter: move(to, r == 0 ? own : other + size, size, size); break;
    case k_gather:
        move(to, own, size, size);
        move(to + size, other, size, size);
        break;
    case k_reduce_scatter: add(to, own + size * r, other + size * r, size); break;
    case k_scan:
        if (r == 0)
            move(to, own, size, size);
        else
            add(to, own, other, size);
        break;
    }
}

// This rank's part of what both do for both.
INLINED finish_part(struct work *w, enum kind k)
{
    size_t half = w->size / 2 / line_size * line_size, from = w->rank == 0 ? 0 : half, bytes = w->rank == 0 ? half : w->size - half;
    char *own = mine(w) + from, *other = theirs(w) + from, *to = into(w) + from, *to_other = into_theirs(w) + from;
    if (k == k_allreduce)
        add_twice(to, to_other, own, other, bytes);
    else if (k == k_reduce)
        add(w->rank == 0 ? to : to_other, own, other, bytes);
    else if (k == k_bcast)
        move(w->rank == 0 ? to_other : to, w->rank == 0 ? own : other, bytes, w->size);
    else if (k == k_gather)  // each its own block
        move(w->rank == 0 ? into(w) : into_theirs(w) + w->size, mine(w), w->size, w->size);
}

// Both ranks wait for each other, before (what is read is there, what is written may be) and after.
static inline void meet(struct work *w, int after)
{
    struct side *own = &sides[w->rank], *other = &sides[1 - w->rank];
    raise_flag(after ? &own->done.flag : &own->ready.flag, count + 1);
    await(after ? &other->done.flag : &other->ready.flag, count + 1);
}

// In slots beside the flags. Where data flow one way, the slot is free again when the other says so.
INLINED in_slots(struct work *w, enum kind k)
{
    int source = source_of(k), r = w->rank;
    if (source < 0) {
        put(&sides[r].now[count & 1], mine(w), w->size * (gives_two(k) ? 2 : 1), count + 1);
        await(&sides[1 - r].now[count & 1].flag, count + 1);
        finish(w, k, sides[1 - r].now[count & 1].payload);
    } else if (r == source) {
        put(&sides[r].now[0], mine(w), w->size * (gives_two(k) ? 2 : 1), count + 1);
        if (k == k_scatter || k == k_scan)
            finish(w, k, NULL);
        await(&sides[1 - r].done.flag, count + 1);
    } else {
        await(&sides[source].now[0].flag, count + 1);
        finish(w, k, sides[source].now[0].payload);
        raise_flag(&sides[r].done.flag, count + 1);
    }
}

// Where the data are. One way: who has the data says so and is told when they are read.
INLINED in_place(struct work *w, enum kind k, int parts)
{
    int source = source_of(k), r = w->rank;
    if (source < 0 || parts) {
        meet(w, 0);
        if (parts)
            finish_part(w, k);
        else
            finish(w, k, theirs(w));
        meet(w, 1);
    } else if (r == source) {
        raise_flag(&sides[r].ready.flag, count + 1);
        if (k == k_scatter || k == k_scan)
            finish(w, k, NULL);
        await(&sides[1 - r].done.flag, count + 1);
    } else {
        await(&sides[source].ready.flag, count + 1);
        finish(w, k, theirs(w));
        raise_flag(&sides[r].done.flag, count + 1);
    }
}

INLINED collective(struct work *w, long times, enum kind k, int parts)
{
    int small = w->size * (gives_two(k) ? 2 : 1) <= inline_most, rewrites = w->rewritten;
    for (long i = 0; i < times; ++i) {
        uint64_t number = w->given++;
        if (rewrites)
            provide(w, k, number);
        if (small)
            in_slots(w, k);
        else
            in_place(w, k, parts || k == k_gather);
        if (rewrites)
            verify(w, k, number);
        ++count;
        if (w->cold)
            next_slot(w);
    }
}

static void barrier(struct work *w, long times)
{
    for (long i = 0; i < times; ++i, ++count) {
        raise_flag(&sides[w->rank].now[count & 1].flag, count + 1);
        await(&sides[1 - w->rank].now[count & 1].flag, count + 1);
    }
}

static void bcast(struct work *w, long times) { collective(w, times, k_bcast, 0); }
static void bcast_parts(struct work *w, long times) { collective(w, times, k_bcast, 1); }
static void reduce(struct work *w, long times) { collective(w, times, k_reduce, 0); }
static void reduce_parts(struct work *w, long times) { collective(w, times, k_reduce, 1); }
static void allreduce(struct work *w, long times) { collective(w, times, k_allreduce, 0); }
static void allreduce_parts(struct work *w, long times) { collective(w, times, k_allreduce, 1); }
static void allgather(struct work *w, long times) { collective(w, times, k_allgather, 0); }
static void alltoall(struct work *w, long times) { collective(w, times, k_alltoall, 0); }
static void scatter(struct work *w, long times) { collective(w, times, k_scatter, 0); }
static void gather(struct work *w, long times) { collective(w, times, k_gather, 0); }
static void reduce_scatter(struct work *w, long times) { collective(w, times, k_reduce_scatter, 0); }
static void scan(struct work *w, long times) { collective(w, times, k_scan, 0); }

#endif
