/* A rank dies inside a collective operation while another is slow: what a third one lent is its own when its call returns, and not sooner.
   Usage: mpi_late_use OPERATION WAY; WAY is 0 (blocking) or 1 (nonblocking). Rank 0 dies, 1 lends, 2 is slow, 3 takes part; of a scan, one
   further each. Of two ranks, 0 lends, and 1 is slow. Prints "lender returned NANOSECONDS ERROR", "slow until NANOSECONDS".
   TOWLINE_LANES=first.

   Copies are slow where the slow rank may not touch its own buffer until its handler of SIGSEGV lets it; reductions have an own operation. */
#define _GNU_SOURCE
#include "check.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 1 << 20, RANKS = 4, ALL = BLOCK * RANKS, PAGE = 4096, SLOW_MS = 1000, DEATH_MS = 300 };

static int slow, victim;
static volatile sig_atomic_t armed;
static char* guard;
static volatile long long slow_until;

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void pause_ms(int ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000L};
    while (nanosleep(&left, &left) != 0) {
    }
}

static void trouble(void)
{
    armed = 0;
    if (rank == victim) {
        pause_ms(DEATH_MS);
        raise(SIGKILL);
    }
    pause_ms(SLOW_MS);
    slow_until = now();
}

static void touched(int signal_number, siginfo_t* info, void* context)
{
    (void)signal_number, (void)context;
    if (guard == NULL || (char*)info->si_addr < guard || (char*)info->si_addr >= guard + PAGE)
        _exit(9);
    char* const page = guard;
    guard = NULL;
    trouble();
    mprotect(page, PAGE, PROT_READ | PROT_WRITE);
}

static void add(void* in, void* inout, int* n, MPI_Datatype* type)
{
    (void)type;
    if (armed && (rank == slow || rank == victim))
        trouble();
    for (int i = 0; i < *n; ++i)
        ((unsigned*)inout)[i] += ((unsigned*)in)[i];  /* it goes round */
}

static char* memory(int is_own)
{
    /* The slow one's own pages; else the shared heap's. */
    char* const at = is_own ? mmap(NULL, ALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : malloc(ALL);
    CHECK(at != NULL && at != MAP_FAILED);
    return at;
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 3);
    char const* const what = argv[1];
    int const nonblocking = argv[2][0] == '1';
    int const between_two = size == 2;
    int const is_scan = strcmp(what, "scan") == 0 || strcmp(what, "exscan") == 0;
    victim = between_two ? -1 : is_scan;
    int const lender = victim + 1;
    slow = lender + 1;
    int const is_own = rank == slow || rank == victim;
    char* const in = memory(is_own);
    char* const out = memory(is_own);
    memset(in, 'a' + rank, ALL);
    memset(out, 'x', ALL);
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    int counts[RANKS], places[RANKS];
    for (int r = 0; r < size; ++r) {
        counts[r] = BLOCK;
        places[r] = r * BLOCK;
    }
    int const dims[] = {size}, periods[] = {1};
    MPI_Comm ring, world;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
    MPI_Barrier(ring);
    MPI_Barrier(world);

#define IS(name) (strcmp(what, name) == 0)
    int const writes = IS("gather") || IS("gatherv");  /* into what the lender lent */
    int const reduces = IS("reduce") || IS("allreduce") || IS("reduce_scatter") || IS("scan") || IS("exscan");
    int const n = BLOCK / (int)sizeof(int);
    if (is_own && (!reduces || (IS("exscan") && rank == victim))) {  /* the first of two combines nothing */
        struct sigaction action = {.sa_sigaction = touched, .sa_flags = SA_SIGINFO};
        sigaction(SIGSEGV, &action, NULL);
        int const to_all = IS("allgather") || IS("allgatherv") || IS("alltoall") || IS("alltoallv");
        /* In a ring the lender is the neighbour before the slow one, and the one after the victim. */
        int const in_ring = IS("neighbor_allgather") || IS("neighbor_alltoall");
        int const block = to_all ? lender : in_ring && rank == victim ? 1 : 0;
        guard = writes ? in + BLOCK / 2 : out + (size_t)block * BLOCK + BLOCK / 2;
        CHECK(mprotect(guard, PAGE, PROT_NONE) == 0);
    }
    armed = 1;
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_ERR_UNKNOWN;
    int const mine = between_two && rank == slow ? BLOCK / 2 + PAGE : BLOCK;  /* of two, the sizes do not fit together */

#define EITHER(call, icall) (nonblocking ? (icall) : (call))
    if (IS("bcast"))
        code = EITHER(MPI_Bcast(rank == lender ? in : out, BLOCK, MPI_CHAR, lender, world),
                      MPI_Ibcast(rank == lender ? in : out, BLOCK, MPI_CHAR, lender, world, &request));
    else if (IS("gather"))
        code = EITHER(MPI_Gather(in, mine, MPI_CHAR, out, BLOCK, MPI_CHAR, lender, world),
                      MPI_Igather(in, mine, MPI_CHAR, out, BLOCK, MPI_CHAR, lender, world, &request));
    else if (IS("gatherv"))
        code = EITHER(MPI_Gatherv(in, mine, MPI_CHAR, out, counts, places, MPI_CHAR, lender, world),
                      MPI_Igatherv(in, mine, MPI_CHAR, out, counts, places, MPI_CHAR, lender, world, &request));
    else if (IS("scatter"))
        code = EITHER(MPI_Scatter(in, BLOCK, MPI_CHAR, out, BLOCK, MPI_CHAR, lender, world),
                      MPI_Iscatter(in, BLOCK, MPI_CHAR, out, BLOCK, MPI_CHAR, lender, world, &request));
    else if (IS("scatterv"))
        code = EITHER(MPI_Scatterv(in, counts, places, MPI_CHAR, out, BLOCK, MPI_CHAR, lender, world),
                      MPI_Iscatterv(in, counts, places, MPI_CHAR, out, BLOCK, MPI_CHAR, lender, world, &request));
    else if (IS("allgather"))
        code = EITHER(MPI_Allgather(in, BLOCK, MPI_CHAR, out, BLOCK, MPI_CHAR, world),
                      MPI_Iallgather(in, BLOCK, MPI_CHAR, out, BLOCK, MPI_CHAR, world, &request));
    else if (IS("allgatherv"))
        code = EITHER(MPI_Allgatherv(in, BLOCK, MPI_CHAR, out, counts, places, MPI_CHAR, world),
                      MPI_Iallgatherv(in, BLOCK, MPI_CHAR, out, counts, places, MPI_CHAR, world, &request));
    else if (IS("alltoall"))
        code = EITHER(MPI_Alltoall(in, BLOCK, MPI_CHAR, out, BLOCK, MPI_CHAR, world),
                      MPI_Ialltoall(in, BLOCK, MPI_CHAR, out, BLOCK, MPI_CHAR, world, &request));
    else if (IS("alltoallv"))
        code = EITHER(MPI_Alltoallv(in, counts, places, MPI_CHAR, out, counts, places, MPI_CHAR, world),
                      MPI_Ialltoallv(in, counts, places, MPI_CHAR, out, counts, places, MPI_CHAR, world, &request));
    else if (IS("reduce"))
        code = EITHER(MPI_Reduce(in, out, n, MPI_INT, op, lender, world), MPI_Ireduce(in, out, n, MPI_INT, op, lender, world, &request));
    else if (IS("allreduce"))
        code = EITHER(MPI_Allreduce(in, out, n, MPI_INT, op, world), MPI_Iallreduce(in, out, n, MPI_INT, op, world, &request));
    else if (IS("reduce_scatter"))
        code = EITHER(MPI_Reduce_scatter_block(in, out, n, MPI_INT, op, world),
                      MPI_Ireduce_scatter_block(in, out, n, MPI_INT, op, world, &request));
    else if (IS("scan"))
        code = EITHER(MPI_Scan(in, out, n, MPI_INT, op, world), MPI_Iscan(in, out, n, MPI_INT, op, world, &request));
    else if (IS("exscan"))
        code = EITHER(MPI_Exscan(in, out, n, MPI_INT, op, world), MPI_Iexscan(in, out, n, MPI_INT, op, world, &request));
    else if (IS("neighbor_allgather"))
        code = EITHER(MPI_Neighbor_allgather(in, BLOCK, MPI_CHAR, out, BLOCK, MPI_CHAR, ring),
                      MPI_Ineighbor_allgather(in, BLOCK, MPI_CHAR, out, BLOCK, MPI_CHAR, ring, &request));
    else if (IS("neighbor_alltoall"))
        code = EITHER(MPI_Neighbor_alltoall(in, BLOCK, MPI_CHAR, out, BLOCK, MPI_CHAR, ring),
                      MPI_Ineighbor_alltoall(in, BLOCK, MPI_CHAR, out, BLOCK, MPI_CHAR, ring, &request));
    else
        CHECK(!"an operation");
    if (nonblocking && code == MPI_SUCCESS)
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    long long const returned = now();

    if (rank == lender) {
        /* The program's again. */
        memset(in, '-', ALL);
        memset(out, '-', ALL);
        printf("lender returned %lld %d\n", returned, code != MPI_SUCCESS);
        fflush(stdout);
        pause_ms(SLOW_MS + DEATH_MS);
        for (int i = 0; i < ALL; ++i)
            CHECK(in[i] == '-' && out[i] == '-');
    } else if (rank == slow) {
        /* What is told to have come has come. */
        if (code == MPI_SUCCESS && (IS("bcast") || IS("scatter") || IS("scatterv")))
            for (int i = 0; i < BLOCK; ++i)
                CHECK(out[i] == 'a' + lender);
        printf("slow until %lld\n", (long long)slow_until);
        fflush(stdout);
    } else {
        pause_ms(SLOW_MS + DEATH_MS);
    }
    _exit(0);
}
