/* Every collective operation where shared memory is short, on some ranks or on all. Usage: mpi_tight FULL, the ranks whose memory is full:
   all, some, none. TOWLINE_SEGMENT=16M TOWLINE_LANES=first. Silent and 0 where everything was as it should. */
#include "check.h"

#include <string.h>

enum { MOST = 3 << 20, MANY = 8 };
static unsigned char in[MANY][MOST / 4], out[MANY * (MOST / 4)];  /* nobody else reaches them */

static unsigned char value(int from, int to, int i)
{
    return (unsigned char)(from * 31 + to * 7 + i + (i >> 10));
}
static void fill(unsigned char* at, int from, int to, int n)
{
    for (int i = 0; i < n; ++i)
        at[i] = value(from, to, i);
}
static void expect(unsigned char const* at, int from, int to, int n)
{
    for (int i = 0; i < n; ++i)
        CHECK(at[i] == value(from, to, i));
}
static unsigned char sum_of(int last, int i)
{
    unsigned char s = 0;
    for (int r = 0; r <= last; ++r)
        s = (unsigned char)(s + value(r, 0, i));
    return s;
}
static void expect_sum(unsigned char const* at, int last, int first, int n)
{
    for (int i = 0; i < n; ++i)
        CHECK(at[i] == sum_of(last, first + i));
}

/* Takes what there is: big blocks, then smaller ones, which malloc takes from there as long as it can. */
static void fill_arena(void)
{
    static char* all[3][80];  /* so that they are not lost */
    size_t bytes = 1 << 20;
    for (int kind = 0; kind < 3; ++kind, bytes /= 4)
        for (int i = 0; i < 80; ++i) {
            char* const block = all[kind][i] = malloc(bytes);
            CHECK(block != NULL);
            block[0] = block[bytes - 1] = 1;
        }
}

static void all_operations(int n, MPI_Comm ring, int nonblocking)
{
    MPI_Comm const world = MPI_COMM_WORLD;
    MPI_Datatype const t = MPI_UNSIGNED_CHAR;
    int counts[MANY], places[MANY];
    for (int r = 0; r < size; ++r) {
        counts[r] = n - r;
        places[r] = r * n;
    }
#define DO(Call, call, ...)                                              \
    do {                                                             \
        MPI_Request request = MPI_REQUEST_NULL;                      \
        if (nonblocking)                                             \
            CHECK(MPI_I##call(__VA_ARGS__, &request) == MPI_SUCCESS); \
        else                                                         \
            CHECK(MPI_##Call(__VA_ARGS__) == MPI_SUCCESS);           \
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS); \
    } while (0)
#define CLEAR() memset(out, 0xff, (size_t)(n * size))
    int const root = n % size;
    unsigned char* const mine = in[0];
    /* broadcast */
    CLEAR();
    if (rank == root)
        fill(out, root, 0, n);
    DO(Bcast, bcast, out, n, t, root, world);
    expect(out, root, 0, n);
    /* one block each */
    fill(mine, rank, 0, n);
    CLEAR();
    DO(Gather, gather, mine, n, t, out, n, t, root, world);
    for (int r = 0; r < size && rank == root; ++r)
        expect(out + n * r, r, 0, n);
    CLEAR();
    DO(Gatherv, gatherv, mine, counts[rank], t, out, counts, places, t, root, world);
    for (int r = 0; r < size && rank == root; ++r)
        expect(out + n * r, r, 0, counts[r]);
    CLEAR();
    DO(Allgather, allgather, mine, n, t, out, n, t, world);
    for (int r = 0; r < size; ++r)
        expect(out + n * r, r, 0, n);
    CLEAR();
    DO(Allgatherv, allgatherv, mine, counts[rank], t, out, counts, places, t, world);
    for (int r = 0; r < size; ++r)
        expect(out + n * r, r, 0, counts[r]);
    CLEAR();
    DO(Neighbor_allgather, neighbor_allgather, mine, n, t, out, n, t, ring);
    expect(out, (rank + size - 1) % size, 0, n);
    expect(out + n, (rank + 1) % size, 0, n);
    /* a block for each */
    unsigned char* const all = malloc((size_t)(n * size));
    CHECK(all != NULL);
    for (int r = 0; r < size; ++r)
        fill(all + n * r, rank, r, n);
    CLEAR();
    DO(Scatter, scatter, all, n, t, out, n, t, root, world);
    expect(out, root, rank, n);
    CLEAR();
    DO(Scatterv, scatterv, all, counts, places, t, out, counts[rank], t, root, world);
    expect(out, root, rank, counts[rank]);
    CLEAR();
    DO(Alltoall, alltoall, all, n, t, out, n, t, world);
    for (int r = 0; r < size; ++r)
        expect(out + n * r, r, rank, n);
    memcpy(out, all, (size_t)(n * size));
    DO(Alltoall, alltoall, MPI_IN_PLACE, 0, t, out, n, t, world);
    for (int r = 0; r < size; ++r)
        expect(out + n * r, r, rank, n);
    int same[MANY];
    for (int r = 0; r < size; ++r)
        same[r] = n;
    CLEAR();
    DO(Alltoallv, alltoallv, all, same, places, t, out, same, places, t, world);
    for (int r = 0; r < size; ++r)
        expect(out + n * r, r, rank, n);
    memcpy(out, all, (size_t)(n * size));
    DO(Alltoallv, alltoallv, MPI_IN_PLACE, same, places, t, out, same, places, t, world);
    for (int r = 0; r < size; ++r)
        expect(out + n * r, r, rank, n);
    free(all);
    /* reductions */
    CLEAR();
    DO(Reduce, reduce, mine, out, n, t, MPI_SUM, root, world);
    if (rank == root)
        expect_sum(out, size - 1, 0, n);
    memcpy(out, mine, (size_t)n);
    DO(Allreduce, allreduce, MPI_IN_PLACE, out, n, t, MPI_SUM, world);
    expect_sum(out, size - 1, 0, n);
    CLEAR();
    DO(Allreduce, allreduce, mine, out, n, t, MPI_SUM, world);
    expect_sum(out, size - 1, 0, n);
    int const part = n / size;
    CLEAR();
    DO(Reduce_scatter_block, reduce_scatter_block, mine, out, part, t, MPI_SUM, world);
    expect_sum(out, size - 1, part * rank, part);
    memcpy(out, mine, (size_t)n);
    for (int r = 0; r < size; ++r)
        counts[r] = part;
    DO(Reduce_scatter, reduce_scatter, MPI_IN_PLACE, out, counts, t, MPI_SUM, world);
    expect_sum(out, size - 1, part * rank, part);
    memcpy(out, mine, (size_t)n);
    DO(Scan, scan, MPI_IN_PLACE, out, n, t, MPI_SUM, world);
    expect_sum(out, rank, 0, n);
    CLEAR();
    DO(Exscan, exscan, mine, out, n, t, MPI_SUM, world);
    if (rank != 0)
        expect_sum(out, rank - 1, 0, n);
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 2 && size <= MANY);
    int const dims[] = {size}, periods[] = {1};
    MPI_Comm ring;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    MPI_Barrier(ring);
    MPI_Barrier(MPI_COMM_WORLD);
    if (argv[1][0] == 'a' || (argv[1][0] == 's' && rank % 2 == 1))
        fill_arena();
    static int const sizes[] = {1000, 20000, 300000, MOST / 4};
    for (int i = 0; i < 4; ++i)
        for (int nonblocking = 0; nonblocking < 2; ++nonblocking)
            all_operations(sizes[i], ring, nonblocking);
    MPI_Finalize();
    return 0;
}
