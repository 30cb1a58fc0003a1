// Patterns of several arrays at once, of which one datatype holds the addresses: WRF's halos, SPECFEM3D's points, LAMMPS's atoms.
#ifndef TOWLINE_BENCH_LAYOUT_FIELDS_H
#define TOWLINE_BENCH_LAYOUT_FIELDS_H

#include "pattern.h"

static MPI_Datatype at_addresses(int many, const char *const *at, MPI_Datatype *types)
{
    MPI_Datatype type;
    MPI_Aint places[16];
    int ones[16];
    for (int i = 0; i < many; ++i) {
        MPI_Get_address(at[i], &places[i]);
        ones[i] = 1;
    }
    MPI_Type_create_struct(many, ones, places, types, &type);
    for (int i = 0; i < many; ++i)
        MPI_Type_free(&types[i]);
    return type;
}

// An array behind the last one, on pages of its own.
static size_t add_array(struct layout *l, size_t bytes)
{
    size_t at = l->extent;
    l->extent += (bytes + page_size - 1) / page_size * page_size + page_size;
    return at;
}

// wrf_x, wrf_y:MS:ME:PS:PE: memory from MS to ME, of it the patch from PS to PE, both ways; 4 fields of two dimensions (i, j), 3 of three
// (i, k, j), one of four with two members; 10 levels; floats; a halo three cells wide, towards x (the fastest index) or y.
enum { wrf_fields = 8, wrf_flat = 4, wrf_levels = 10, wrf_members = 2, wrf_wide = 3 };

struct wrf {
    long memory, lo, patch;      // cells of a side in memory, of the first of the patch, of the patch
    long from[2], many[2];       // along i and j
};

static struct wrf wrf_of(const struct layout *l, enum side side)
{
    struct wrf w = {.memory = l->d[1] - l->d[0] + 1, .lo = l->d[2] - l->d[0], .patch = l->d[3] - l->d[2] + 1};
    int along = strcmp(l->kind->name, "wrf_y") == 0;
    w.from[1 - along] = w.lo;
    w.many[1 - along] = w.patch;
    w.from[along] = w.lo + w.patch - (side == given ? wrf_wide : 0);
    w.many[along] = wrf_wide;
    return w;
}

static long wrf_members_of(int field) { return field == wrf_fields - 1 ? wrf_members : 1; }
static long wrf_levels_of(int field) { return field < wrf_flat ? 1 : wrf_levels; }

static void lay_wrf(struct layout *l)
{
    l->absolute = 1;
    for (int f = 0; f < wrf_fields; ++f) {
        struct wrf w = wrf_of(l, given);
        l->place[f] = add_array(l, 4 * (size_t)(w.memory * w.memory * wrf_levels_of(f) * wrf_members_of(f)));
    }
    for (int side = given; side <= taken; ++side) {
        struct wrf w = wrf_of(l, (enum side)side);
        for (int f = 0; f < wrf_fields; ++f)
            for (long n = 0; n < wrf_members_of(f); ++n) {
                size_t row = 4 * (size_t)w.memory, slab = row * (size_t)wrf_levels_of(f);
                size_t at = l->place[f] + (size_t)(n * w.memory + w.from[1]) * slab + 4 * (size_t)w.from[0];
                note_blocks(l, 0, (enum side)side, at, w.many[1], slab, wrf_levels_of(f), row, 4 * (size_t)w.many[0]);
            }
    }
}

static MPI_Datatype make_wrf(const struct layout *l, int part, enum side side)
{
    MPI_Datatype types[wrf_fields];
    const char *at[wrf_fields];
    struct wrf w = wrf_of(l, side);
    (void)part;
    for (int f = 0; f < wrf_fields; ++f) {
        int whole[4] = {wrf_members, (int)w.memory, wrf_levels, (int)w.memory};
        int some[4] = {wrf_members, (int)w.many[1], wrf_levels, (int)w.many[0]}, start[4] = {0, (int)w.from[1], 0, (int)w.from[0]};
        if (f < wrf_flat) {
            int flat_whole[2] = {whole[1], whole[3]}, flat[2] = {some[1], some[3]}, flat_start[2] = {start[1], start[3]};
            MPI_Type_create_subarray(2, flat_whole, flat, flat_start, MPI_ORDER_C, MPI_FLOAT, &types[f]);
        } else if (f < wrf_fields - 1)
            MPI_Type_create_subarray(3, whole + 1, some + 1, start + 1, MPI_ORDER_C, MPI_FLOAT, &types[f]);
        else
            MPI_Type_create_subarray(4, whole, some, start, MPI_ORDER_C, MPI_FLOAT, &types[f]);
        at[f] = l->base + l->place[f];
    }
    return at_addresses(wrf_fields, at, types);
}

static void copy_wrf(const struct layout *l, enum side side, float *packed)
{
    struct wrf w = wrf_of(l, side);
    for (int f = 0; f < wrf_fields; ++f)
        for (long n = 0; n < wrf_members_of(f); ++n)
            for (long j = 0; j < w.many[1]; ++j)
                for (long k = 0; k < wrf_levels_of(f); ++k) {
                    float *row = (float *)(void *)(l->base + l->place[f]);
                    row += ((n * w.memory + w.from[1] + j) * wrf_levels_of(f) + k) * w.memory + w.from[0];
                    long many = w.many[0];
                    if (side == given && many == wrf_wide)
                        for (long i = 0; i < wrf_wide; ++i)
                            packed[i] = row[i];
                    else if (side == given)
                        memcpy(packed, row, 4 * (size_t)many);
                    else if (many == wrf_wide)
                        for (long i = 0; i < wrf_wide; ++i)
                            row[i] = packed[i];
                    else
                        memcpy(row, packed, 4 * (size_t)many);
                    packed += many;
                }
}

static void pack_wrf(const struct layout *l, int part, char *to)
{
    (void)part;
    copy_wrf(l, given, (float *)(void *)to);
}

static void unpack_wrf(const struct layout *l, int part, const char *from)
{
    (void)part;
    copy_wrf(l, taken, (float *)(uintptr_t)from);
}

// specfem_oc:N: a float of N points, in any order, of an array of 4 N.
static void lay_specfem_oc(struct layout *l)
{
    l->list = choose(l->d[0], 4 * l->d[0], 0);
    for (int side = given; side <= taken; ++side) {
        l->begin[0][side] = add_array(l, 16 * (size_t)l->d[0]);
        for (long i = 0; i < l->d[0]; ++i)
            note(l, 0, (enum side)side, l->begin[0][side] + 4 * (size_t)l->list[i], 4);
    }
}

static MPI_Datatype make_specfem_oc(const struct layout *l, int part, enum side side)
{
    MPI_Datatype type;
    (void)part, (void)side;
    MPI_Type_create_indexed_block((int)l->d[0], 1, l->list, MPI_FLOAT, &type);
    return type;
}

static void pack_specfem_oc(const struct layout *l, int part, char *to)
{
    const float *from = (const float *)(const void *)(l->base + l->begin[part][given]);
    for (long i = 0; i < l->d[0]; ++i)
        ((float *)(void *)to)[i] = from[l->list[i]];
}

static void unpack_specfem_oc(const struct layout *l, int part, const char *from)
{
    float *to = (float *)(void *)(l->base + l->begin[part][taken]);
    for (long i = 0; i < l->d[0]; ++i)
        to[l->list[i]] = ((const float *)(const void *)from)[i];
}

// specfem_cm:CM:IC: three floats of CM points of the crust and mantle and of IC points of the inner core, in any order, of four times as
// many each. The inner core's list stands behind the other.
static void lay_specfem_cm(struct layout *l)
{
    l->absolute = 1;
    l->list = malloc((size_t)(l->d[0] + l->d[1]) * sizeof *l->list);
    if (!l->list)
        give_up("no memory for a list");
    for (int a = 0, *to = l->list; a < 2; to += l->d[a++]) {
        int *some = choose(l->d[a], 4 * l->d[a], 0);
        memcpy(to, some, (size_t)l->d[a] * sizeof *some);
        free(some);
    }
    for (int side = given; side <= taken; ++side)
        for (int a = 0, *list = l->list; a < 2; list += l->d[a++]) {
            size_t at = l->place[2 * side + a] = add_array(l, 48 * (size_t)l->d[a]);
            for (long i = 0; i < l->d[a]; ++i)
                note(l, 0, (enum side)side, at + 12 * (size_t)list[i], 12);
        }
}

static MPI_Datatype make_specfem_cm(const struct layout *l, int part, enum side side)
{
    MPI_Datatype types[2];
    const char *at[2];
    (void)part;
    for (int a = 0; a < 2; ++a) {
        long many = l->d[a];
        int *places = malloc((size_t)many * sizeof *places);
        if (!places)
            give_up("no memory for a list");
        for (long i = 0; i < many; ++i)
            places[i] = 3 * l->list[a * l->d[0] + i];
        MPI_Type_create_indexed_block((int)many, 3, places, MPI_FLOAT, &types[a]);
        free(places);
        at[a] = l->base + l->place[2 * (int)side + a];
    }
    return at_addresses(2, at, types);
}

static void pack_specfem_cm(const struct layout *l, int part, char *to)
{
    float *packed = (float *)(void *)to;
    (void)part;
    for (int a = 0, *list = l->list; a < 2; list += l->d[a++]) {
        const float *from = (const float *)(const void *)(l->base + l->place[2 * given + a]);
        for (long i = 0; i < l->d[a]; ++i, packed += 3)
            for (int c = 0; c < 3; ++c)
                packed[c] = from[3 * list[i] + c];
    }
}

static void unpack_specfem_cm(const struct layout *l, int part, const char *from)
{
    const float *packed = (const float *)(const void *)from;
    (void)part;
    for (int a = 0, *list = l->list; a < 2; list += l->d[a++]) {
        float *to = (float *)(void *)(l->base + l->place[2 * taken + a]);
        for (long i = 0; i < l->d[a]; ++i, packed += 3)
            for (int c = 0; c < 3; ++c)
                to[3 * list[i] + c] = packed[c];
    }
}

// lammps_full, lammps_atomic:N: N atoms of 4 N, a rising list: tag, type, mask (full: and molecule) as int, (full: charge and) the place as
// doubles. They arrive behind the last atom.
static const int atom_full[] = {4, 4, 4, 4, 8, 24}, atom_atomic[] = {4, 4, 4, 24};

static int atom_fields(const struct layout *l, const int **bytes)
{
    int full = strcmp(l->kind->name, "lammps_full") == 0;
    *bytes = full ? atom_full : atom_atomic;
    return full ? 6 : 4;
}

static void lay_lammps(struct layout *l)
{
    const int *bytes;
    int fields = atom_fields(l, &bytes);
    long n = l->d[0];
    l->absolute = 1;
    l->list = choose(n, 4 * n, 1);
    for (int f = 0; f < fields; ++f) {
        size_t each = (size_t)bytes[f], at = l->place[f] = add_array(l, each * 5 * (size_t)n);
        for (long i = 0; i < n; ++i)
            note(l, 0, given, at + each * (size_t)l->list[i], each);
        note(l, 0, taken, at + each * 4 * (size_t)n, each * (size_t)n);
    }
}

static MPI_Datatype make_lammps(const struct layout *l, int part, enum side side)
{
    const int *bytes;
    int fields = atom_fields(l, &bytes), n = (int)l->d[0], *thrice = malloc((size_t)n * sizeof *thrice);
    const char *at[6];
    MPI_Datatype types[6];
    (void)part;
    if (!thrice)
        give_up("no memory for a list");
    for (int i = 0; i < n; ++i)
        thrice[i] = 3 * l->list[i];
    for (int f = 0; f < fields; ++f) {
        MPI_Datatype one = bytes[f] == 4 ? MPI_INT : MPI_DOUBLE;
        int each = bytes[f] == 24 ? 3 : 1;
        if (side == given)
            MPI_Type_create_indexed_block(n, each, each == 3 ? thrice : l->list, one, &types[f]);
        else
            MPI_Type_contiguous(each * n, one, &types[f]);
        at[f] = l->base + l->place[f] + (side == taken ? (size_t)bytes[f] * 4 * (size_t)n : 0);
    }
    free(thrice);
    return at_addresses(fields, at, types);
}

// Atom by atom, as the program does; an int fills the first half of a double's place there, and does not here.
static void pack_lammps(const struct layout *l, int part, char *to)
{
    const int *bytes;
    int fields = atom_fields(l, &bytes);
    (void)part;
    const int *ints[4];
    for (int f = 0; f < fields; ++f)
        if (bytes[f] == 4)
            ints[f] = (const int *)(const void *)(l->base + l->place[f]);
    const double *x = (const double *)(const void *)(l->base + l->place[fields - 1]);
    const double *q = fields == 6 ? (const double *)(const void *)(l->base + l->place[4]) : NULL;
    int whole = q ? 4 : 3;
    for (long i = 0; i < l->d[0]; ++i) {
        long atom = l->list[i];
        for (int f = 0; f < whole; ++f, to += 4)
            memcpy(to, &ints[f][atom], 4);
        if (q) {
            memcpy(to, &q[atom], 8);
            to += 8;
        }
        memcpy(to, &x[3 * atom], 24);
        to += 24;
    }
}

static void unpack_lammps(const struct layout *l, int part, const char *from)
{
    const int *bytes;
    int fields = atom_fields(l, &bytes);
    (void)part;
    int *ints[4];
    for (int f = 0; f < fields; ++f)
        if (bytes[f] == 4)
            ints[f] = (int *)(void *)(l->base + l->place[f]);
    double *x = (double *)(void *)(l->base + l->place[fields - 1]);
    double *q = fields == 6 ? (double *)(void *)(l->base + l->place[4]) : NULL;
    int whole = q ? 4 : 3;
    for (long atom = 4 * l->d[0]; atom < 5 * l->d[0]; ++atom) {
        for (int f = 0; f < whole; ++f, from += 4)
            memcpy(&ints[f][atom], from, 4);
        if (q) {
            memcpy(&q[atom], from, 8);
            from += 8;
        }
        memcpy(&x[3 * atom], from, 24);
        from += 24;
    }
}

#endif
