/* Messages and collective operations of many kinds and sizes, from every kind of memory, checked. mpi_storm ROUNDS [survive] [SEED];
   0 rounds: without end. Says "up" when all are there, and "done" at the end. "survive": errors are returned. At the first one a rank looks
   for 0.2 s whether somebody still writes what the failed call was to receive; it then ends with 0, without a word, or with 3. */
#define _GNU_SOURCE
#include "check.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1 << 20, STACK = 256 << 10, SMALL = 24 << 10, RANKS = 8 };

static unsigned char static_in[MOST], static_out[MOST];
static int surviving, round_number, kind;
static uint32_t state;

/* The same numbers on every rank: what all do together follows from them. */
static uint32_t draw(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)(state >> 8) * below) >> 24);
}

static double value(int from, size_t i)
{
    return (double)((round_number * 31 + from * 7 + (int)(i % 1021)) % 4096);
}

/* The call failed: nobody may write any more what it was to receive. */
static void leave(int code, double* in, size_t n)
{
    if (!surviving) {
        fprintf(stderr, "rank %d, round %d, kind %d: error %d\n", rank, round_number, kind, code);
        exit(3);
    }
    for (size_t i = 0; i < n; ++i)
        in[i] = -1;
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    for (size_t i = 0; i < n; ++i)
        if (((volatile double*)in)[i] != -1) {
            fprintf(stderr, "rank %d, round %d, kind %d: element %zu of %zu was written after the call had failed\n", rank, round_number,
                    kind, i, n);
            _exit(3);
        }
    _exit(0);
}

static void expect(double is, double should, size_t i)
{
    if (is == should)
        return;
    fprintf(stderr, "rank %d, round %d, kind %d: element %zu is %g, not %g\n", rank, round_number, kind, i, is, should);
    _exit(4);
}

static void fill(double* out, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        out[i] = value(rank, i);
}

static void own_sum(void* in, void* inout, int* n, MPI_Datatype* type)
{
    (void)type;
    for (int i = 0; i < *n; ++i)
        ((double*)inout)[i] += ((double*)in)[i];
}

static double sum_of_all(int ranks, size_t i)
{
    double sum = 0;
    for (int r = 0; r < ranks; ++r)
        sum += value(r, i);
    return sum;
}

#define TRY(call, in, n)                        \
    do {                                        \
        int const code = (call);                \
        if (code != MPI_SUCCESS)                \
            leave(code, (in), (size_t)(n));     \
    } while (0)

/* A message around the ring: contiguous, with gaps of a vector on one side, or on both. */
static void ring(double* out, double* in, int n)
{
    int const hop = 1 + (int)draw((uint32_t)size - 1), next = (rank + hop) % size, last = (rank + size - hop) % size;
    int const block = 1 << draw(5), layout = (int)draw(4), how = (int)draw(4);
    MPI_Datatype vector;
    int const blocks = n / 2 / block;
    MPI_Type_vector(blocks, block, 2 * block, MPI_DOUBLE, &vector);
    MPI_Type_commit(&vector);
    int const sent = blocks * block, from_gaps = layout & 1, to_gaps = layout & 2;
    fill(out, (size_t)n);
    int const out_n = from_gaps ? 1 : sent, in_n = to_gaps ? 1 : sent, tag = round_number & 1023;
    MPI_Datatype const out_type = from_gaps ? vector : MPI_DOUBLE, in_type = to_gaps ? vector : MPI_DOUBLE;
    MPI_Request request;
    if (how == 0) {
        TRY(MPI_Sendrecv(out, out_n, out_type, next, tag, in, in_n, in_type, last, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), in, n);
    } else {
        TRY(MPI_Isend(out, out_n, out_type, next, tag, MPI_COMM_WORLD, &request), in, 0);
        TRY(MPI_Recv(in, in_n, in_type, how == 1 ? MPI_ANY_SOURCE : last, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), in, n);
        TRY(MPI_Wait(&request, MPI_STATUS_IGNORE), in, 0);
    }
    MPI_Type_free(&vector);
    for (int i = 0; i < sent; ++i) {
        int const at = i / block * 2 * block + i % block;
        expect(in[to_gaps ? at : i], value(last, (size_t)(from_gaps ? at : i)), (size_t)i);
    }
}

static void together(double* out, double* in, int n, MPI_Op own)
{
    int const root = (int)draw((uint32_t)size), each = n / size;
    MPI_Op const op = draw(3) == 0 ? own : MPI_SUM;
    MPI_Request request;
    fill(out, (size_t)n);
    switch (kind) {
    case 4:
        TRY(MPI_Bcast(rank == root ? out : in, n, MPI_DOUBLE, root, MPI_COMM_WORLD), rank == root ? out : in, rank == root ? 0 : n);
        for (int i = 0; i < n && rank != root; ++i)
            expect(in[i], value(root, (size_t)i), (size_t)i);
        break;
    case 5:
    case 6:
        if (kind == 5)
            TRY(MPI_Allreduce(out, in, n, MPI_DOUBLE, op, MPI_COMM_WORLD), in, n);
        else {
            TRY(MPI_Iallreduce(out, in, n, MPI_DOUBLE, op, MPI_COMM_WORLD, &request), in, 0);
            TRY(MPI_Wait(&request, MPI_STATUS_IGNORE), in, n);
        }
        for (int i = 0; i < n; ++i)
            expect(in[i], sum_of_all(size, (size_t)i), (size_t)i);
        break;
    case 7:
        TRY(MPI_Reduce(out, in, n, MPI_DOUBLE, op, root, MPI_COMM_WORLD), in, rank == root ? n : 0);
        for (int i = 0; i < n && rank == root; ++i)
            expect(in[i], sum_of_all(size, (size_t)i), (size_t)i);
        break;
    case 8:
        TRY(MPI_Allgather(out, each, MPI_DOUBLE, in, each, MPI_DOUBLE, MPI_COMM_WORLD), in, each * size);
        for (int i = 0; i < each * size; ++i)
            expect(in[i], value(i / each, (size_t)(i % each)), (size_t)i);
        break;
    case 9:
        TRY(MPI_Alltoall(out, each, MPI_DOUBLE, in, each, MPI_DOUBLE, MPI_COMM_WORLD), in, each * size);
        for (int i = 0; i < each * size; ++i)
            expect(in[i], value(i / each, (size_t)(rank * each + i % each)), (size_t)i);
        break;
    case 10:
        TRY(MPI_Scatter(out, each, MPI_DOUBLE, in, each, MPI_DOUBLE, root, MPI_COMM_WORLD), in, each);
        for (int i = 0; i < each; ++i)
            expect(in[i], value(root, (size_t)(rank * each + i)), (size_t)i);
        break;
    case 11:
        TRY(MPI_Gather(out, each, MPI_DOUBLE, in, each, MPI_DOUBLE, root, MPI_COMM_WORLD), in, rank == root ? each * size : 0);
        for (int i = 0; i < each * size && rank == root; ++i)
            expect(in[i], value(i / each, (size_t)(i % each)), (size_t)i);
        break;
    case 12:
        TRY(MPI_Scan(out, in, n, MPI_DOUBLE, op, MPI_COMM_WORLD), in, n);
        for (int i = 0; i < n; ++i)
            expect(in[i], sum_of_all(rank + 1, (size_t)i), (size_t)i);
        break;
    case 13:
        TRY(MPI_Reduce_scatter_block(out, in, each, MPI_DOUBLE, op, MPI_COMM_WORLD), in, each);
        for (int i = 0; i < each; ++i)
            expect(in[i], sum_of_all(size, (size_t)(rank * each + i)), (size_t)i);
        break;
    default:
        TRY(MPI_Barrier(MPI_COMM_WORLD), in, 0);
    }
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc >= 2 && size >= 2 && size <= RANKS);
    int const rounds = atoi(argv[1]);
    surviving = argc > 2 && strcmp(argv[2], "survive") == 0;
    state = argc > 2 + surviving ? (uint32_t)strtoul(argv[2 + surviving], NULL, 10) : 1;
    MPI_Op own;
    MPI_Op_create(own_sum, 1, &own);
    if (surviving)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    double* const mapped = mmap(NULL, 2 * MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    double* const heap = malloc(2 * MOST);
    double stack[2][STACK / sizeof(double)];
    CHECK(mapped != MAP_FAILED && heap != NULL);
    TRY(MPI_Barrier(MPI_COMM_WORLD), NULL, 0);
    write(STDOUT_FILENO, "up\n", 3);
    for (round_number = 0; rounds == 0 || round_number < rounds; ++round_number) {
        int n = 1 << draw(18); /* of doubles */
        n += (int)draw((uint32_t)n);
        if (n > MOST / (int)sizeof(double))
            n = MOST / (int)sizeof(double);
        if (n < 64)
            n = 64; /* four blocks of a vector at least */
        int const memory = ((int)draw(5) + rank) % 5;
        int const bytes = n * (int)sizeof(double);
        double *out = heap, *in = heap + MOST / sizeof(double), *small = NULL;
        if (memory == 0)
            out = (double*)(void*)static_out, in = (double*)(void*)static_in;
        else if (memory == 1 && bytes <= STACK)
            out = stack[0], in = stack[1];
        else if (memory == 2)
            out = mapped, in = mapped + MOST / sizeof(double);
        else if (memory == 3 && bytes <= SMALL) {
            small = malloc(2 * (size_t)bytes);
            CHECK(small != NULL);
            out = small, in = small + n;
        }
        kind = (int)draw(15);
        if (kind < 4)
            ring(out, in, n);
        else
            together(out, in, n, own);
        free(small);
    }
    write(STDOUT_FILENO, "done\n", 5);
    MPI_Op_free(&own);
    MPI_Finalize();
    return 0;
}
