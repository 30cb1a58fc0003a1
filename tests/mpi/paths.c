/* Sends messages, or does collective operations, of one size from one kind of memory; each is written anew and compared where it arrives.
   Usage: mpi_paths KIND MEMORY BYTES COUNT, silent and 0 where all data were right. KIND is a name in `kinds` below; MEMORY is `heap`
   (MPI_Alloc_mem: the shared heap) or `plain` (mapped by the program). tests/programs/paths_test.py counts which way the bytes took. */
#define _GNU_SOURCE
#include "check.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 32 << 20 };
static unsigned char *out, *in;
static int bytes, count;

static unsigned char byte_of(int i, int round, int from)
{
    return (unsigned char)(i * 7 + i / 4096 + round * 31 + from * 101);
}

static void fill(unsigned char* to, int n, int round, int from)
{
    for (int i = 0; i < n; ++i)
        to[i] = byte_of(i, round, from);
}

static void compare(unsigned char const* with, int n, int round, int from)
{
    for (int i = 0; i < n; ++i)
        CHECK(with[i] == byte_of(i, round, from));
}

/* One message at a time, and a word back for each. */
static void one_by_one(int synchronous)
{
    for (int round = 0; round < count; ++round) {
        if (rank == 0) {
            fill(out, bytes, round, 0);
            if (synchronous)
                MPI_Ssend(out, bytes, MPI_BYTE, 1, round, MPI_COMM_WORLD);
            else
                MPI_Send(out, bytes, MPI_BYTE, 1, round, MPI_COMM_WORLD);
            MPI_Recv(NULL, 0, MPI_BYTE, 1, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, bytes, MPI_BYTE, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            compare(in, bytes, round, 0);
            MPI_Send(NULL, 0, MPI_BYTE, 0, round, MPI_COMM_WORLD);
        }
    }
}

static void messages(void) { one_by_one(0); }
static void synchronous(void) { one_by_one(1); }

/* In pieces, which lie further apart where they are sent. */
static void strided(void)
{
    enum { PIECE = 64, OUT = 128, IN = 96 };
    int const n = bytes / PIECE;
    MPI_Datatype from, to;
    MPI_Type_vector(n, PIECE, OUT, MPI_BYTE, &from);
    MPI_Type_vector(n, PIECE, IN, MPI_BYTE, &to);
    MPI_Type_commit(&from);
    MPI_Type_commit(&to);
    for (int round = 0; round < count; ++round) {
        if (rank == 0) {
            fill(out, n * OUT, round, 0);
            MPI_Send(out, 1, from, 1, round, MPI_COMM_WORLD);
            MPI_Recv(NULL, 0, MPI_BYTE, 1, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            memset(in, 0x55, (size_t)n * IN);
            MPI_Recv(in, 1, to, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < n * IN; ++i)
                CHECK(in[i] == (i % IN < PIECE ? byte_of(i / IN * OUT + i % IN, round, 0) : 0x55));
            MPI_Send(NULL, 0, MPI_BYTE, 0, round, MPI_COMM_WORLD);
        }
    }
    MPI_Type_free(&from);
    MPI_Type_free(&to);
}

/* All of them while the receiver is away, so that they find no room. */
static void flood(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Request* const requests = malloc(sizeof *requests * (size_t)count);
        CHECK(requests != NULL);
        fill(out, bytes, 0, 0);
        for (int i = 0; i < count; ++i)
            MPI_Isend(out, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        free(requests);
    } else {
        usleep(300000);
        for (int i = 0; i < count; ++i) {
            memset(in, 0x55, (size_t)bytes);
            MPI_Recv(in, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            compare(in, bytes, 0, 0);
        }
    }
}

/* The receiver computes while the message comes. */
static void overlapped(void)
{
    for (int round = 0; round < count; ++round) {
        MPI_Request request;
        if (rank == 0)
            fill(out, bytes, round, 0);
        else
            MPI_Irecv(in, bytes, MPI_BYTE, 0, round, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Send(out, bytes, MPI_BYTE, 1, round, MPI_COMM_WORLD);
            continue;
        }
        for (int done = 0; !done; usleep(1000))
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        compare(in, bytes, round, 0);
    }
}

/* Collective operations: `bytes` are what one rank gives another. */

static void bcast(void)
{
    for (int round = 0; round < count; ++round) {
        int const root = round % size;
        if (rank == root)
            fill(out, bytes, round, root);
        else
            memset(out, 0x55, (size_t)bytes);
        MPI_Bcast(out, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
        compare(out, bytes, round, root);
    }
}

static void gather(void)
{
    for (int round = 0; round < count; ++round) {
        fill(out, bytes, round, rank);
        MPI_Gather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        for (int r = 0; r < size && rank == 0; ++r)
            compare(in + (size_t)bytes * (size_t)r, bytes, round, r);
    }
}

static void alltoallv(void)
{
    int counts[16], places[16];
    CHECK(size <= 16 && (long)bytes * size <= MOST);
    for (int round = 0; round < count; ++round) {
        for (int r = 0; r < size; ++r) {
            counts[r] = bytes;
            places[r] = bytes * r;
            fill(out + places[r], bytes, round + r, rank);
        }
        MPI_Alltoallv(out, counts, places, MPI_BYTE, in, counts, places, MPI_BYTE, MPI_COMM_WORLD);
        for (int r = 0; r < size; ++r)
            compare(in + places[r], bytes, round + rank, r);
    }
}

static void reduce_to_all(int nonblocking)
{
    int const n = bytes / (int)sizeof(long long);
    long long *const mine = (long long*)(void*)out, *const sum = (long long*)(void*)in;
    for (int round = 0; round < count; ++round) {
        for (int i = 0; i < n; ++i)
            mine[i] = i * 3 + round + rank;
        memset(sum, 0x55, (size_t)bytes);
        if (nonblocking) {
            MPI_Request request;
            MPI_Iallreduce(mine, sum, n, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Allreduce(mine, sum, n, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
        }
        for (int i = 0; i < n; ++i)
            CHECK(sum[i] == (long long)size * (i * 3 + round) + size * (size - 1) / 2);
    }
}

static void allreduce(void) { reduce_to_all(0); }
static void iallreduce(void)
{
    long long none = 0, sum = 0;
    MPI_Allreduce(&none, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD); /* lanes begin with a blocking one */
    reduce_to_all(1);
}

static unsigned char* mapped(void)
{
    void* const memory = mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

int main(int argc, char** argv)
{
    static const struct {
        char const* name;
        void (*function)(void);
    } kinds[] = {{"message", messages}, {"synchronous", synchronous}, {"strided", strided}, {"flood", flood}, {"overlapped", overlapped},
                 {"bcast", bcast}, {"gather", gather}, {"alltoallv", alltoallv}, {"allreduce", allreduce}, {"iallreduce", iallreduce}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 5 && size >= 2);
    bytes = atoi(argv[3]);
    count = atoi(argv[4]);
    CHECK(bytes >= 0 && count > 0 && bytes <= MOST);
    out = mapped();
    in = mapped();
    int const heap = strcmp(argv[2], "heap") == 0;
    if (heap) {
        CHECK(MPI_Alloc_mem((MPI_Aint)bytes * size + 64, MPI_INFO_NULL, &out) == MPI_SUCCESS);
        CHECK(MPI_Alloc_mem((MPI_Aint)bytes * size + 64, MPI_INFO_NULL, &in) == MPI_SUCCESS);
    }
    size_t k = 0;
    while (k < sizeof kinds / sizeof *kinds && strcmp(kinds[k].name, argv[1]) != 0)
        ++k;
    CHECK(k < sizeof kinds / sizeof *kinds);
    kinds[k].function();
    if (heap) {
        MPI_Free_mem(out);
        MPI_Free_mem(in);
    }
    MPI_Finalize();
    return 0;
}
