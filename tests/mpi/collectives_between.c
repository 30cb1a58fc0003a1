/* Collective operations between the two groups of an intercommunicator.
 * Usage: mpi_collectives_between WAYS SEED; silent and 0 where everything was as it should. */
#include "collectives.h"

/* In this group, in the other, and which of the two this is. */
static int here, mine, others, side;
enum { EMPTY = -3, ROOM = 20000 };

/* Ints, or ints with a gap behind each. */
static MPI_Datatype gapped;
struct buffer {
    MPI_Datatype type;
    int stride;
    int* memory;
};

static struct buffer make(void)
{
    struct buffer b = {MPI_INT, 1, malloc(sizeof(int) * 2 * ROOM)};
    if (draw_own(2)) {
        b.type = gapped;
        b.stride = 2;
    }
    for (int i = 0; i < 2 * ROOM; ++i)
        b.memory[i] = EMPTY;
    return b;
}

static int* at(struct buffer* b, int i) { return b->memory + i * b->stride; }

static struct buffer in, out;

static void begin(void)
{
    free(in.memory), free(out.memory);
    in = make(), out = make();
}

/* What rank `from` of group `g` has for rank `to` of the other. */
static int value_of(int g, int from, int to, int i) { return g * 1000000 + from * 100000 + to * 10000 + i; }

static void fill(int n, int to, int first)
{
    for (int i = 0; i < n; ++i)
        *at(&out, first + i) = value_of(side, here, to, i);
}

static void check(int n, int from, int to, int first)
{
    for (int i = 0; i < n; ++i) {
        CHECK(*at(&in, first + i) == value_of(!side, from, to, i));
        CHECK(in.stride == 1 || in.memory[2 * (first + i) + 1] == EMPTY);
    }
}

/* Of a rank. */
static int amount(int g, int from, int most) { return most == 0 ? 0 : (g * 3 + from * 5 + 1) % most; }
static int amount_for(int g, int from, int to, int most) { return most == 0 ? 0 : (g * 3 + from * 5 + to * 7 + 1) % most; }

static void lay(int n, const int* counts, int* displs)
{
    int total = draw_own(3);
    for (int r = 0; r < n; ++r) {
        displs[r] = total;
        total += counts[r] + draw_own(2);
    }
}

/* From or to a root of group g. */
static void rooted(int g, int root, int n)
{
    int counts[16], displs[16];
    int is_root = side == g && here == root, beside = side == g && here != root;
    int argument = is_root ? MPI_ROOT : beside ? MPI_PROC_NULL : root;

    begin();
    if (is_root)
        fill(n, 0, 0);
    EVERY_WAY(Bcast, bcast, is_root ? out.memory : in.memory, n, is_root ? out.type : in.type, argument);
    if (side != g)
        check(n, root, 0, 0);

    begin();
    if (side != g)
        fill(n, root, 0);
    EVERY_WAY(Gather, gather, out.memory, n, out.type, in.memory, n, in.type, argument);
    for (int r = 0; is_root && r < others; ++r)
        check(n, r, root, r * n);

    begin();
    for (int r = 0; r < others; ++r)
        counts[r] = amount(!side, r, n);
    lay(others, counts, displs);
    if (side != g)
        fill(amount(side, here, n), root, 0);
    EVERY_WAY(Gatherv, gatherv, out.memory, amount(side, here, n), out.type, in.memory, counts, displs, in.type, argument);
    for (int r = 0; is_root && r < others; ++r)
        check(counts[r], r, root, displs[r]);

    begin();
    for (int r = 0; is_root && r < others; ++r)
        fill(n, r, r * n);
    EVERY_WAY(Scatter, scatter, out.memory, n, out.type, in.memory, n, in.type, argument);
    if (side != g)
        check(n, root, here, 0);

    begin();
    for (int r = 0; is_root && r < others; ++r)
        fill(counts[r], r, displs[r]);
    EVERY_WAY(Scatterv, scatterv, out.memory, counts, displs, out.type, in.memory, amount(side, here, n), in.type, argument);
    if (side != g)
        check(amount(side, here, n), root, here, 0);

    begin();
    for (int i = 0; i < n; ++i) {
        out.memory[i] = here * 100 + i;
        in.memory[i] = EMPTY;
    }
    EVERY_WAY(Reduce, reduce, out.memory, in.memory, n, MPI_INT, MPI_SUM, argument);
    for (int i = 0; i < n; ++i)
        CHECK(in.memory[i] == (is_root ? others * (others - 1) / 2 * 100 + others * i : EMPTY));
}

static void unrooted(int n)
{
    int sent[16], received[16], to[16], from[16];

    /* The groups may send different amounts. */
    begin();
    int own = n + side, theirs = n + !side;
    fill(own, 0, 0);
    EVERY_WAY(Allgather, allgather, out.memory, own, out.type, in.memory, theirs, in.type);
    for (int r = 0; r < others; ++r)
        check(theirs, r, 0, r * theirs);

    begin();
    for (int r = 0; r < others; ++r)
        received[r] = amount(!side, r, n);
    lay(others, received, from);
    fill(amount(side, here, n), 0, 0);
    EVERY_WAY(Allgatherv, allgatherv, out.memory, amount(side, here, n), out.type, in.memory, received, from, in.type);
    for (int r = 0; r < others; ++r)
        check(received[r], r, 0, from[r]);

    begin();
    for (int r = 0; r < others; ++r)
        fill(own, r, r * own);
    EVERY_WAY(Alltoall, alltoall, out.memory, own, out.type, in.memory, theirs, in.type);
    for (int r = 0; r < others; ++r)
        check(theirs, r, here, r * theirs);

    begin();
    for (int r = 0; r < others; ++r) {
        sent[r] = amount_for(side, here, r, n);
        received[r] = amount_for(!side, r, here, n);
    }
    lay(others, sent, to);
    lay(others, received, from);
    for (int r = 0; r < others; ++r)
        fill(sent[r], r, to[r]);
    EVERY_WAY(Alltoallv, alltoallv, out.memory, sent, to, out.type, in.memory, received, from, in.type);
    for (int r = 0; r < others; ++r)
        check(received[r], r, here, from[r]);

    begin();
    MPI_Datatype out_types[16], in_types[16];
    for (int r = 0; r < others; ++r) {
        fill(sent[r], r, to[r]);
        out_types[r] = out.type;
        in_types[r] = in.type;
    }
    int to_bytes[16], from_bytes[16];
    for (int r = 0; r < others; ++r) {
        to_bytes[r] = to[r] * out.stride * 4;
        from_bytes[r] = from[r] * in.stride * 4;
    }
    EVERY_WAY(Alltoallw, alltoallw, out.memory, sent, to_bytes, out_types, in.memory, received, from_bytes, in_types);
    for (int r = 0; r < others; ++r)
        check(received[r], r, here, from[r]);

    begin();
    for (int i = 0; i < n; ++i)
        out.memory[i] = here * 100 + i;
    EVERY_WAY(Allreduce, allreduce, out.memory, in.memory, n, MPI_INT, MPI_SUM);
    for (int i = 0; i < n; ++i)
        CHECK(in.memory[i] == others * (others - 1) / 2 * 100 + others * i);

    /* As many elements in both groups. */
    begin();
    int total = mine * others * (n / 20 + 1), each = total / mine;
    for (int i = 0; i < total; ++i)
        out.memory[i] = here * 100 + i;
    EVERY_WAY(Reduce_scatter_block, reduce_scatter_block, out.memory, in.memory, each, MPI_INT, MPI_SUM);
    for (int i = 0; i < each; ++i)
        CHECK(in.memory[i] == others * (others - 1) / 2 * 100 + others * (here * each + i));

    begin();
    for (int r = 0, left = total; r < mine; ++r) {
        sent[r] = r + 1 == mine ? left : left / 3;
        to[r] = total - left;
        left -= sent[r];
    }
    for (int i = 0; i < total; ++i)
        out.memory[i] = here * 100 + i;
    EVERY_WAY(Reduce_scatter, reduce_scatter, out.memory, in.memory, sent, MPI_INT, MPI_SUM);
    for (int i = 0; i < sent[here]; ++i)
        CHECK(in.memory[i] == others * (others - 1) / 2 * 100 + others * (to[here] + i));

    MPI_Request r;
    now = "Barrier";
    MPI_Barrier(comm);
    MPI_Ibarrier(comm, &r);
    complete(&r);
}

static void errors(void)
{
    int x[64] = {0}, y[64], class = 0;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
#define FAILS(call, with)                  \
    now = #call;                           \
    MPI_Error_class(call, &class);         \
    CHECK(class == with)
    FAILS(MPI_Scan(x, y, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_COMM);
    FAILS(MPI_Exscan(x, y, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_COMM);
    FAILS(MPI_Bcast(x, 1, MPI_INT, others, comm), MPI_ERR_ROOT);
    FAILS(MPI_Allreduce(MPI_IN_PLACE, y, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, y, 1, MPI_INT, comm), MPI_ERR_BUFFER);
}

int main(int argc, char** argv)
{
    if (argc != 3)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    begin_chance(strtoull(argv[2], NULL, 10));
    MPI_Type_create_resized(MPI_INT, 0, 8, &gapped);
    MPI_Type_commit(&gapped);
    for (int groups = 0; groups < 3 && size > 1; ++groups) {
        int first = 1 + draw(size - 1);
        MPI_Comm group;
        side = rank >= first;
        MPI_Comm_split(MPI_COMM_WORLD, side, 0, &group);
        MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, side ? 0 : first, 9, &comm);
        MPI_Comm_rank(comm, &here);
        MPI_Comm_size(comm, &mine);
        MPI_Comm_remote_size(comm, &others);
        for (int round = 0; round < 6; ++round) {
            const int counts[] = {0, 1, 3, 50, 1000};
            int n = counts[draw(5)], g = draw(2);
            way = argv[1][draw((int)strlen(argv[1]))] - '0';
            rooted(g, draw(g == 0 ? first : size - first), n);
            unrooted(n);
        }
        errors();
        MPI_Comm_free(&comm);
        MPI_Comm_free(&group);
    }
    free(in.memory), free(out.memory);
    MPI_Type_free(&gapped);
    MPI_Finalize();
    return 0;
}
