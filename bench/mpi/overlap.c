// How much of a transfer is hidden behind computation: two ranks, MPI_Isend and MPI_Irecv of one message, then a computation, then
// MPI_Wait.
//
//     overlap SIDE BYTES ROUNDS      SIDE: receiver, sender: that rank computes, the other only waits; both
//
// Rank 0 sends, rank 1 receives. A round measures the transfer alone, the computation alone, and both together, for computations that take
// as long as the transfer and twice as long; medians of ROUNDS. Each is the time of the computing rank from its MPI_Isend or MPI_Irecv to
// the end of its wait; with `both`, rank 0's until both ranks have ended. The computation stays in registers: it takes no memory bandwidth
// from the transfer. Prints a line for each length:
//     overlap SIDE BYTES LENGTH TRANSFER_US COMPUTE_US TOGETHER_US PERCENT      PERCENT = 100 (1 - (together - compute) / transfer)
#define _DEFAULT_SOURCE  // the clock and usleep
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { receiver = 1, sender = 2, most_rounds = 1000 };

static int rank, side;
static char *buffer;
static int bytes;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static unsigned long long sink;

static void compute(double steps)
{
    unsigned long long x = sink | 1;
    for (double i = 0; i < steps; ++i)
        x = x * 6364136223846793005ull + 1442695040888963407ull;
    sink = x;
}

static int computes(void)
{
    return (side & (rank == 0 ? sender : receiver)) != 0;
}

static double once(int transfers, double steps)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now_us();
    if (transfers) {
        if (rank == 0)
            MPI_Isend(buffer, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
        else
            MPI_Irecv(buffer, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
    }
    if (steps > 0 && computes())
        compute(steps);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    double end = now_us();
    if (side == (sender | receiver)) {
        MPI_Barrier(MPI_COMM_WORLD);
        end = now_us();
    }
    // The waiting rank is asleep when the next one begins, as a rank that waits for long is.
    usleep(200);
    return end - begin;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *of, int n)
{
    qsort(of, (size_t)n, sizeof *of, by_size);
    return of[n / 2];
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    side = strcmp(argv[1], "receiver") == 0 ? receiver : strcmp(argv[1], "sender") == 0 ? sender : sender | receiver;
    bytes = atoi(argv[2]);
    int rounds = atoi(argv[3]) < most_rounds ? atoi(argv[3]) : most_rounds;
    buffer = malloc((size_t)bytes);
    memset(buffer, rank, (size_t)bytes);
    static double transfer[most_rounds], alone[most_rounds], together[most_rounds];
    int teller = side == receiver ? 1 : 0;
    for (int i = 0; i < 10; ++i)
        once(1, 0);

    double begin = now_us();
    compute(1e7);
    double us_of_step = (now_us() - begin) / 1e7;
    for (int length = 1; length <= 2; ++length) {
        for (int i = 0; i < 21; ++i)
            transfer[i] = once(1, 0);
        double steps = length * median(transfer, 21) / us_of_step;
        MPI_Bcast(&steps, 1, MPI_DOUBLE, teller, MPI_COMM_WORLD);
        for (int i = 0; i < rounds; ++i) {
            transfer[i] = once(1, 0);
            alone[i] = once(0, steps);
            together[i] = once(1, steps);
        }
        double t = median(transfer, rounds), c = median(alone, rounds), both = median(together, rounds);
        if (rank == teller)
            printf("overlap %s %d %d %.1f %.1f %.1f %.1f\n", argv[1], bytes, length, t, c, both, 100 * (1 - (both - c) / t));
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
