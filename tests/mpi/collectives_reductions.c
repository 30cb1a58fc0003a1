/* Reductions: every predefined operation on every predefined datatype, by every collective operation that reduces.
 * Usage: mpi_collectives_reductions WAYS SEED; silent and 0 where everything was as it should. */
#include "collectives.h"

#include <stddef.h>
#include <wchar.h>

__extension__ typedef __int128 int128;
__extension__ typedef _Float16 half;
__extension__ typedef __float128 quad;

enum form { SIGNED, UNSIGNED, FLOATING, EXTENDED, COMPLEX, EXTENDED_COMPLEX, TRUTH, PAIR };
/* The groups by which the standard allows operations (6.9.2). */
enum group { NOTHING, C_INTEGER, FORTRAN_INTEGER, FLOAT, LOGICAL, COMPLEX_GROUP, BYTE, MULTI, PAIRS };

struct kind {
    MPI_Datatype type;
    enum group group;
    enum form form;
    int size;           /* of a number; complex: of a part; pairs: of the value */
    enum form value;    /* pairs: the value's */
    int index_at, extent, index_size;
};

static struct kind kinds[80];
static int kind_count;

static void add(MPI_Datatype type, enum group group, enum form form, int size)
{
    int parts = form == COMPLEX || form == EXTENDED_COMPLEX ? 2 : 1;
    struct kind k = {type, group, form, size, form, 0, size * parts, 0};
    kinds[kind_count++] = k;
}

static void add_pair(MPI_Datatype type, enum form value, int size, enum form index, int index_size, int index_at, int extent)
{
    struct kind k = {type, PAIRS, PAIR, size, value, index_at, extent, index == FLOATING ? -index_size : index_size};
    kinds[kind_count++] = k;
}

#define ADD_PAIR(TYPE, FORM, C)                                                                                 \
    do {                                                                                                        \
        struct pair_ { C value; int index; };                                                                   \
        add_pair(TYPE, FORM, sizeof(C), SIGNED, 4, (int)offsetof(struct pair_, index), (int)sizeof(struct pair_)); \
    } while (0)

static void make_kinds(void)
{
    const MPI_Datatype signed_c[] = {MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_INT8_T, MPI_INT16_T, MPI_INT32_T,
                                     MPI_INT64_T};
    const MPI_Datatype unsigned_c[] = {MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG,
                                       MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T};
    const int sizes[] = {1, 2, 4, 8, 8, 1, 2, 4, 8};
    for (int i = 0; i < 9; ++i) {
        add(signed_c[i], C_INTEGER, SIGNED, sizes[i]);
        add(unsigned_c[i], C_INTEGER, UNSIGNED, sizes[i]);
    }
    const MPI_Datatype integers[] = {MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8, MPI_INTEGER16, MPI_INTEGER};
    const int integer_sizes[] = {1, 2, 4, 8, 16, 4};
    for (int i = 0; i < 6; ++i)
        add(integers[i], FORTRAN_INTEGER, SIGNED, integer_sizes[i]);
    add(MPI_AINT, MULTI, SIGNED, 8);
    add(MPI_COUNT, MULTI, SIGNED, 8);
    add(MPI_OFFSET, MULTI, SIGNED, 8);
    add(MPI_BYTE, BYTE, UNSIGNED, 1);
    const MPI_Datatype floats[] = {MPI_FLOAT, MPI_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL2, MPI_REAL4, MPI_REAL8, MPI_REAL16};
    const int float_sizes[] = {4, 8, 4, 8, 2, 4, 8, 16};
    for (int i = 0; i < 8; ++i)
        add(floats[i], FLOAT, FLOATING, float_sizes[i]);
    add(MPI_LONG_DOUBLE, FLOAT, EXTENDED, sizeof(long double));
    const MPI_Datatype complexes[] = {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX, MPI_COMPLEX,
                                      MPI_DOUBLE_COMPLEX, MPI_COMPLEX4, MPI_COMPLEX8, MPI_COMPLEX16, MPI_COMPLEX32};
    const int part_sizes[] = {4, 8, 4, 8, 4, 8, 2, 4, 8, 16};
    for (int i = 0; i < 10; ++i)
        add(complexes[i], COMPLEX_GROUP, COMPLEX, part_sizes[i]);
    add(MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX_GROUP, EXTENDED_COMPLEX, sizeof(long double));
    add(MPI_CXX_LONG_DOUBLE_COMPLEX, COMPLEX_GROUP, EXTENDED_COMPLEX, sizeof(long double));
    add(MPI_C_BOOL, LOGICAL, TRUTH, 1);
    add(MPI_CXX_BOOL, LOGICAL, TRUTH, 1);
    const MPI_Datatype logicals[] = {MPI_LOGICAL, MPI_LOGICAL1, MPI_LOGICAL2, MPI_LOGICAL4, MPI_LOGICAL8, MPI_LOGICAL16};
    const int logical_sizes[] = {4, 1, 2, 4, 8, 16};
    for (int i = 0; i < 6; ++i)
        add(logicals[i], LOGICAL, TRUTH, logical_sizes[i]);
    ADD_PAIR(MPI_FLOAT_INT, FLOATING, float);
    ADD_PAIR(MPI_DOUBLE_INT, FLOATING, double);
    ADD_PAIR(MPI_LONG_INT, SIGNED, long);
    ADD_PAIR(MPI_2INT, SIGNED, int);
    ADD_PAIR(MPI_SHORT_INT, SIGNED, short);
    ADD_PAIR(MPI_LONG_DOUBLE_INT, EXTENDED, long double);
    add_pair(MPI_2REAL, FLOATING, 4, FLOATING, 4, 4, 8);
    add_pair(MPI_2DOUBLE_PRECISION, FLOATING, 8, FLOATING, 8, 8, 16);
    add_pair(MPI_2INTEGER, SIGNED, 4, SIGNED, 4, 4, 8);
    add(MPI_CHAR, C_INTEGER, SIGNED, 1);  /* as other libraries do */
    add(MPI_CHARACTER, NOTHING, SIGNED, 1);
    add(MPI_WCHAR, NOTHING, SIGNED, sizeof(wchar_t));
    add(MPI_PACKED, NOTHING, UNSIGNED, 1);
}

enum { MAX, MIN, SUM, PROD, LAND, LOR, LXOR, BAND, BOR, BXOR, MAXLOC, MINLOC, REPLACE, NO_OP, OPERATIONS };
static MPI_Op operations[OPERATIONS];

static int allowed(int op, enum group g)
{
    switch (op) {
    case MAX:
    case MIN: return g == C_INTEGER || g == FORTRAN_INTEGER || g == FLOAT || g == MULTI;
    case SUM:
    case PROD: return g == C_INTEGER || g == FORTRAN_INTEGER || g == FLOAT || g == COMPLEX_GROUP || g == MULTI;
    case LAND:
    case LOR:
    case LXOR: return g == C_INTEGER || g == LOGICAL || g == MULTI; /* the last more than the standard asks for */
    case BAND:
    case BOR:
    case BXOR: return g == C_INTEGER || g == FORTRAN_INTEGER || g == BYTE || g == MULTI;
    case MAXLOC:
    case MINLOC: return g == PAIRS;
    default: return 0;
    }
}

/* A number of any kind: small, so that every kind holds it exactly. */
struct number {
    long long re, im;
};

static void put_part(enum form form, int bytes, char* at, long long v)
{
    if (form == SIGNED || form == UNSIGNED || form == TRUTH) {
        int128 wide = v;
        memcpy(at, &wide, (size_t)bytes);
    } else if (form == EXTENDED || form == EXTENDED_COMPLEX) {
        long double x = (long double)v;
        memcpy(at, &x, sizeof x);
    } else if (bytes == 2) {
        half x = (half)v;
        memcpy(at, &x, 2);
    } else if (bytes == 4) {
        float x = (float)v;
        memcpy(at, &x, 4);
    } else if (bytes == 8) {
        double x = (double)v;
        memcpy(at, &x, 8);
    } else {
        quad x = (quad)v;
        memcpy(at, &x, 16);
    }
}

/* The number, or what is nowhere used if it is none of ours. */
static long long part_of(enum form form, int bytes, const char* at)
{
    if (form == SIGNED || form == UNSIGNED || form == TRUTH) {
        int128 wide = 0;
        memcpy(&wide, at, (size_t)bytes);
        if (form == UNSIGNED || bytes == 16)
            return (long long)wide;
        int shift = 64 - 8 * bytes;
        return (long long)((unsigned long long)wide << shift) >> shift;
    }
    if (form == EXTENDED || form == EXTENDED_COMPLEX) {
        long double x;
        memcpy(&x, at, sizeof x);
        return (long long)x;
    }
    if (bytes == 2) {
        half x;
        memcpy(&x, at, 2);
        return (long long)(float)x;
    }
    if (bytes == 4) {
        float x;
        memcpy(&x, at, 4);
        return (long long)x;
    }
    if (bytes == 8) {
        double x;
        memcpy(&x, at, 8);
        return (long long)x;
    }
    quad x;
    memcpy(&x, at, 16);
    return (long long)x;
}

static void put(const struct kind* k, char* buffer, int i, struct number n)
{
    char* at = buffer + (size_t)i * (size_t)k->extent;
    put_part(k->value, k->size, at, n.re);
    if (k->form == COMPLEX || k->form == EXTENDED_COMPLEX)
        put_part(k->form, k->size, at + k->size, n.im);
    if (k->form == PAIR)
        put_part(k->index_size < 0 ? FLOATING : SIGNED, abs(k->index_size), at + k->index_at, n.im);
}

static struct number number_at(const struct kind* k, const char* buffer, int i)
{
    const char* at = buffer + (size_t)i * (size_t)k->extent;
    struct number n = {part_of(k->value, k->size, at), 0};
    if (k->form == COMPLEX || k->form == EXTENDED_COMPLEX)
        n.im = part_of(k->form, k->size, at + k->size);
    if (k->form == PAIR)
        n.im = part_of(k->index_size < 0 ? FLOATING : SIGNED, abs(k->index_size), at + k->index_at);
    return n;
}

/* What rank r has at position i. */
static struct number operand(int op, const struct kind* k, int r, int i)
{
    int v = (r * 7 + i * 3 + r * i) % 5;
    struct number n = {v, 0};
    if (op == PROD) {
        int factor = r < 12;  /* more would not fit a number of 8 bits */
        n.re = factor ? (r + i) % 2 + 1 : 1;
        n.im = factor && (k->form == COMPLEX || k->form == EXTENDED_COMPLEX) ? (r + i) % 3 == 0 : 0;
    } else if (k->form == COMPLEX || k->form == EXTENDED_COMPLEX) {
        n.im = r - i % 3;
    } else if (k->form == PAIR) {
        n.im = (r * 5 + i) % 8;  /* not in the order of ranks */
    } else if (k->form == TRUTH) {
        n.re = v % 2;
    } else if (op == LAND || op == LOR || op == LXOR) {
        n.re = v % 3;
    } else if (k->form != UNSIGNED && (op == MAX || op == MIN || op == SUM)) {
        n.re = v - 2;
    }
    return n;
}

static struct number combined(int op, const struct kind* k, struct number a, struct number b)
{
    struct number n = {0, 0};
    switch (op) {
    case MAX: n.re = a.re > b.re ? a.re : b.re; break;
    case MIN: n.re = a.re < b.re ? a.re : b.re; break;
    case SUM: n.re = a.re + b.re, n.im = a.im + b.im; break;
    case PROD: n.re = a.re * b.re - a.im * b.im, n.im = a.re * b.im + a.im * b.re; break;
    case LAND: n.re = a.re && b.re; break;
    case LOR: n.re = a.re || b.re; break;
    case LXOR: n.re = !a.re != !b.re; break;
    case BAND: n.re = a.re & b.re; break;
    case BOR: n.re = a.re | b.re; break;
    case BXOR: n.re = a.re ^ b.re; break;
    default:
        if (a.re == b.re)
            return a.im < b.im ? a : b;
        return (a.re > b.re) == (op == MAXLOC) ? a : b;
    }
    (void)k;
    return n;
}

/* Over the ranks [first, last). */
static struct number expected(int op, const struct kind* k, int first, int last, int i)
{
    struct number n = operand(op, k, first, i);
    for (int r = first + 1; r < last; ++r)
        n = combined(op, k, n, operand(op, k, r, i));
    return n;
}

static int same(int op, const struct kind* k, struct number got, struct number want, int of)
{
    if (k->form == TRUTH && k->type != MPI_C_BOOL && k->type != MPI_CXX_BOOL)
        return !got.re == !want.re;
    if (of == 1 && (op == LAND || op == LOR || op == LXOR))
        return !got.re == !want.re;  /* one operand alone stays as it is */
    return got.re == want.re && got.im == want.im;
}

static const int most = 500;
static char *out, *in;

static void check(int op, const struct kind* k, int first, int last, int from, int n)
{
    for (int i = 0; i < n; ++i)
        CHECK(same(op, k, number_at(k, in, i), expected(op, k, first, last, from + i), last - first));
}

static void reductions(int op, const struct kind* k, int n, int in_place)
{
    MPI_Datatype t = k->type;
    MPI_Op o = operations[op];
    int total = n * size, root = draw(size);
    starts = in_place ? 1 : 2;
#define FILL(count)                                                                                                                     \
    for (int i_ = 0; i_ < (count); ++i_)                                                                                                \
        put(k, in_place ? in : out, i_, operand(op, k, rank, i_))
    void* send = in_place ? MPI_IN_PLACE : out;

    FILL(n);
    EVERY_WAY(Allreduce, allreduce, send, in, n, t, o);
    check(op, k, 0, size, 0, n);

    FILL(n);
    if (rank == root)
        EVERY_WAY(Reduce, reduce, send, in, n, t, o, root);
    else
        EVERY_WAY(Reduce, reduce, in_place ? in : out, NULL, n, t, o, root);
    if (rank == root)
        check(op, k, 0, size, 0, n);

    FILL(n);
    EVERY_WAY(Scan, scan, send, in, n, t, o);
    check(op, k, 0, rank + 1, 0, n);

    FILL(n);
    if (rank == 0 && !in_place)
        for (int i = 0; i < n; ++i)
            put(k, in, i, operand(op, k, 3, i));
    EVERY_WAY(Exscan, exscan, send, in, n, t, o);
    if (rank == 0)
        check(op, k, in_place ? 0 : 3, in_place ? 1 : 4, 0, n);
    else
        check(op, k, 0, rank, 0, n);

    FILL(total);
    EVERY_WAY(Reduce_scatter_block, reduce_scatter_block, send, in, n, t, o);
    check(op, k, 0, size, rank * n, n);

    int counts[16], before = 0, all = 0;
    for (int r = 0; r < size; ++r) {
        counts[r] = n == 0 ? 0 : draw(n);
        before += r < rank ? counts[r] : 0;
        all += counts[r];
    }
    FILL(all);
    EVERY_WAY(Reduce_scatter, reduce_scatter, send, in, counts, t, o);
    check(op, k, 0, size, before, counts[rank]);

    now = "Reduce_local";
    for (int i = 0; i < n; ++i) {
        put(k, out, i, operand(op, k, 2, i));
        put(k, in, i, operand(op, k, 3, i));
    }
    MPI_Reduce_local(out, in, n, t, o);
    check(op, k, 2, 4, 0, n);
}

/* What is not allowed is refused, and nothing is communicated. */
static void refused(int op, const struct kind* k)
{
    now = "refusal";
    int expected_class = MPI_ERR_OP, class = -1;
    int code = MPI_Allreduce(out, in, 1, k->type, operations[op], comm);
    MPI_Error_class(code, &class);
    CHECK(class == expected_class);
    code = MPI_Reduce_local(out, in, 1, k->type, operations[op]);
    MPI_Error_class(code, &class);
    CHECK(class == expected_class);
}

/* Sums of doubles: the same bits on all ranks, and each time. */
static void bits(int n)
{
    double *a = malloc(sizeof(double) * (size_t)n), *b = malloc(sizeof(double) * (size_t)n), *c = malloc(sizeof(double) * (size_t)n);
    for (int i = 0; i < n; ++i)
        a[i] = (draw_own(1000003) - 500000) / (draw_own(977) + 1.0);
    MPI_Allreduce(a, b, n, MPI_DOUBLE, MPI_SUM, comm);
    memcpy(c, b, sizeof(double) * (size_t)n);
    MPI_Bcast(c, n, MPI_DOUBLE, size - 1, comm);
    now = "bits of all ranks";
    CHECK(memcmp(b, c, sizeof(double) * (size_t)n) == 0);
    MPI_Allreduce(a, c, n, MPI_DOUBLE, MPI_SUM, comm);
    now = "bits of two runs";
    CHECK(memcmp(b, c, sizeof(double) * (size_t)n) == 0);
    free(a), free(b), free(c);
}

int main(int argc, char** argv)
{
    if (argc != 3)
        return 2;
    MPI_Init(&argc, &argv);
    comm = MPI_COMM_WORLD;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    begin_chance(strtoull(argv[2], NULL, 10));
    make_kinds();
    MPI_Op const all[] = {MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC,
                          MPI_REPLACE, MPI_NO_OP};
    memcpy(operations, all, sizeof all);
    out = malloc((size_t)(32 * most * size));
    in = malloc((size_t)(32 * most * size));
    for (int k = 0; k < kind_count; ++k)
        for (int op = 0; op < OPERATIONS; ++op) {
            way = argv[1][draw((int)strlen(argv[1]))] - '0';
            const int counts[] = {1, 2, 3, 40, 500, 0};
            if (allowed(op, kinds[k].group))
                reductions(op, &kinds[k], counts[draw(6)], draw(3) == 0);
            else
                refused(op, &kinds[k]);
        }
    for (int n = 1; n < 40000; n *= 5)
        bits(n);
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
