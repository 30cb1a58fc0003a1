/* Collective operations that move data, with random counts, datatypes and roots.
 * Usage: mpi_collectives WAYS SEED ROUNDS; silent and 0 where everything was as it should. */
#include "collectives.h"

/* Elements are triples of ints: close together; behind a gap; from the end of a buffer to its begin. */
static MPI_Datatype plain, gapped, reversed;

static void make_types(void)
{
    int lengths[] = {1, 2};
    MPI_Aint places[] = {4, 8};
    MPI_Datatype types[] = {MPI_INT, MPI_INT}, t;
    MPI_Type_create_struct(2, lengths, places, types, &t);
    MPI_Type_create_resized(t, 0, 16, &gapped);
    MPI_Type_free(&t);
    MPI_Type_contiguous(3, MPI_INT, &plain);
    MPI_Type_create_resized(plain, 0, -12, &reversed);
    MPI_Type_commit(&plain);
    MPI_Type_commit(&gapped);
    MPI_Type_commit(&reversed);
}

static void free_types(void)
{
    MPI_Type_free(&plain);
    MPI_Type_free(&gapped);
    MPI_Type_free(&reversed);
}

enum { GAP = -77, EMPTY = -55 };

/* Room for `n` triples. */
struct buffer {
    MPI_Datatype type;
    int n;
    int* memory;
    int* base; /* what MPI is given */
};

static int* place(const struct buffer* b, int i)
{
    return b->type == gapped ? b->base + 4 * i + 1 : b->type == plain ? b->base + 3 * i : b->base - 3 * i;
}

static void set(struct buffer* b, int i, int value)
{
    for (int k = 0; k < 3; ++k)
        place(b, i)[k] = value * 3 + k;
}

static int is(const struct buffer* b, int i, int value)
{
    const int* p = place(b, i);
    return p[0] == value * 3 && p[1] == value * 3 + 1 && p[2] == value * 3 + 2;
}

/* Of a datatype that this rank chooses for itself. Just as long as it has to be, for the address sanitizer. */
static struct buffer make(int n)
{
    MPI_Datatype all[] = {plain, plain, gapped, reversed};
    struct buffer b = {all[draw_own(4)], n, NULL, NULL};
    int ints = (b.type == gapped ? 4 : 3) * n;
    b.memory = malloc(sizeof(int) * (size_t)ints);
    for (int i = 0; i < ints; ++i)
        b.memory[i] = GAP;
    b.base = b.type == reversed && n > 0 ? b.memory + 3 * (n - 1) : b.memory;
    for (int i = 0; i < n; ++i)
        set(&b, i, EMPTY);
    return b;
}

static void end(struct buffer* b)
{
    for (int i = 0; i < b->n && b->type == gapped; ++i)
        CHECK(b->memory[4 * i] == GAP);
    free(b->memory);
}

/* What rank `from` has for rank `to` at position i. */
static int value_of(int from, int to, int i) { return (from * 3100 + to * 70 + i) % 10007; }

static int any_count(void)
{
    const int counts[] = {0, 1, 2, 5, 17, 100, 1000, 4000};
    return counts[draw(8)];
}

/* The blocks of all ranks in one buffer, in any order, with places between them that nobody touches. */
struct blocks {
    int counts[16], displs[16], total;
};

static struct blocks lay(const int* counts)
{
    struct blocks b;
    int first = draw_own(size), step = draw_own(2) ? 1 : size - 1;
    b.total = draw_own(3);
    for (int k = 0; k < size; ++k) {
        int i = (first + k * step) % size;
        b.counts[i] = counts[i];
        b.displs[i] = b.total;
        b.total += counts[i] + draw_own(2);
    }
    return b;
}

/* Everything but the blocks is as it was. */
static void check_between(const struct buffer* b, const struct blocks* l)
{
    char* in_block = calloc((size_t)l->total + 1, 1);
    for (int r = 0; r < size; ++r)
        memset(in_block + l->displs[r], 1, (size_t)l->counts[r]);
    for (int i = 0; i < l->total; ++i)
        CHECK(in_block[i] || is(b, i, EMPTY));
    free(in_block);
}

static void barrier(void)
{
    MPI_Request r;
    now = "Barrier";
    if (way == 0) {
        MPI_Barrier(comm);
    } else if (way == 1) {
        MPI_Ibarrier(comm, &r);
        complete(&r);
    } else {
        MPI_Barrier_init(comm, MPI_INFO_NULL, &r);
        MPI_Start(&r);
        complete(&r);
        MPI_Request_free(&r);
    }
}

static void bcast(int root, int n)
{
    struct buffer b = make(n);
    for (int i = 0; rank == root && i < n; ++i)
        set(&b, i, value_of(root, 0, i));
    EVERY_WAY(Bcast, bcast, b.base, n, b.type, root);
    for (int i = 0; i < n; ++i)
        CHECK(is(&b, i, value_of(root, 0, i)));
    end(&b);
}

static void gather(int root, int n, int in_place)
{
    struct buffer out = make(n), in = make(rank == root ? n * size : 0);
    in_place = in_place && rank == root;
    for (int i = 0; i < n; ++i)
        if (in_place)
            set(&in, rank * n + i, value_of(rank, root, i));
        else
            set(&out, i, value_of(rank, root, i));
    if (rank == root)
        EVERY_WAY(Gather, gather, in_place ? MPI_IN_PLACE : out.base, n, out.type, in.base, n, in.type, root);
    else
        EVERY_WAY(Gather, gather, out.base, n, out.type, NULL, -1, MPI_DATATYPE_NULL, root);
    for (int r = 0; rank == root && r < size; ++r)
        for (int i = 0; i < n; ++i)
            CHECK(is(&in, r * n + i, value_of(r, root, i)));
    end(&out);
    end(&in);
}

static void gatherv(int root, const int* counts, int in_place)
{
    int n = counts[rank];
    struct blocks l = lay(counts);
    struct buffer out = make(n), in = make(rank == root ? l.total : 0);
    in_place = in_place && rank == root;
    for (int i = 0; i < n; ++i)
        if (in_place)
            set(&in, l.displs[rank] + i, value_of(rank, root, i));
        else
            set(&out, i, value_of(rank, root, i));
    if (rank == root)
        EVERY_WAY(Gatherv, gatherv, in_place ? MPI_IN_PLACE : out.base, n, out.type, in.base, l.counts, l.displs, in.type, root);
    else
        EVERY_WAY(Gatherv, gatherv, out.base, n, out.type, NULL, NULL, NULL, MPI_DATATYPE_NULL, root);
    for (int r = 0; rank == root && r < size; ++r)
        for (int i = 0; i < counts[r]; ++i)
            CHECK(is(&in, l.displs[r] + i, value_of(r, root, i)));
    if (rank == root)
        check_between(&in, &l);
    end(&out);
    end(&in);
}

static void scatter(int root, int n, int in_place)
{
    struct buffer out = make(rank == root ? n * size : 0), in = make(n);
    in_place = in_place && rank == root;
    for (int r = 0; rank == root && r < size; ++r)
        for (int i = 0; i < n; ++i)
            set(&out, r * n + i, value_of(root, r, i));
    if (rank == root)
        EVERY_WAY(Scatter, scatter, out.base, n, out.type, in_place ? MPI_IN_PLACE : in.base, n, in.type, root);
    else
        EVERY_WAY(Scatter, scatter, NULL, -1, MPI_DATATYPE_NULL, in.base, n, in.type, root);
    for (int i = 0; i < n; ++i)
        CHECK(is(&in, i, in_place ? EMPTY : value_of(root, rank, i)));
    end(&out);
    end(&in);
}

static void scatterv(int root, const int* counts, int in_place)
{
    int n = counts[rank];
    struct blocks l = lay(counts);
    struct buffer out = make(rank == root ? l.total : 0), in = make(n);
    in_place = in_place && rank == root;
    for (int r = 0; rank == root && r < size; ++r)
        for (int i = 0; i < counts[r]; ++i)
            set(&out, l.displs[r] + i, value_of(root, r, i));
    if (rank == root)
        EVERY_WAY(Scatterv, scatterv, out.base, l.counts, l.displs, out.type, in_place ? MPI_IN_PLACE : in.base, n, in.type, root);
    else
        EVERY_WAY(Scatterv, scatterv, NULL, NULL, NULL, MPI_DATATYPE_NULL, in.base, n, in.type, root);
    for (int i = 0; i < n; ++i)
        CHECK(is(&in, i, in_place ? EMPTY : value_of(root, rank, i)));
    end(&out);
    end(&in);
}

static void allgather(int n, int in_place)
{
    struct buffer out = make(n), in = make(n * size);
    for (int i = 0; i < n; ++i)
        if (in_place)
            set(&in, rank * n + i, value_of(rank, 0, i));
        else
            set(&out, i, value_of(rank, 0, i));
    EVERY_WAY(Allgather, allgather, in_place ? MPI_IN_PLACE : out.base, in_place ? -1 : n, in_place ? MPI_DATATYPE_NULL : out.type, in.base,
              n, in.type);
    for (int r = 0; r < size; ++r)
        for (int i = 0; i < n; ++i)
            CHECK(is(&in, r * n + i, value_of(r, 0, i)));
    end(&out);
    end(&in);
}

static void allgatherv(const int* counts, int in_place)
{
    int n = counts[rank];
    struct blocks l = lay(counts);
    struct buffer out = make(n), in = make(l.total);
    for (int i = 0; i < n; ++i)
        if (in_place)
            set(&in, l.displs[rank] + i, value_of(rank, 0, i));
        else
            set(&out, i, value_of(rank, 0, i));
    EVERY_WAY(Allgatherv, allgatherv, in_place ? MPI_IN_PLACE : out.base, in_place ? -1 : n, in_place ? MPI_DATATYPE_NULL : out.type,
              in.base, l.counts, l.displs, in.type);
    for (int r = 0; r < size; ++r)
        for (int i = 0; i < counts[r]; ++i)
            CHECK(is(&in, l.displs[r] + i, value_of(r, 0, i)));
    check_between(&in, &l);
    end(&out);
    end(&in);
}

static void alltoall(int n, int in_place)
{
    struct buffer out = make(n * size), in = make(n * size);
    for (int r = 0; r < size; ++r)
        for (int i = 0; i < n; ++i)
            set(in_place ? &in : &out, r * n + i, value_of(rank, r, i));
    starts = in_place ? 1 : 2;
    EVERY_WAY(Alltoall, alltoall, in_place ? MPI_IN_PLACE : out.base, in_place ? -1 : n, in_place ? MPI_DATATYPE_NULL : out.type, in.base,
              n, in.type);
    starts = 2;
    for (int r = 0; r < size; ++r)
        for (int i = 0; i < n; ++i)
            CHECK(is(&in, r * n + i, value_of(r, rank, i)));
    end(&out);
    end(&in);
}

/* How much rank `from` has for rank `to`. */
static int amount(int from, int to, int most, int symmetric)
{
    if (symmetric && from > to)
        return amount(to, from, most, 0);
    return most == 0 ? 0 : (from * 5 + to * 3 + 2) % most;
}

static void alltoallv(int most, int in_place)
{
    int sent[16], received[16];
    for (int r = 0; r < size; ++r) {
        sent[r] = amount(rank, r, most, in_place);
        received[r] = amount(r, rank, most, in_place);
    }
    struct blocks o = lay(sent), l = lay(received);
    struct buffer out = make(in_place ? 0 : o.total), in = make(l.total);
    for (int r = 0; r < size; ++r)
        for (int i = 0; i < sent[r]; ++i)
            if (in_place)
                set(&in, l.displs[r] + i, value_of(rank, r, i));
            else
                set(&out, o.displs[r] + i, value_of(rank, r, i));
    starts = in_place ? 1 : 2;
    if (in_place)
        EVERY_WAY(Alltoallv, alltoallv, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in.base, l.counts, l.displs, in.type);
    else
        EVERY_WAY(Alltoallv, alltoallv, out.base, o.counts, o.displs, out.type, in.base, l.counts, l.displs, in.type);
    starts = 2;
    for (int r = 0; r < size; ++r)
        for (int i = 0; i < received[r]; ++i)
            CHECK(is(&in, l.displs[r] + i, value_of(r, rank, i)));
    check_between(&in, &l);
    end(&out);
    end(&in);
}

/* Blocks each in a buffer of its own, with a datatype of its own, at addresses. */
static void alltoallw(int most, int in_place)
{
    struct buffer out[16], in[16];
    MPI_Datatype out_types[16], in_types[16];
    MPI_Count sent[16], received[16];
    MPI_Aint out_places[16], in_places[16];
    MPI_Request request;
    for (int r = 0; r < size; ++r) {
        sent[r] = amount(rank, r, most, in_place);
        received[r] = amount(r, rank, most, in_place);
        out[r] = make((int)sent[r]);
        in[r] = make((int)received[r]);
        out_types[r] = out[r].type;
        in_types[r] = in[r].type;
        MPI_Get_address(out[r].base, &out_places[r]);
        MPI_Get_address(in[r].base, &in_places[r]);
        for (int i = 0; i < sent[r]; ++i)
            set(in_place ? &in[r] : &out[r], i, value_of(rank, r, i));
    }
    now = "Alltoallw_c";
    void* send = in_place ? MPI_IN_PLACE : MPI_BOTTOM;
    MPI_Count* counts = in_place ? NULL : sent;
    MPI_Aint* places = in_place ? NULL : out_places;
    MPI_Datatype* types = in_place ? NULL : out_types;
    if (way == 0) {
        MPI_Alltoallw_c(send, counts, places, types, MPI_BOTTOM, received, in_places, in_types, comm);
    } else if (way == 1) {
        MPI_Ialltoallw_c(send, counts, places, types, MPI_BOTTOM, received, in_places, in_types, comm, &request);
        complete(&request);
    } else {
        MPI_Alltoallw_init_c(send, counts, places, types, MPI_BOTTOM, received, in_places, in_types, comm, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        complete(&request);
        MPI_Request_free(&request);
    }
    for (int r = 0; r < size; ++r) {
        for (int i = 0; i < received[r]; ++i)
            CHECK(is(&in[r], i, value_of(r, rank, i)));
        end(&out[r]);
        end(&in[r]);
    }
}

int main(int argc, char** argv)
{
    if (argc != 4)
        return 2;
    MPI_Init(&argc, &argv);
    comm = MPI_COMM_WORLD;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    make_types();
    begin_chance(strtoull(argv[2], NULL, 10));
    for (int round = 0; round < atoi(argv[3]); ++round) {
        int counts[16], n = any_count(), root = draw(size), in_place = draw(3) == 0;
        for (int r = 0; r < size; ++r)
            counts[r] = n == 0 ? 0 : draw(n);
        way = argv[1][draw((int)strlen(argv[1]))] - '0';
        barrier();
        bcast(root, n);
        gather(root, n, in_place);
        gatherv(root, counts, in_place);
        scatter(root, n, in_place);
        scatterv(root, counts, in_place);
        allgather(n, in_place);
        allgatherv(counts, in_place);
        alltoall(n, in_place);
        alltoallv(n, in_place);
        alltoallw(n, in_place);
    }
    free_types();
    MPI_Finalize();
    return 0;
}
