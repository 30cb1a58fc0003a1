// Patterns of collective operations of two ranks: transposes of matrices that are spread by rows, and columns.
#ifndef TOWLINE_BENCH_LAYOUT_SPREADS_H
#define TOWLINE_BENCH_LAYOUT_SPREADS_H

#include "pattern.h"

// Each rank's part p goes to rank p, and comes from there.
static void between_all(struct layout *l)
{
    l->parts[given] = l->parts[taken] = 2;
    for (int p = 0; p < 2; ++p) {
        l->from_rank[p] = p;
        l->from_part[p] = l->rank;
    }
}

static void alltoall_packed(struct layout *l)
{
    int bytes = (int)l->part_bytes[0][given];
    MPI_Alltoall(l->packed[given], bytes, MPI_BYTE, l->packed[taken], bytes, MPI_BYTE, MPI_COMM_WORLD);
}

// fft2:N: the transpose of N x N complex doubles between the two passes of a Fourier transform. A block is sent as rows; where it arrives,
// its rows are columns.
static void lay_fft2(struct layout *l)
{
    long n = l->d[0], h = n / 2;
    size_t row = 16 * (size_t)n, half = 16 * (size_t)h, matrix = row * (size_t)h;
    between_all(l);
    l->extent = 2 * matrix;
    l->begin[0][taken] = matrix;
    for (int p = 0; p < 2; ++p) {
        note_blocks(l, p, given, half * (size_t)p, 1, 0, h, row, half);
        note_blocks(l, p, taken, matrix + half * (size_t)p, h, 16, h, row, 16);
    }
    l->bytes = l->part_bytes[0][given];
}

static MPI_Datatype make_fft2(const struct layout *l, int part, enum side side)
{
    int n = (int)l->d[0], h = n / 2;
    MPI_Datatype column, all, type;
    (void)part;
    if (side == given)
        MPI_Type_vector(h, h, n, MPI_C_DOUBLE_COMPLEX, &all);
    else {
        MPI_Type_vector(h, 1, n, MPI_C_DOUBLE_COMPLEX, &column);
        MPI_Type_create_hvector(h, 1, 16, column, &all);
        MPI_Type_free(&column);
    }
    MPI_Type_create_resized(all, 0, 16 * h, &type);
    MPI_Type_free(&all);
    return type;
}

struct complex_number {
    double re, im;
};

static void pack_fft2(const struct layout *l, int part, char *to)
{
    size_t n = (size_t)l->d[0], half = 8 * n;
    for (size_t i = 0; i < n / 2; ++i)
        memcpy(to + i * half, l->base + i * 16 * n + half * (size_t)part, half);
}

static void unpack_fft2(const struct layout *l, int part, const char *from)
{
    long n = l->d[0], h = n / 2;
    const struct complex_number *block = (const struct complex_number *)(const void *)from;
    struct complex_number *to = (struct complex_number *)(void *)(l->base + l->begin[0][taken]) + part * h;
    for (long j = 0; j < h; ++j)
        for (long i = 0; i < h; ++i)
            to[j * n + i] = block[i * h + j];
}

static void call_fft2(struct layout *l)
{
    MPI_Alltoall(begin_of(l, 0, given), 1, l->type[0][given], begin_of(l, 0, taken), 1, l->type[0][taken], MPI_COMM_WORLD);
}

// alltoallw:N: N x N doubles that are spread by rows get spread by columns.
static void lay_alltoallw(struct layout *l)
{
    long n = l->d[0], h = n / 2;
    size_t half = 8 * (size_t)h, matrix = half * (size_t)n;
    between_all(l);
    l->extent = 2 * matrix;
    for (int p = 0; p < 2; ++p) {
        l->begin[p][taken] = matrix;
        note_blocks(l, p, given, half * (size_t)p, 1, 0, h, 2 * half, half);
        note(l, p, taken, matrix + (size_t)p * half * (size_t)h, half * (size_t)h);
    }
    l->bytes = l->part_bytes[0][given];
}

static MPI_Datatype make_alltoallw(const struct layout *l, int part, enum side side)
{
    int n = (int)l->d[0], h = n / 2, some[2] = {h, h};
    int whole[2] = {side == given ? h : n, side == given ? n : h}, start[2] = {side == given ? 0 : part * h, side == given ? part * h : 0};
    MPI_Datatype type;
    MPI_Type_create_subarray(2, whole, some, start, MPI_ORDER_C, MPI_DOUBLE, &type);
    return type;
}

static void pack_alltoallw(const struct layout *l, int part, char *to)
{
    size_t n = (size_t)l->d[0], half = 4 * n;
    for (size_t i = 0; i < n / 2; ++i)
        memcpy(to + i * half, l->base + i * 2 * half + half * (size_t)part, half);
}

static void unpack_alltoallw(const struct layout *l, int part, const char *from)
{
    size_t block = l->part_bytes[part][taken];
    memcpy(l->base + l->begin[part][taken] + block * (size_t)part, from, block);
}

static void call_alltoallw(struct layout *l)
{
    int ones[2] = {1, 1}, zeros[2] = {0, 0};
    MPI_Datatype give[2] = {l->type[0][given], l->type[1][given]}, take[2] = {l->type[0][taken], l->type[1][taken]};
    MPI_Alltoallw(begin_of(l, 0, given), ones, zeros, give, begin_of(l, 0, taken), ones, zeros, take, MPI_COMM_WORLD);
}

// bcast, allgather:N: a column of N rows of 64 doubles; of allgather the columns of all ranks.
enum { columns = 64 };

static void lay_columns(struct layout *l)
{
    size_t row = 8 * columns, matrix = row * (size_t)l->d[0];
    int all = strcmp(l->kind->name, "allgather") == 0;
    l->extent = 2 * matrix;
    l->begin[0][taken] = matrix;
    l->bytes = 8 * (size_t)l->d[0];
    l->parts[given] = all || l->rank == 0;
    l->parts[taken] = all ? 2 : l->rank != 0;
    note_blocks(l, 0, given, 0, 1, 0, l->d[0], row, 8);
    for (int p = 0; p < l->parts[taken]; ++p) {
        l->from_rank[p] = all ? p : 0;
        l->from_part[p] = 0;
        note_blocks(l, p, taken, matrix + 8 * (size_t)p, 1, 0, l->d[0], row, 8);
    }
}

static MPI_Datatype make_columns(const struct layout *l, int part, enum side side)
{
    MPI_Datatype column, type;
    (void)part, (void)side;
    MPI_Type_vector((int)l->d[0], 1, columns, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, 8, &type);
    MPI_Type_free(&column);
    return type;
}

static void pack_columns(const struct layout *l, int part, char *to)
{
    const double *from = (const double *)(const void *)l->base;
    (void)part;
    for (long i = 0; i < l->d[0]; ++i)
        ((double *)(void *)to)[i] = from[i * columns];
}

static void unpack_columns(const struct layout *l, int part, const char *from)
{
    double *to = (double *)(void *)(l->base + l->begin[0][taken]) + part;
    for (long i = 0; i < l->d[0]; ++i)
        to[i * columns] = ((const double *)(const void *)from)[i];
}

static void call_bcast(struct layout *l)
{
    MPI_Bcast(begin_of(l, 0, l->rank == 0 ? given : taken), 1, l->type[0][l->rank == 0 ? given : taken], 0, MPI_COMM_WORLD);
}

static void bcast_packed(struct layout *l)
{
    MPI_Bcast(l->packed[l->rank == 0 ? given : taken], 8 * (int)l->d[0], MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void call_allgather(struct layout *l)
{
    MPI_Allgather(begin_of(l, 0, given), 1, l->type[0][given], begin_of(l, 0, taken), 1, l->type[0][taken], MPI_COMM_WORLD);
}

static void allgather_packed(struct layout *l)
{
    int bytes = 8 * (int)l->d[0];
    MPI_Allgather(l->packed[given], bytes, MPI_BYTE, l->packed[taken], bytes, MPI_BYTE, MPI_COMM_WORLD);
}

#endif
