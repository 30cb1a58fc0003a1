/* Operations of the program, on datatypes of the program.
 * Usage: mpi_collectives_user WAYS SEED; silent and 0 where everything was as it should. */
#include "collectives.h"

/* What is combined: the function x -> a x + b modulo a prime. Composition is associative, and does not commute. */
enum { PRIME = 10007, MOST = 3000 };
struct affine {
    int a, b;
};

static struct affine composed(struct affine first, struct affine then)
{
    struct affine c = {(int)((long long)first.a * then.a % PRIME), (int)(((long long)first.b * then.a + then.b) % PRIME)};
    return c;
}

/* How an element lies in memory. */
struct layout {
    const char* name;
    MPI_Datatype type;
    int stride; /* ints from one element to the next; may be negative */
    int a, b;   /* where the two numbers are, in ints */
};

static struct layout layouts[8];
static int layout_count;
static const struct layout* current; /* the layout that functions of the program are to see */
static MPI_Datatype expected_handle;
static long long calls_seen, elements_seen;

static void make_layouts(void)
{
    MPI_Datatype t, pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    struct layout close = {"close", pair, 2, 0, 1};
    layouts[layout_count++] = close;

    int one[] = {1, 1};
    MPI_Aint apart[] = {4, 12};
    MPI_Datatype ints[] = {MPI_INT, MPI_INT};
    MPI_Type_create_struct(2, one, apart, ints, &t);
    struct layout gaps = {"gaps", MPI_DATATYPE_NULL, 4, 1, 3};
    MPI_Type_create_resized(t, 0, 16, &gaps.type);
    layouts[layout_count++] = gaps;

    /* The second number first. */
    MPI_Aint turned[] = {4, 0};
    struct layout swapped = {"swapped", MPI_DATATYPE_NULL, 2, 1, 0};
    MPI_Type_create_struct(2, one, turned, ints, &swapped.type);
    layouts[layout_count++] = swapped;

    /* Before and after the address that the program gives. */
    MPI_Aint around[] = {-8, 8};
    struct layout negative = {"negative lower bound", MPI_DATATYPE_NULL, 6, -2, 2};
    MPI_Type_free(&t);
    MPI_Type_create_struct(2, one, around, ints, &t);
    MPI_Type_create_resized(t, -8, 24, &negative.type);
    layouts[layout_count++] = negative;

    /* Elements that reach into each other. */
    MPI_Aint far[] = {0, 400};
    struct layout woven = {"woven", MPI_DATATYPE_NULL, 1, 0, 100};
    MPI_Type_free(&t);
    MPI_Type_create_struct(2, one, far, ints, &t);
    MPI_Type_create_resized(t, 0, 4, &woven.type);
    layouts[layout_count++] = woven;

    /* From the end of the buffer to its begin. */
    struct layout backward = {"backward", MPI_DATATYPE_NULL, -2, 0, 1};
    MPI_Type_create_resized(pair, 0, -8, &backward.type);
    layouts[layout_count++] = backward;

    /* In a row, and not at the address that the program gives. */
    struct layout behind = {"behind", MPI_DATATYPE_NULL, 2, 5, 6};
    MPI_Aint at20[] = {20, 24};
    MPI_Type_free(&t);
    MPI_Type_create_struct(2, one, at20, ints, &t);
    MPI_Type_create_resized(t, 20, 8, &behind.type);
    layouts[layout_count++] = behind;
    MPI_Type_free(&t);
    for (int i = 0; i < layout_count; ++i)
        MPI_Type_commit(&layouts[i].type);
}

static struct affine get(const struct layout* l, const int* base, long long i)
{
    struct affine x = {base[i * l->stride + l->a], base[i * l->stride + l->b]};
    return x;
}

static void put(const struct layout* l, int* base, long long i, struct affine x)
{
    base[i * l->stride + l->a] = x.a;
    base[i * l->stride + l->b] = x.b;
}

static void compose(void* in, void* inout, long long n, MPI_Datatype type)
{
    MPI_Aint lb = -1, extent = -1;
    MPI_Type_get_extent(type, &lb, &extent);
    CHECK(extent == 4 * current->stride);
    CHECK(expected_handle == MPI_DATATYPE_NULL || type == expected_handle);
    CHECK(n > 0);
    for (long long i = 0; i < n; ++i)
        put(current, inout, i, composed(get(current, in, i), get(current, inout, i)));
    ++calls_seen;
    elements_seen += n;
}

static void user(void* in, void* inout, int* n, MPI_Datatype* type) { compose(in, inout, *n, *type); }
static void user_c(void* in, void* inout, MPI_Count* n, MPI_Datatype* type) { compose(in, inout, *n, *type); }

static struct affine operand(int r, int i)
{
    struct affine x = {(r * 37 + i * 11) % 1000 + 2, (r * 101 + i * 13) % PRIME};
    return x;
}

static struct affine expected(int first, int last, int i)
{
    struct affine x = operand(first, i);
    for (int r = first + 1; r < last; ++r)
        x = composed(x, operand(r, i));
    return x;
}

enum { GAP = -99, MARGIN = 128 };
static int *out_memory, *in_memory, *out, *in;

static void clear(int* memory, int ints)
{
    for (int i = 0; i < ints; ++i)
        memory[i] = GAP;
}

/* Base addresses for `n` elements, and memory that is all gap. */
static void begin(const struct layout* l, int n)
{
    int ints = 8 * (n + 1) + 2 * MARGIN;
    clear(out_memory, ints);
    clear(in_memory, ints);
    out = out_memory + MARGIN + (l->stride < 0 ? 2 * n : 0);
    in = in_memory + MARGIN + (l->stride < 0 ? 2 * n : 0);
    current = l;
}

/* Elements [0, n) of `in` are those of the positions from `from` on of the ranks [first, last); what no element covers is as it was. */
static void check(int first, int last, int from, int n, int total)
{
    const struct layout* l = current;
    for (int i = 0; i < n; ++i) {
        struct affine got = get(l, in, i), want = expected(first, last, from + i);
        CHECK(got.a == want.a && got.b == want.b);
    }
    if (l->stride == 1)
        return;
    for (int i = 0; i < total; ++i) {
        struct affine gap = {GAP, GAP};
        put(l, in, i, gap);
    }
    for (int i = 0; i < 8 * (total + 1) + 2 * MARGIN; ++i)
        CHECK(in_memory[i] == GAP);
}

static void every_operation(const struct layout* l, MPI_Op op, int n, int in_place)
{
    int root = draw(size), total = n * size, counts[16], before = 0, all = 0;
    for (int r = 0; r < size; ++r) {
        counts[r] = n == 0 ? 0 : draw(n + 1);
        before += r < rank ? counts[r] : 0;
        all += counts[r];
    }
    starts = in_place ? 1 : 2;
#define BEGIN(n)                                               \
    begin(l, n);                                               \
    for (int i_ = 0; i_ < (n); ++i_)                           \
        put(l, in_place ? in : out, i_, operand(rank, i_));    \
    void* send = in_place ? MPI_IN_PLACE : out
    {
        BEGIN(n);
        EVERY_WAY(Allreduce, allreduce, send, in, n, l->type, op);
        check(0, size, 0, n, n);
    }
    {
        BEGIN(n);
        EVERY_WAY(Reduce, reduce, rank == root ? send : in_place ? in : out, rank == root ? in : NULL, n, l->type, op, root);
        if (rank == root)
            check(0, size, 0, n, n);
    }
    {
        BEGIN(n);
        EVERY_WAY(Scan, scan, send, in, n, l->type, op);
        check(0, rank + 1, 0, n, n);
    }
    {
        BEGIN(n);
        EVERY_WAY(Exscan, exscan, send, in, n, l->type, op);
        if (rank != 0)
            check(0, rank, 0, n, n);
        else
            check(0, 1, 0, in_place ? n : 0, n);
    }
    {
        BEGIN(total);
        EVERY_WAY(Reduce_scatter_block, reduce_scatter_block, send, in, n, l->type, op);
        check(0, size, rank * n, n, in_place ? total : n);
    }
    {
        BEGIN(all);
        EVERY_WAY(Reduce_scatter, reduce_scatter, send, in, counts, l->type, op);
        check(0, size, before, counts[rank], in_place ? all : counts[rank]);
    }
    if (l->stride == 1)
        return;
    begin(l, n);
    for (int i = 0; i < n; ++i) {
        put(l, out, i, operand(4, i));
        put(l, in, i, operand(5, i));
    }
    now = "Reduce_local";
    MPI_Reduce_local(out, in, n, l->type, op);
    check(4, 6, 0, n, n);
}

/* Datatype and operation are freed while the operation is under way. */
static void freed(const struct layout* l)
{
    MPI_Datatype type;
    MPI_Op op;
    MPI_Request r;
    now = "freed";
    enum { N = 50 };
    begin(l, N);
    for (int i = 0; i < N; ++i)
        put(l, out, i, operand(rank, i));
    MPI_Type_dup(l->type, &type);
    MPI_Op_create(user, 0, &op);
    expected_handle = MPI_DATATYPE_NULL;
    MPI_Iallreduce(out, in, N, type, op, comm, &r);
    MPI_Type_free(&type);
    MPI_Op_free(&op);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    check(0, size, 0, N, N);
}

int main(int argc, char** argv)
{
    if (argc != 3)
        return 2;
    MPI_Init(&argc, &argv);
    comm = MPI_COMM_WORLD;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    begin_chance(strtoull(argv[2], NULL, 10));
    out_memory = malloc(sizeof(int) * (size_t)(8 * (MOST * size + 1) + 2 * MARGIN));
    in_memory = malloc(sizeof(int) * (size_t)(8 * (MOST * size + 1) + 2 * MARGIN));
    make_layouts();
    MPI_Op small, large;
    MPI_Op_create(user, 0, &small);
    MPI_Op_create_c(user_c, 0, &large);
    for (int round = 0; round < 60; ++round) {
        const int counts[] = {0, 1, 2, 3, 30, MOST};
        const struct layout* l = &layouts[round % layout_count];
        int woven = l->stride == 1;
        way = argv[1][draw((int)strlen(argv[1]))] - '0';
        int n = woven ? 1 + draw(2) : counts[draw(6)], in_place = draw(3) == 0;
        expected_handle = l->type;
        calls_seen = elements_seen = 0;
        every_operation(l, round % 2 ? small : large, n, in_place && !woven);
        CHECK(n == 0 || size == 1 || calls_seen > 0);
    }
    for (int i = 0; i < layout_count; ++i)
        if (layouts[i].stride != 1)
            freed(&layouts[i]);
    for (int i = 0; i < layout_count; ++i)
        MPI_Type_free(&layouts[i].type);
    MPI_Op_free(&small);
    MPI_Op_free(&large);
    free(out_memory);
    free(in_memory);
    MPI_Finalize();
    return 0;
}
