// What layout.c measures: data of a program's arrays that are not beside each other. A pattern describes the same bytes three times, and
// each description checks the others: as runs (here: what is written before a message and compared after it), as an MPI datatype, and as
// the loops that a program would write to pack and unpack them.
#ifndef TOWLINE_BENCH_LAYOUT_PATTERN_H
#define TOWLINE_BENCH_LAYOUT_PATTERN_H

#include "../mpi/turn.h"

#include <mpi.h>

enum { dims_most = 4, parts_most = 6 };
enum side { given, taken };

struct run {
    size_t at, bytes;  // multiples of 4
};

struct runs {
    struct run *all;
    size_t many, room;
};

struct layout;

struct pattern {
    const char *name;
    int dims;                                   // numbers behind the name
    void (*lay)(struct layout *l);              // says how many bytes, which runs, and where datatypes begin
    MPI_Datatype (*make)(const struct layout *l, int part, enum side side);  // not committed
    void (*pack)(const struct layout *l, int part, char *to);
    void (*unpack)(const struct layout *l, int part, const char *from);
    int same;                                   // one datatype is both sides'
    void (*call)(struct layout *l);             // collective patterns: the operation, with datatypes
    void (*call_packed)(struct layout *l);      // with contiguous bytes, between pack and unpack
};

// The arrays of one rank, in one block. A part is a message of an exchange, or what a rank of a collective operation gives or takes.
struct layout {
    const struct pattern *kind;
    int rank;
    long d[dims_most];
    size_t extent;                     // of all arrays
    size_t bytes;                      // what the figure's size is
    int parts[2];
    struct runs runs[parts_most][2];
    size_t part_bytes[parts_most][2];
    int from_rank[parts_most], from_part[parts_most];  // whose given part a taken part is
    size_t begin[parts_most][2];       // from the start of the block; absolute: datatypes hold addresses
    int absolute;
    int *list;                         // of patterns with lists
    size_t place[16];                  // of the arrays, where there are many
    MPI_Datatype type[parts_most][2];
    char *base, *packed[2];
    uint32_t *dirty;                   // a word of each line of what is given, and how many there are
    size_t dirty_many;
    unsigned looked;                   // ways whose gaps were looked at
};

static inline void *begin_of(const struct layout *l, int part, enum side side)
{
    return l->absolute ? MPI_BOTTOM : l->base + l->begin[part][side];
}

static void note(struct layout *l, int part, enum side side, size_t at, size_t bytes)
{
    struct runs *r = &l->runs[part][side];
    if (r->many == r->room) {
        r->room = r->room ? 2 * r->room : 64;
        r->all = realloc(r->all, r->room * sizeof *r->all);
        if (!r->all)
            give_up("no memory for a list of runs");
    }
    r->all[r->many++] = (struct run){at, bytes};
    l->part_bytes[part][side] += bytes;
}

// `many` blocks, `stride` from each other, `rows` times, `pitch` from each other.
static void note_blocks(struct layout *l, int part, enum side side, size_t at, long rows, size_t pitch, long many, size_t stride,
                        size_t bytes)
{
    for (long row = 0; row < rows; ++row)
        for (long i = 0; i < many; ++i)
            note(l, part, side, at + (size_t)row * pitch + (size_t)i * stride, bytes);
}

// Numbers that look like chance, and are the same everywhere.
static inline uint32_t chance(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

// `many` different numbers below `below`, in any order, or in rising order.
static int *choose(long many, long below, int rising)
{
    int *all = malloc((size_t)below * sizeof *all);
    char *chosen = calloc((size_t)below, 1);
    if (!all || !chosen)
        give_up("no memory for a list");
    uint64_t state = (uint64_t)many;
    for (long i = 0; i < below; ++i)
        all[i] = (int)i;
    for (long i = 0; i < many; ++i) {
        long with = i + (long)(chance(&state) % (uint64_t)(below - i));
        int other = all[with];
        all[with] = all[i];
        all[i] = other;
        chosen[other] = 1;
    }
    for (long i = 0, k = 0; rising && i < below; ++i)
        if (chosen[i])
            all[k++] = (int)i;
    free(chosen);
    return all;
}

// Data are words of 4 bytes, which say whose they are, in which message, and where they lay.
static inline uint32_t datum(int rank, uint64_t k, size_t at)
{
    return (uint32_t)(at / 4 * 2654435761u + k * 40503u + (uint64_t)rank * 13 + 1);
}

static void write_given(const struct layout *l, uint64_t k)
{
    for (int p = 0; p < l->parts[given]; ++p)
        for (size_t i = 0; i < l->runs[p][given].many; ++i) {
            struct run r = l->runs[p][given].all[i];
            for (size_t at = r.at; at < r.at + r.bytes; at += 4)
                *(uint32_t *)(void *)(l->base + at) = datum(l->rank, k, at);
        }
}

// 0 if the taken part is what rank `from` gave as message k: runs of both sides are gone through together.
static uint64_t part_differs(const struct layout *l, int part, int from, uint64_t k)
{
    const struct runs *theirs = &l->runs[l->from_part[part]][given], *own = &l->runs[part][taken];
    uint64_t wrong = l->part_bytes[part][taken] != l->part_bytes[l->from_part[part]][given];
    size_t t = 0, in = 0;
    for (size_t i = 0; !wrong && i < own->many; ++i)
        for (size_t at = own->all[i].at; at < own->all[i].at + own->all[i].bytes; at += 4) {
            wrong |= *(uint32_t *)(void *)(l->base + at) ^ datum(from, k, theirs->all[t].at + in);
            in += 4;
            if (in == theirs->all[t].bytes) {
                in = 0;
                ++t;
            }
        }
    return wrong;
}

// 0 if what was given still stands there.
static uint64_t given_differs(const struct layout *l, uint64_t k)
{
    uint64_t wrong = 0;
    for (int p = 0; p < l->parts[given]; ++p)
        for (size_t i = 0; i < l->runs[p][given].many; ++i) {
            struct run r = l->runs[p][given].all[i];
            for (size_t at = r.at; at < r.at + r.bytes; at += 4)
                wrong |= *(uint32_t *)(void *)(l->base + at) ^ datum(l->rank, k, at);
        }
    return wrong;
}

// 0 if the packed bytes are a given part's, in the order of its runs.
static uint64_t packed_differs(const struct layout *l, int part, uint64_t k)
{
    const uint32_t *next = (const uint32_t *)(const void *)l->packed[given];
    uint64_t wrong = 0;
    for (size_t i = 0; i < l->runs[part][given].many; ++i) {
        struct run r = l->runs[part][given].all[i];
        for (size_t at = r.at; at < r.at + r.bytes; at += 4)
            wrong |= *next++ ^ datum(l->rank, k, at);
    }
    return wrong;
}

enum { gap_word = 0x5a5a5a5a, page_words = page_size / 4 };

// A bit for each word of data; the caller frees it.
static uint64_t *data_words(const struct layout *l)
{
    uint64_t *bits = calloc(l->extent / 256 + page_words / 64 + 1, 8);
    if (!bits)
        give_up("no memory for a map of words");
    for (int side = given; side <= taken; ++side)
        for (int p = 0; p < l->parts[side]; ++p)
            for (size_t i = 0; i < l->runs[p][side].many; ++i) {
                struct run r = l->runs[p][side].all[i];
                for (size_t w = r.at / 4; w < (r.at + r.bytes) / 4; ++w)
                    bits[w / 64] |= 1ull << (w % 64);
            }
    return bits;
}

// Writes, or compares, every word that is no data, of those pages in which data lie; other pages are never touched.
static uint64_t gaps(const struct layout *l, const uint64_t *bits, int write)
{
    uint64_t wrong = 0;
    uint32_t *words = (uint32_t *)(void *)l->base;
    for (size_t page = 0; page < l->extent / 4; page += page_words) {
        uint64_t any = 0;
        for (size_t b = 0; b < page_words / 64; ++b)
            any |= bits[page / 64 + b];
        for (size_t w = page; any && w < page + page_words && w < l->extent / 4; ++w)
            if (!(bits[w / 64] >> (w % 64) & 1)) {
                if (write)
                    words[w] = gap_word;
                else
                    wrong |= words[w] ^ gap_word;
            }
    }
    return wrong;
}

static void make_types(struct layout *l)
{
    for (int side = given; side <= taken; ++side)
        for (int p = 0; p < l->parts[side]; ++p) {
            if (side == taken && l->kind->same) {
                l->type[p][taken] = l->type[p][given];
                continue;
            }
            l->type[p][side] = l->kind->make(l, p, (enum side)side);
            MPI_Type_commit(&l->type[p][side]);
        }
}

static void free_types(struct layout *l)
{
    for (int side = given; side <= taken; ++side)
        for (int p = 0; p < l->parts[side]; ++p)
            if (side == given || !l->kind->same)
                MPI_Type_free(&l->type[p][side]);
}

// Lines may be listed twice where runs of two parts share them.
static void list_lines(struct layout *l)
{
    size_t room = 0, last = SIZE_MAX;
    for (int p = 0; p < l->parts[given]; ++p)
        for (size_t i = 0; i < l->runs[p][given].many; ++i)
            room += l->runs[p][given].all[i].bytes / line_size + 2;
    l->dirty = malloc((room + 1) * sizeof *l->dirty);
    if (!l->dirty)
        give_up("no memory for a list of lines");
    for (int p = 0; p < l->parts[given]; ++p)
        for (size_t i = 0; i < l->runs[p][given].many; ++i) {
            struct run r = l->runs[p][given].all[i];
            for (size_t at = r.at; at < r.at + r.bytes; at = (at / line_size + 1) * line_size)
                if (at / line_size != last) {
                    last = at / line_size;
                    l->dirty[l->dirty_many++] = (uint32_t)(at / 4);
                }
        }
}

static void dirty_given(const struct layout *l, uint32_t value)
{
    for (size_t i = 0; i < l->dirty_many; ++i)
        ((volatile uint32_t *)(void *)l->base)[l->dirty[i]] = value;
}

static void *block(size_t bytes)
{
    void *at = NULL;
    if (posix_memalign(&at, page_size, bytes ? bytes : 1) != 0)
        give_up("no memory for arrays");
    return at;
}

static void lay_out(struct layout *l)
{
    for (int p = 0; p < parts_most; ++p) {
        l->from_rank[p] = 1 - l->rank;
        l->from_part[p] = p;
    }
    l->parts[given] = l->parts[taken] = 1;
    l->kind->lay(l);
    size_t sum[2] = {0, 0};
    for (int side = given; side <= taken; ++side)
        for (int p = 0; p < l->parts[side]; ++p)
            sum[side] += l->part_bytes[p][side];
    if (!l->bytes)
        l->bytes = sum[given];
    l->base = block(l->extent);
    list_lines(l);
    write_given(l, 0);
    for (int side = given; side <= taken; ++side) {
        l->packed[side] = block(sum[side]);
        memset(l->packed[side], 1, sum[side]);
        for (int p = 0; p < l->parts[side]; ++p)
            for (size_t i = 0; side == taken && i < l->runs[p][side].many; ++i)
                memset(l->base + l->runs[p][side].all[i].at, 0, l->runs[p][side].all[i].bytes);
    }
    make_types(l);
}

static void clear_away(struct layout *l)
{
    if (!l->kind)
        return;
    free_types(l);
    for (int p = 0; p < parts_most; ++p)
        for (int side = given; side <= taken; ++side)
            free(l->runs[p][side].all);
    free(l->base);
    free(l->packed[given]);
    free(l->packed[taken]);
    free(l->list);
    free(l->dirty);
    *l = (struct layout){.rank = l->rank};
}

#endif
