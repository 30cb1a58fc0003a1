// Patterns that are regular: vectors, and faces of the grids of MILC, NAS MG, NAS LU, WRF and of a stencil. The grids' first index is the
// fastest. A face is sent from the last cells inside and received by the cells behind them, of the same array, as the programs do.
#ifndef TOWLINE_BENCH_LAYOUT_FACES_H
#define TOWLINE_BENCH_LAYOUT_FACES_H

#include "pattern.h"

// contiguous:BYTES
static void lay_contiguous(struct layout *l)
{
    size_t bytes = (size_t)l->d[0];
    l->extent = 2 * (l->begin[0][taken] = (bytes + page_size - 1) / page_size * page_size);
    for (int side = given; side <= taken; ++side)
        note(l, 0, (enum side)side, l->begin[0][side], bytes);
}

static MPI_Datatype make_contiguous(const struct layout *l, int part, enum side side)
{
    MPI_Datatype type;
    (void)part, (void)side;
    MPI_Type_contiguous((int)l->d[0], MPI_BYTE, &type);
    return type;
}

static void pack_contiguous(const struct layout *l, int part, char *to) { memcpy(to, l->base + l->begin[part][given], (size_t)l->d[0]); }
static void unpack_contiguous(const struct layout *l, int part, const char *from)
{
    memcpy(l->base + l->begin[part][taken], from, (size_t)l->d[0]);
}

// vector:BLOCK:BYTES: blocks, each with a gap as long behind it.
static void lay_vector(struct layout *l)
{
    size_t each = (size_t)l->d[0], span = 2 * (size_t)l->d[1];
    l->begin[0][taken] = (span + page_size - 1) / page_size * page_size;
    l->extent = 2 * l->begin[0][taken];
    for (int side = given; side <= taken; ++side)
        note_blocks(l, 0, (enum side)side, l->begin[0][side], 1, 0, l->d[1] / l->d[0], 2 * each, each);
}

static MPI_Datatype make_vector(const struct layout *l, int part, enum side side)
{
    MPI_Datatype type;
    int item = l->d[0] % 8 ? 4 : 8, each = (int)l->d[0] / item;
    (void)part, (void)side;
    MPI_Type_vector((int)(l->d[1] / l->d[0]), each, 2 * each, item == 8 ? MPI_DOUBLE : MPI_FLOAT, &type);
    return type;
}

// Items that lie `stride` items from each other, to or from a row.
#define GATHER_ITEMS(ITEM, TO, FROM, MANY, STRIDE) \
    for (long item_ = 0; item_ < (MANY); ++item_)  \
    ((ITEM *)(void *)(TO))[item_] = ((const ITEM *)(const void *)(FROM))[item_ * (STRIDE)]
#define SCATTER_ITEMS(ITEM, TO, FROM, MANY, STRIDE) \
    for (long item_ = 0; item_ < (MANY); ++item_)   \
    ((ITEM *)(void *)(TO))[item_ * (STRIDE)] = ((const ITEM *)(const void *)(FROM))[item_]

static void pack_vector(const struct layout *l, int part, char *to)
{
    const char *from = l->base + l->begin[part][given];
    size_t each = (size_t)l->d[0];
    long many = l->d[1] / l->d[0];
    if (each == 4)
        GATHER_ITEMS(float, to, from, many, 2);
    else if (each == 8)
        GATHER_ITEMS(double, to, from, many, 2);
    else
        for (long i = 0; i < many; ++i)
            memcpy(to + (size_t)i * each, from + (size_t)i * 2 * each, each);
}

static void unpack_vector(const struct layout *l, int part, const char *from)
{
    char *to = l->base + l->begin[part][taken];
    size_t each = (size_t)l->d[0];
    long many = l->d[1] / l->d[0];
    if (each == 4)
        SCATTER_ITEMS(float, to, from, many, 2);
    else if (each == 8)
        SCATTER_ITEMS(double, to, from, many, 2);
    else
        for (long i = 0; i < many; ++i)
            memcpy(to + (size_t)i * 2 * each, from + (size_t)i * each, each);
}

// Rows of bytes at equal distances.
static void pack_rows(char *to, const char *from, long rows, size_t pitch, size_t bytes)
{
    for (long i = 0; i < rows; ++i)
        memcpy(to + (size_t)i * bytes, from + (size_t)i * pitch, bytes);
}

static void unpack_rows(char *to, const char *from, long rows, size_t pitch, size_t bytes)
{
    for (long i = 0; i < rows; ++i)
        memcpy(to + (size_t)i * pitch, from + (size_t)i * bytes, bytes);
}

// milc:X:Y:Z:T: su3_vector[T][Z][X * Y / 2] of three complex floats, every other site; a layer of Z.
enum { su3_bytes = 24 };

static size_t milc_layer(const struct layout *l) { return (size_t)(l->d[0] * l->d[1] / 2) * su3_bytes; }

static void lay_milc(struct layout *l)
{
    size_t layer = milc_layer(l), pitch = layer * (size_t)l->d[2];
    l->extent = pitch * (size_t)l->d[3];
    l->begin[0][taken] = pitch - layer;
    for (int side = given; side <= taken; ++side)
        note_blocks(l, 0, (enum side)side, l->begin[0][side], 1, 0, l->d[3], pitch, layer);
}

static MPI_Datatype make_milc(const struct layout *l, int part, enum side side)
{
    MPI_Datatype su3, type;
    int sites = (int)(l->d[0] * l->d[1] / 2);
    (void)part, (void)side;
    MPI_Type_contiguous(su3_bytes / 4, MPI_FLOAT, &su3);
    MPI_Type_vector((int)l->d[3], sites, sites * (int)l->d[2], su3, &type);
    MPI_Type_free(&su3);
    return type;
}

static void pack_milc(const struct layout *l, int part, char *to)
{
    pack_rows(to, l->base + l->begin[part][given], l->d[3], milc_layer(l) * (size_t)l->d[2], milc_layer(l));
}

static void unpack_milc(const struct layout *l, int part, const char *from)
{
    unpack_rows(l->base + l->begin[part][taken], from, l->d[3], milc_layer(l) * (size_t)l->d[2], milc_layer(l));
}

// mg_x, mg_y, mg_z:X:Y:Z: faces of the inside of a grid of doubles.
static size_t mg_at(const struct layout *l, long x, long y, long z) { return 8 * (size_t)(x + l->d[0] * (y + l->d[1] * z)); }

static void lay_mg_x(struct layout *l)
{
    l->extent = mg_at(l, 0, 0, l->d[2]);
    for (int side = given; side <= taken; ++side) {
        l->begin[0][side] = mg_at(l, l->d[0] - 2 + side, 1, 1);
        note_blocks(l, 0, (enum side)side, l->begin[0][side], l->d[2] - 2, mg_at(l, 0, 0, 1), l->d[1] - 2, mg_at(l, 0, 1, 0), 8);
    }
}

static MPI_Datatype make_mg_x(const struct layout *l, int part, enum side side)
{
    MPI_Datatype column, type;
    (void)part, (void)side;
    MPI_Type_vector((int)l->d[1] - 2, 1, (int)l->d[0], MPI_DOUBLE, &column);
    MPI_Type_create_hvector((int)l->d[2] - 2, 1, (MPI_Aint)mg_at(l, 0, 0, 1), column, &type);
    MPI_Type_free(&column);
    return type;
}

static void pack_mg_x(const struct layout *l, int part, char *to)
{
    long many = l->d[1] - 2, pitch = l->d[0];
    (void)part;
    for (long z = 1; z < l->d[2] - 1; ++z, to += 8 * many)
        GATHER_ITEMS(double, to, l->base + mg_at(l, l->d[0] - 2, 1, z), many, pitch);
}

static void unpack_mg_x(const struct layout *l, int part, const char *from)
{
    long many = l->d[1] - 2, pitch = l->d[0];
    (void)part;
    for (long z = 1; z < l->d[2] - 1; ++z, from += 8 * many)
        SCATTER_ITEMS(double, l->base + mg_at(l, l->d[0] - 1, 1, z), from, many, pitch);
}

static void lay_mg_y(struct layout *l)
{
    l->extent = mg_at(l, 0, 0, l->d[2]);
    for (int side = given; side <= taken; ++side) {
        l->begin[0][side] = mg_at(l, 1, l->d[1] - 2 + side, 1);
        note_blocks(l, 0, (enum side)side, l->begin[0][side], 1, 0, l->d[2] - 2, mg_at(l, 0, 0, 1), 8 * (size_t)(l->d[0] - 2));
    }
}

static MPI_Datatype make_mg_y(const struct layout *l, int part, enum side side)
{
    MPI_Datatype type;
    (void)part, (void)side;
    MPI_Type_vector((int)l->d[2] - 2, (int)l->d[0] - 2, (int)(l->d[0] * l->d[1]), MPI_DOUBLE, &type);
    return type;
}

static void pack_mg_y(const struct layout *l, int part, char *to)
{
    pack_rows(to, l->base + l->begin[part][given], l->d[2] - 2, mg_at(l, 0, 0, 1), 8 * (size_t)(l->d[0] - 2));
}

static void unpack_mg_y(const struct layout *l, int part, const char *from)
{
    unpack_rows(l->base + l->begin[part][taken], from, l->d[2] - 2, mg_at(l, 0, 0, 1), 8 * (size_t)(l->d[0] - 2));
}

static void lay_mg_z(struct layout *l)
{
    l->extent = mg_at(l, 0, 0, l->d[2]);
    for (int side = given; side <= taken; ++side) {
        l->begin[0][side] = mg_at(l, 1, 1, l->d[2] - 2 + side);
        note_blocks(l, 0, (enum side)side, l->begin[0][side], 1, 0, l->d[1] - 2, mg_at(l, 0, 1, 0), 8 * (size_t)(l->d[0] - 2));
    }
}

static MPI_Datatype make_mg_z(const struct layout *l, int part, enum side side)
{
    MPI_Datatype type;
    (void)part, (void)side;
    MPI_Type_vector((int)l->d[1] - 2, (int)l->d[0] - 2, (int)l->d[0], MPI_DOUBLE, &type);
    return type;
}

static void pack_mg_z(const struct layout *l, int part, char *to)
{
    pack_rows(to, l->base + l->begin[part][given], l->d[1] - 2, mg_at(l, 0, 1, 0), 8 * (size_t)(l->d[0] - 2));
}

static void unpack_mg_z(const struct layout *l, int part, const char *from)
{
    unpack_rows(l->base + l->begin[part][taken], from, l->d[1] - 2, mg_at(l, 0, 1, 0), 8 * (size_t)(l->d[0] - 2));
}

// lu_x, lu_y:N: five doubles a cell of a plane of N + 2 cells each way; a row of N, or N of a column.
static size_t lu_at(const struct layout *l, long x, long y) { return 40 * (size_t)(x + (l->d[0] + 2) * y); }

static void lay_lu_x(struct layout *l)
{
    l->extent = lu_at(l, 0, l->d[0] + 2);
    for (int side = given; side <= taken; ++side)
        note(l, 0, (enum side)side, l->begin[0][side] = lu_at(l, 1, l->d[0] + side), 40 * (size_t)l->d[0]);
}

static MPI_Datatype make_lu_x(const struct layout *l, int part, enum side side)
{
    MPI_Datatype type;
    (void)part, (void)side;
    MPI_Type_contiguous(5 * (int)l->d[0], MPI_DOUBLE, &type);
    return type;
}

static void pack_lu_x(const struct layout *l, int part, char *to) { memcpy(to, l->base + l->begin[part][given], 40 * (size_t)l->d[0]); }
static void unpack_lu_x(const struct layout *l, int part, const char *from)
{
    memcpy(l->base + l->begin[part][taken], from, 40 * (size_t)l->d[0]);
}

static void lay_lu_y(struct layout *l)
{
    l->extent = lu_at(l, 0, l->d[0] + 2);
    for (int side = given; side <= taken; ++side) {
        l->begin[0][side] = lu_at(l, l->d[0] + side, 1);
        note_blocks(l, 0, (enum side)side, l->begin[0][side], 1, 0, l->d[0], lu_at(l, 0, 1), 40);
    }
}

static MPI_Datatype make_lu_y(const struct layout *l, int part, enum side side)
{
    MPI_Datatype cell, type;
    (void)part, (void)side;
    MPI_Type_contiguous(5, MPI_DOUBLE, &cell);
    MPI_Type_vector((int)l->d[0], 1, (int)l->d[0] + 2, cell, &type);
    MPI_Type_free(&cell);
    return type;
}

static void pack_lu_y(const struct layout *l, int part, char *to)
{
    const char *from = l->base + l->begin[part][given];
    for (long i = 0; i < l->d[0]; ++i)
        memcpy(to + 40 * i, from + lu_at(l, 0, i), 40);
}

static void unpack_lu_y(const struct layout *l, int part, const char *from)
{
    char *to = l->base + l->begin[part][taken];
    for (long i = 0; i < l->d[0]; ++i)
        memcpy(to + lu_at(l, 0, i), from + 40 * i, 40);
}

// stencil:N: the six faces of N^3 doubles, with a layer of halo around, as subarrays; C's order. Part p goes along axis p / 2: down from
// the first layer where p is even, up from the last, and arrives in the halo on the other side.
static size_t stencil_at(const struct layout *l, const long i[3])
{
    long w = l->d[0] + 2;
    return 8 * (size_t)((i[0] * w + i[1]) * w + i[2]);
}

static void stencil_start(const struct layout *l, int part, enum side side, long start[3])
{
    long up = part % 2, n = l->d[0];
    start[0] = start[1] = start[2] = 1;
    start[part / 2] = side == given ? (up ? n : 1) : (up ? 0 : n + 1);
}

static void lay_stencil(struct layout *l)
{
    long n = l->d[0], start[3];
    size_t row = 8 * (size_t)(n + 2), plane = row * (size_t)(n + 2);
    l->extent = plane * (size_t)(n + 2);
    l->parts[given] = l->parts[taken] = 6;
    for (int p = 0; p < 6; ++p)
        for (int side = given; side <= taken; ++side) {
            stencil_start(l, p, (enum side)side, start);
            size_t at = stencil_at(l, start);
            if (p / 2 == 2)
                note_blocks(l, p, (enum side)side, at, n, plane, n, row, 8);
            else
                note_blocks(l, p, (enum side)side, at, 1, 0, n, p / 2 == 1 ? plane : row, 8 * (size_t)n);
        }
}

static MPI_Datatype make_stencil(const struct layout *l, int part, enum side side)
{
    MPI_Datatype type;
    long from[3];
    int n = (int)l->d[0], whole[3] = {n + 2, n + 2, n + 2}, some[3] = {n, n, n}, start[3];
    stencil_start(l, part, side, from);
    for (int i = 0; i < 3; ++i)
        start[i] = (int)from[i];
    some[part / 2] = 1;
    MPI_Type_create_subarray(3, whole, some, start, MPI_ORDER_C, MPI_DOUBLE, &type);
    return type;
}

static void pack_stencil(const struct layout *l, int part, char *to)
{
    long n = l->d[0], start[3];
    size_t row = 8 * (size_t)(n + 2), plane = row * (size_t)(n + 2);
    stencil_start(l, part, given, start);
    const char *from = l->base + stencil_at(l, start);
    if (part / 2 < 2)
        pack_rows(to, from, n, part / 2 == 1 ? plane : row, 8 * (size_t)n);
    else
        for (long z = 0; z < n; ++z, from += plane, to += 8 * n)
            GATHER_ITEMS(double, to, from, n, n + 2);
}

static void unpack_stencil(const struct layout *l, int part, const char *from)
{
    long n = l->d[0], start[3];
    size_t row = 8 * (size_t)(n + 2), plane = row * (size_t)(n + 2);
    stencil_start(l, part, taken, start);
    char *to = l->base + stencil_at(l, start);
    if (part / 2 < 2)
        unpack_rows(to, from, n, part / 2 == 1 ? plane : row, 8 * (size_t)n);
    else
        for (long z = 0; z < n; ++z, to += plane, from += 8 * n)
            SCATTER_ITEMS(double, to, from, n, n + 2);
}

#endif
