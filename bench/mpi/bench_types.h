// Derived datatypes, for bench.c: each is a list of equal runs of bytes, sent and received as one element.
#ifndef TOWLINE_BENCH_TYPES_H
#define TOWLINE_BENCH_TYPES_H

#include "turn.h"

#include <mpi.h>

// `count` elements, each `stride` bytes behind the last; of an element those bytes are data that the runs (up to three) name.
struct shape {
    MPI_Datatype type;
    size_t extent, count, stride;
    int runs;
    size_t at[3], bytes[3];
};

static const struct shape *current_shape;

// A particle: {int32 id; double x[3]; float charge}, 32 bytes of data in 40.
static MPI_Datatype particle(void)
{
    MPI_Datatype fields[] = {MPI_INT32_T, MPI_DOUBLE, MPI_FLOAT}, packed, type;
    int lengths[] = {1, 3, 1};
    MPI_Aint places[] = {0, 8, 32};
    MPI_Type_create_struct(3, lengths, places, fields, &packed);
    MPI_Type_create_resized(packed, 0, 40, &type);
    MPI_Type_free(&packed);
    return type;
}

// contiguous; vecN: blocks of N bytes, each with a gap as long behind it; struct: particles; face: 8 bytes of each row of 1 KiB.
// 0 if there is no such shape.
static int make_shape(struct shape *s, const char *name, size_t size)
{
    *s = (struct shape){.runs = 1};
    size_t block = strncmp(name, "vec", 3) == 0 ? (size_t)atol(name + 3) : strcmp(name, "face") == 0 ? 8 : 0;
    if (strcmp(name, "contiguous") == 0) {
        s->count = 1;
        s->stride = s->bytes[0] = size;
        MPI_Type_contiguous((int)size, MPI_BYTE, &s->type);
    } else if (strcmp(name, "struct") == 0) {
        s->count = size / 32;
        s->stride = 40;
        s->runs = 3;
        for (int i = 0; i < 3; ++i) {
            s->at[i] = (size_t[]){0, 8, 32}[i];
            s->bytes[i] = (size_t[]){4, 24, 4}[i];
        }
        MPI_Datatype one = particle();
        MPI_Type_contiguous((int)s->count, one, &s->type);
        MPI_Type_free(&one);
    } else if (block >= 8 && block % 8 == 0) {
        s->count = size / block;
        s->stride = strcmp(name, "face") == 0 ? 1024 : 2 * block;
        s->bytes[0] = block;
        MPI_Type_vector((int)s->count, (int)(block / 8), (int)(s->stride / 8), MPI_DOUBLE, &s->type);
    } else
        return 0;
    s->extent = s->count * s->stride;
    MPI_Type_commit(&s->type);
    return 1;
}

// Words of 4 bytes, as runs have any multiple of that: a word says where it lies and in which message.
static inline uint32_t datum(int rank, uint64_t k, size_t i) { return (uint32_t)(i * 2654435761u + k * 40503u + (uint64_t)rank * 13 + 1); }

static void write_shape(const struct shape *s, uint32_t *to, int rank, uint64_t k)
{
    for (size_t i = 0; i < s->count; ++i)
        for (int r = 0; r < s->runs; ++r) {
            size_t from = (i * s->stride + s->at[r]) / 4, end = from + s->bytes[r] / 4;
            for (size_t j = from; j < end; ++j)
                to[j] = datum(rank, k, j);
        }
}

static uint64_t shape_differs(const struct shape *s, const uint32_t *at, int rank, uint64_t k)
{
    uint64_t wrong = 0;
    for (size_t i = 0; i < s->count; ++i)
        for (int r = 0; r < s->runs; ++r) {
            size_t from = (i * s->stride + s->at[r]) / 4, end = from + s->bytes[r] / 4;
            for (size_t j = from; j < end; ++j)
                wrong |= at[j] ^ datum(rank, k, j);
        }
    return wrong;
}

static void typed_trips(struct work *w, long times, int rewritten)
{
    const struct shape *s = current_shape;
    int peer = 1 - w->rank;
    for (long i = 0; i < times; ++i) {
        uint32_t *from = (uint32_t *)(void *)slot_of(w, &w->send), *to = (uint32_t *)(void *)slot_of(w, &w->receive);
        for (int half = 0; half < 2; ++half) {
            if (half == w->rank) {
                if (rewritten)
                    write_shape(s, from, w->rank, w->given++);
                MPI_Send(from, 1, s->type, peer, 1, MPI_COMM_WORLD);
            } else {
                MPI_Recv(to, 1, s->type, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                if (rewritten)
                    w->wrong |= shape_differs(s, to, peer, w->taken++);
            }
        }
        if (w->cold)
            next_slot(w);
    }
}

static void typed(struct work *w, long times) { typed_trips(w, times, w->rewritten); }

// Gaps have to stay as they were: all of it is compared.
static void check_typed(struct work *w, long times)
{
    const struct shape *s = current_shape;
    unsigned char *to = (unsigned char *)slot_of(w, &w->receive);
    memset(to, 0x5a, s->extent);
    typed_trips(w, times, 1);
    for (size_t i = 0; i < s->extent; ++i) {
        size_t in = i % s->stride;
        int data = 0;
        for (int r = 0; r < s->runs; ++r)
            data |= in >= s->at[r] && in < s->at[r] + s->bytes[r];
        w->wrong |= !data && to[i] != 0x5a;
    }
}

#endif
