/* Operations among neighbours, on grids and graphs.
 * Usage: mpi_collectives_neighbours WAYS SEED; silent and 0 where everything was as it should. */
#include "collectives.h"

enum { MOST = 40, LONGEST = 300, EMPTY = -1 };

/* From whom this rank receives, and which of the blocks that its neighbour sends comes here. */
static int sources[MOST], source_block[MOST], indegree;
static int destinations[MOST], outdegree;

/* How many elements rank `from` has in its block `at`. */
static int amount(int from, int at, int most) { return most == 0 ? 0 : (from * 7 + at * 3) % most; }
static int value_of(int from, int at, int i) { return from * 100000 + at * 1000 + i; }

/* Two ints in three, or two ints in a row. */
static MPI_Datatype gapped, plain;

struct blocks {
    MPI_Datatype type;
    int stride, n;
    int counts[MOST], displs[MOST];
    int* memory;
};

static struct blocks lay(int n, const int* counts, int close)
{
    struct blocks b = {plain, 2, n, {0}, {0}, NULL};
    if (draw_own(2)) {
        b.type = gapped;
        b.stride = 3;
    }
    int total = 0;
    for (int i = 0; i < n; ++i) {
        b.counts[i] = counts[i];
        b.displs[i] = total;
        total += counts[i] + (close ? 0 : draw_own(3));
    }
    b.memory = malloc(sizeof(int) * (size_t)(b.stride * total + 1));
    for (int i = 0; i < b.stride * total; ++i)
        b.memory[i] = EMPTY;
    return b;
}

static int* place(struct blocks* b, int block, int i) { return b->memory + b->stride * (b->displs[block] + i); }

static void check(struct blocks* in, int at_sender)
{
    for (int k = 0; k < in->n; ++k)
        for (int i = 0; i < in->counts[k]; ++i) {
            int* p = place(in, k, i);
            int nobody = sources[k] == MPI_PROC_NULL;
            CHECK(p[0] == (nobody ? EMPTY : value_of(sources[k], at_sender ? source_block[k] : 0, i)));
            CHECK(p[1] == (nobody ? EMPTY : -p[0]));
            CHECK(in->stride == 2 || p[2] == EMPTY);
        }
}

static void fill(struct blocks* out)
{
    for (int k = 0; k < out->n; ++k)
        for (int i = 0; i < out->counts[k]; ++i) {
            place(out, k, i)[0] = value_of(rank, k, i);
            place(out, k, i)[1] = -value_of(rank, k, i);
        }
}

static void every_operation(int most)
{
    int same[MOST], own[MOST], theirs[MOST], one[MOST];
    for (int k = 0; k < MOST; ++k)
        same[k] = most;
    one[0] = amount(rank, 0, most);

    struct blocks out = lay(1, same, 1), in = lay(indegree, same, 1);
    fill(&out);
    EVERY_WAY(Neighbor_allgather, neighbor_allgather, out.memory, most, out.type, in.memory, most, in.type);
    check(&in, 0);
    free(out.memory), free(in.memory);

    for (int k = 0; k < indegree; ++k)
        theirs[k] = sources[k] == MPI_PROC_NULL ? 3 : amount(sources[k], 0, most);
    out = lay(1, one, 1), in = lay(indegree, theirs, 0);
    fill(&out);
    EVERY_WAY(Neighbor_allgatherv, neighbor_allgatherv, out.memory, one[0], out.type, in.memory, in.counts, in.displs, in.type);
    check(&in, 0);
    free(out.memory), free(in.memory);

    out = lay(outdegree, same, 1), in = lay(indegree, same, 1);
    fill(&out);
    EVERY_WAY(Neighbor_alltoall, neighbor_alltoall, out.memory, most, out.type, in.memory, most, in.type);
    check(&in, 1);
    free(out.memory), free(in.memory);

    for (int k = 0; k < indegree; ++k)
        theirs[k] = sources[k] == MPI_PROC_NULL ? 2 : amount(sources[k], source_block[k], most);
    for (int k = 0; k < outdegree; ++k)
        own[k] = amount(rank, k, most);
    out = lay(outdegree, own, 0), in = lay(indegree, theirs, 0);
    fill(&out);
    EVERY_WAY(Neighbor_alltoallv, neighbor_alltoallv, out.memory, out.counts, out.displs, out.type, in.memory, in.counts, in.displs, in.type);
    check(&in, 1);
    free(out.memory), free(in.memory);

    out = lay(outdegree, own, 0), in = lay(indegree, theirs, 0);
    MPI_Aint to[MOST], from[MOST];
    MPI_Datatype out_types[MOST], in_types[MOST];
    for (int k = 0; k < MOST; ++k) {
        out_types[k] = out.type;
        in_types[k] = in.type;
    }
    for (int k = 0; k < outdegree; ++k)
        MPI_Get_address(place(&out, k, 0), &to[k]);
    for (int k = 0; k < indegree; ++k)
        MPI_Get_address(place(&in, k, 0), &from[k]);
    fill(&out);
    EVERY_WAY(Neighbor_alltoallw, neighbor_alltoallw, MPI_BOTTOM, out.counts, to, out_types, MPI_BOTTOM, in.counts, from, in_types);
    check(&in, 1);
    free(out.memory), free(in.memory);
}

static void rounds(const char* ways)
{
    const int counts[] = {0, 1, 2, 20, LONGEST};
    const unsigned long long before = shared_state; /* not all ranks come here each time */
    for (int round = 0; round < 8; ++round) {
        way = ways[draw((int)strlen(ways))] - '0';
        every_operation(counts[draw(5)]);
    }
    shared_state = before;
}

static void grids(const char* ways)
{
    for (int dimensions = 0; dimensions <= 3; ++dimensions)
        for (int periodic = 0; periodic < 2; ++periodic) {
            int dims[] = {0, 0, 0}, periods[] = {periodic, !periodic, periodic};
            if (dimensions > 0)
                MPI_Dims_create(size, dimensions, dims);
            MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, periods, 0, &comm);
            if (comm == MPI_COMM_NULL)
                continue;
            indegree = outdegree = 2 * dimensions;
            for (int d = 0; d < dimensions; ++d) {
                MPI_Cart_shift(comm, d, 1, &sources[2 * d], &sources[2 * d + 1]);
                destinations[2 * d] = sources[2 * d];
                destinations[2 * d + 1] = sources[2 * d + 1];
                /* What came from below was sent upwards. */
                source_block[2 * d] = 2 * d + 1;
                source_block[2 * d + 1] = 2 * d;
            }
            rounds(ways);
            MPI_Comm_free(&comm);
        }
}

/* A star: rank 0 with all others, and everybody with itself. */
static void graphs(const char* ways)
{
    int index[64], edges[200], n = 0;
    for (int r = 0; r < size; ++r) {
        edges[n++] = r;
        for (int other = 1; r == 0 && other < size; ++other)
            edges[n++] = other;
        if (r != 0)
            edges[n++] = 0;
        index[r] = n;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &comm);
    indegree = outdegree = rank == 0 ? size : 2;
    for (int k = 0; k < indegree; ++k) {
        sources[k] = destinations[k] = k == 0 ? rank : rank == 0 ? k : 0;
        source_block[k] = k == 0 ? 0 : rank == 0 ? 1 : rank;
    }
    rounds(ways);
    MPI_Comm_free(&comm);
}

/* Everybody sends twice to the next rank, once to itself and to the one before. */
static void distributed_graphs(const char* ways)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    int to[] = {next, rank, next, before}, from[] = {before, next, before, rank};
    static int* volatile unweighted = MPI_UNWEIGHTED; /* volatile: GCC 12 takes the constant for an array, and warns */
    /* The n-th of the messages between two ranks meets the n-th receive: reckoned, because some of the four may be one rank. */
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 4, from, unweighted, 4, to, unweighted, MPI_INFO_NULL, 0, &comm);
    indegree = outdegree = 4;
    for (int k = 0; k < 4; ++k) {
        sources[k] = from[k];
        destinations[k] = to[k];
        int nth = 0;
        for (int j = 0; j < k; ++j)
            nth += from[j] == from[k];
        int s = from[k], theirs[] = {(s + 1) % size, s, (s + 1) % size, (s + size - 1) % size};
        for (int j = 0; j < 4; ++j)
            if (theirs[j] == rank && nth-- == 0)
                source_block[k] = j;
    }
    rounds(ways);
    MPI_Comm_free(&comm);
}

static void errors(void)
{
    int x = 0, y = 0, class = 0;
    comm = MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Neighbor_alltoall(&x, 1, MPI_INT, &y, 1, MPI_INT, comm), &class);
    CHECK(class == MPI_ERR_TOPOLOGY);
}

int main(int argc, char** argv)
{
    if (argc != 3)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    unsigned long long chance = strtoull(argv[2], NULL, 10);
    begin_chance(chance);
    MPI_Type_contiguous(2, MPI_INT, &plain);
    MPI_Type_create_resized(plain, 0, 12, &gapped);
    MPI_Type_commit(&plain);
    MPI_Type_commit(&gapped);
    grids(argv[1]);
    begin_chance(chance + 1);
    graphs(argv[1]);
    begin_chance(chance + 2);
    distributed_graphs(argv[1]);
    errors();
    MPI_Type_free(&plain);
    MPI_Type_free(&gapped);
    MPI_Finalize();
    return 0;
}
