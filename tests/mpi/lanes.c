/* Collective operations over lanes. Usage: mpi_lanes SCENARIO; silent and 0 where everything was as it should. TOWLINE_LANES=first. */
#define _GNU_SOURCE
#include "check.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* A known number of operations and bytes; the test counts them. Big memory comes from malloc, so that it is shared where the heap is. */
static void paths(void)
{
    enum { SMALL = 100, MANY = 20, BIG = 1 << 20 };
    static char text[SMALL];
    double* const in = malloc(BIG);
    double* const out = malloc(BIG);
    enum { N = BIG / sizeof(double) };
    CHECK(in != NULL && out != NULL);
    for (int i = 0; i < MANY; ++i) {
        memset(text, rank == 0 ? i : -1, SMALL);
        MPI_Bcast(text, SMALL, MPI_CHAR, 0, MPI_COMM_WORLD);
        CHECK(text[0] == i && text[SMALL - 1] == i);
    }
    for (int i = 0; i < N; ++i)
        in[i] = i + rank;
    MPI_Allreduce(in, out, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < N; ++i)
        CHECK(out[i] == (double)size * i + size * (size - 1) / 2);
    free(in);
    free(out);
}

/* Blocks of any size, once each by copy and where they are: the test counts the operations and bytes. */
static void lists(void)
{
    enum { SMALL = 100, BIG = 128 * 1024 };
    int const dims[] = {size}, periods[] = {1};
    MPI_Comm ring;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    int* const counts = malloc(2 * sizeof(int) * (size_t)size);
    int* const places = counts + size;
    MPI_Datatype* const types = malloc(sizeof *types * (size_t)size);
    static char own_in[SMALL * 64], own_out[SMALL * 64];
    for (int n = SMALL;; n = BIG) {
        /* Not from malloc: nobody else reaches it. */
        char* const in = n == SMALL ? own_in : malloc((size_t)(n * size));
        char* const out = n == SMALL ? own_out : malloc((size_t)(n * size));
        CHECK(counts != NULL && types != NULL && in != NULL && out != NULL && size <= 64);
        for (int r = 0; r < size; ++r) {
            counts[r] = n;
            places[r] = n * r;
            types[r] = MPI_CHAR;
            memset(in + n * r, 16 * rank + r, (size_t)n);
        }
        int const before = (rank + size - 1) % size, after = (rank + 1) % size;
        memset(out, -1, (size_t)(n * size));
        MPI_Gatherv(in, n, MPI_CHAR, out, counts, places, MPI_CHAR, 0, MPI_COMM_WORLD);
        for (int r = 0; r < size && rank == 0; ++r)
            CHECK(out[n * r] == (char)(16 * r) && out[n * r + n - 1] == (char)(16 * r));
        memset(out, -1, (size_t)(n * size));
        MPI_Scatterv(in, counts, places, MPI_CHAR, out, n, MPI_CHAR, 0, MPI_COMM_WORLD);
        CHECK(out[0] == (char)rank && out[n - 1] == (char)rank);
        for (int way = 0; way < 3; ++way) {
            MPI_Request request = MPI_REQUEST_NULL;
            memset(out, -1, (size_t)(n * size));
            if (way == 0)
                MPI_Alltoallv(in, counts, places, MPI_CHAR, out, counts, places, MPI_CHAR, MPI_COMM_WORLD);
            else if (way == 1)
                MPI_Alltoallw(in, counts, places, types, out, counts, places, types, MPI_COMM_WORLD);
            else
                MPI_Ialltoallv(in, counts, places, MPI_CHAR, out, counts, places, MPI_CHAR, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            for (int r = 0; r < size; ++r)
                CHECK(out[n * r] == (char)(16 * r + rank) && out[n * r + n - 1] == (char)(16 * r + rank));
        }
        memset(out, -1, (size_t)(n * size));
        MPI_Neighbor_alltoall(in, n, MPI_CHAR, out, n, MPI_CHAR, ring);
        CHECK(out[0] == (char)(16 * before + 1) && out[2 * n - 1] == (char)(16 * after));
        memset(out, -1, (size_t)(n * size));
        MPI_Neighbor_allgather(in, n, MPI_CHAR, out, n, MPI_CHAR, ring);
        CHECK(out[0] == (char)(16 * before) && out[2 * n - 1] == (char)(16 * after));
        if (n == BIG) {
            free(in);
            free(out);
            break;
        }
    }
    free(types);
    free(counts);
    MPI_Comm_free(&ring);
}

/* Rank 1 gives rank 0 more or less than that expects, or nothing: rank 0 is told, and all get on. */
static void lists_that_disagree(void)
{
    enum { MOST = 200000 };
    static const int pairs[][2] = {{100, 101}, {100, 0}, {5000, 4999}, {5000, 90000}, {90000, 5000}, {90000, 90001}, {MOST, 1}, {7, MOST}};
    char* const in = malloc(MOST);
    char* const out = malloc(MOST);
    int* const counts = calloc(3 * (size_t)size, sizeof(int));
    int *const none = counts + size, *const some = none + size;
    CHECK(in != NULL && out != NULL && counts != NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; ++i) {
        int const expected = pairs[i][0], given = rank == 1 ? pairs[i][1] : 0;
        int codes[3], class = MPI_SUCCESS;
        counts[1] = rank == 0 ? expected : 0;
        some[0] = given;
        codes[0] = MPI_Gatherv(in, given, MPI_CHAR, out, counts, none, MPI_CHAR, 0, MPI_COMM_WORLD);
        codes[1] = MPI_Alltoallv(in, some, none, MPI_CHAR, out, counts, none, MPI_CHAR, MPI_COMM_WORLD);
        some[0] = 0;
        some[1] = rank == 1 ? 0 : pairs[i][1];
        codes[2] = MPI_Scatterv(in, some, none, MPI_CHAR, out, rank == 1 ? expected : 0, MPI_CHAR, 0, MPI_COMM_WORLD);
        some[1] = 0;
        for (int k = 0; k < 3; ++k) {
            MPI_Error_class(codes[k], &class);
            CHECK(class == MPI_ERR_TRUNCATE || (rank != (k == 2) && class == MPI_SUCCESS));
        }
        int sum = 0;
        int const one = 1;
        CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS && sum == size);
    }
    free(counts);
    free(out);
    free(in);
}

/* A root is not held up by receivers that are late, as far as there are slots; then it waits for them, and nothing is overwritten. */
static void late_receivers(void)
{
    enum { MANY = 500 };
    static int data[900];
    for (int i = 0; i < MANY; ++i) {
        int const n = i % 3 == 0 ? 1 : i % 3 == 1 ? 10 : 900;
        if (rank == 0)
            for (int k = 0; k < n; ++k)
                data[k] = i * 1000 + k;
        if (rank != 0 && i % 100 == rank)
            usleep(20000);
        MPI_Bcast(data, n, MPI_INT, 0, MPI_COMM_WORLD);
        CHECK(data[0] == i * 1000 && data[n - 1] == i * 1000 + n - 1);
    }
}

/* Ranks that disagree about how much there is: those who notice are told, and all get on. */
static void disagreement(void)
{
    static char data[100000];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int counts[][2] = {{8, 16}, {16, 8}, {100, 5000}, {5000, 100}, {5000, 90000}, {90000, 5000}, {60000, 90000}, {90000, 60000}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
        int const code = MPI_Bcast(data, counts[i][rank != 0], MPI_CHAR, 0, MPI_COMM_WORLD);
        int class = MPI_SUCCESS;
        MPI_Error_class(code, &class);
        if (rank != 0)
            CHECK(class == MPI_ERR_TRUNCATE);
    }
    int sum = 0;
    int const one = 1;
    CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS && sum == size);
}

/* Nonblocking operations, many at once, with blocking ones between them, ended in any order. */
static void many_at_once(void)
{
    enum { MANY = 40, N = 3000 };
    static int in[MANY][N], out[MANY][N];
    MPI_Request requests[MANY];
    for (int i = 0; i < MANY; ++i) {
        int const n = i % 2 == 0 ? N : 5;
        for (int k = 0; k < n; ++k)
            in[i][k] = i + k + rank;
        if (i % 4 == 3)
            MPI_Ibarrier(MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Iallreduce(in[i], out[i], n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
        if (i % 10 == 5)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = MANY - 1; i >= 0; i -= 2)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; ++i)
        if (i % 4 != 3) {
            int const n = i % 2 == 0 ? N : 5;
            for (int k = 0; k < n; ++k)
                CHECK(out[i][k] == size * (i + k) + size * (size - 1) / 2);
        }
}

/* One rank describes the same data in another way, and so does the operation in another: what follows by messages finds its own all the
   same. */
static void several_ways(void)
{
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    int* const counts = malloc(4 * sizeof(int) * (size_t)size);
    int *const places = counts + size, *const in = places + size, *const out = in + size;
    for (int turn = 0; turn < 2 * size; ++turn) {
        int data[2] = {turn, turn + 1};
        if (rank != 0)
            data[0] = data[1] = -1;
        if (rank == turn % size)
            MPI_Bcast(data, 1, pair, 0, MPI_COMM_WORLD);
        else
            MPI_Bcast(data, 2, MPI_INT, 0, MPI_COMM_WORLD);
        CHECK(data[0] == turn && data[1] == turn + 1);
        for (int i = 0; i < size; ++i) {
            counts[i] = 1;
            places[i] = i;
            out[i] = 100 * turn + 10 * rank + i;
        }
        MPI_Request request; /* of an operation that goes by messages */
        MPI_Alltoallv_init(out, counts, places, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
        for (int i = 0; i < size; ++i)
            CHECK(in[i] == 100 * turn + 10 * i + rank);
    }
    free(counts);
    MPI_Type_free(&pair);
}

/* Communicators come and go while others still look at their lanes. */
static void short_lives(void)
{
    for (int i = 0; i < 50; ++i) {
        MPI_Comm some;
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &some);
        int members = 0, sum = 0;
        MPI_Comm_size(some, &members);
        for (int k = 0; k < 3; ++k)
            MPI_Allreduce(&k, &sum, 1, MPI_INT, MPI_SUM, some);
        CHECK(sum == 2 * members);
        MPI_Comm_free(&some);
    }
}

static unsigned long long mixed(unsigned long long hash, const void* data, size_t bytes)
{
    for (size_t i = 0; i < bytes; ++i)
        hash = (hash ^ ((const unsigned char*)data)[i]) * 1099511628211ull;
    return hash;
}

/* What reductions of numbers that do not add up exactly give: a line of every rank. */
static void bits(void)
{
    enum { MOST = 40000 };
    static double in[MOST], out[MOST];
    unsigned long long hash = 14695981039346656037ull;
    static const int counts[] = {1, 6, 7, 100, 700, 5000, MOST};
    for (int turn = 0; turn < 4; ++turn)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
            int const n = counts[c];
            for (int i = 0; i < n; ++i) {
                in[i] = 1.0 / (3 + i + 11 * rank + turn);
                out[i] = 0;
            }
            MPI_Allreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            hash = mixed(hash, out, sizeof(double) * (size_t)n);
            MPI_Reduce(in, out, n, MPI_DOUBLE, MPI_PROD, turn % size, MPI_COMM_WORLD);
            hash = mixed(hash, out, sizeof(double) * (size_t)n);
            MPI_Scan(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            hash = mixed(hash, out, sizeof(double) * (size_t)n);
            MPI_Exscan(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            hash = mixed(hash, out, sizeof(double) * (size_t)n);
            MPI_Reduce_scatter_block(in, out, n / size, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            hash = mixed(hash, out, sizeof(double) * (size_t)n);
            MPI_Request r;
            MPI_Iallreduce(MPI_IN_PLACE, in, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
            hash = mixed(hash, in, sizeof(double) * (size_t)n);
        }
    printf("%d %llx\n", rank, hash);
}

/* Rank 1 ends itself: its peers hear of it, and the job ends. */
static void death(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        kill(getpid(), SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Persistent operations that all ranks start in one order, but not in one order with others: the test counts the former. */
static void persistent(void)
{
    enum { TURNS = 20, SMALL = 10, BIG = 20000 };
    MPI_Comm ordered;
    MPI_Info info;
    MPI_Request r[4];
    double *const in = malloc(BIG * sizeof *in), *const out = malloc(BIG * sizeof *out);
    double small[SMALL], sum[SMALL];
    int word = -1;
    CHECK(in != NULL && out != NULL);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_strict_persistent_collective_ordering", "true");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &ordered);
    MPI_Info_free(&info);
    MPI_Allreduce_init(small, sum, SMALL, MPI_DOUBLE, MPI_SUM, ordered, MPI_INFO_NULL, &r[0]);
    MPI_Allreduce_init(in, out, BIG, MPI_DOUBLE, MPI_SUM, ordered, MPI_INFO_NULL, &r[1]);
    MPI_Bcast_init(&word, 1, MPI_INT, size - 1, ordered, MPI_INFO_NULL, &r[2]);
    MPI_Barrier_init(ordered, MPI_INFO_NULL, &r[3]);
    for (int n = 0; n < TURNS; ++n) {
        int other = rank == 0 ? n : -1;
        for (int i = 0; i < SMALL; ++i)
            small[i] = n + i + rank;
        for (int i = 0; i < BIG; ++i)
            in[i] = n * 3 + i + rank;
        if (rank == size - 1)
            word = n;
        if (rank % 2 == 0)
            MPI_Startall(4, r);
        MPI_Bcast(&other, 1, MPI_INT, 0, ordered);
        CHECK(other == n);
        if (rank % 2 != 0)
            MPI_Startall(4, r);
        MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
        CHECK(word == n);
        for (int i = 0; i < SMALL; ++i)
            CHECK(sum[i] == (double)size * (n + i) + size * (size - 1) / 2);
        for (int i = 0; i < BIG; ++i)
            CHECK(out[i] == (double)size * (n * 3 + i) + size * (size - 1) / 2);
    }
    for (int i = 0; i < 4; ++i)
        MPI_Request_free(&r[i]);
    MPI_Comm_free(&ordered);
    free(in);
    free(out);
}

int main(int argc, char** argv)
{
    static const struct { const char* name; void (*run)(void); } scenarios[] = {
        {"paths", paths}, {"lists", lists}, {"lists_that_disagree", lists_that_disagree}, {"late_receivers", late_receivers},
        {"disagreement", disagreement}, {"many_at_once", many_at_once},
        {"several_ways", several_ways}, {"short_lives", short_lives}, {"persistent", persistent}, {"bits", bits}, {"death", death}};
    for (size_t i = 0; argc > 1 && i < sizeof scenarios / sizeof *scenarios; ++i) {
        if (strcmp(argv[1], scenarios[i].name) != 0)
            continue;
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        scenarios[i].run();
        MPI_Finalize();
        return 0;
    }
    fprintf(stderr, "mpi_lanes: no such scenario\n");
    return 2;
}
