/* Plain memory (static, so in no arena) between ranks that may or may not read each other's: what a rank receives is what was sent, whether
   its sender is in the library or computes meanwhile. */
#include "check.h"

#include <string.h>
#include <time.h>

enum { MOST = 3 << 20 };
static unsigned char out[MOST], in[MOST];

static void fill(unsigned char* to, int bytes, int seed)
{
    for (int i = 0; i < bytes; ++i)
        to[i] = (unsigned char)(i * 7 + i / 4096 + seed);
}

static void sleep_ms(int ms)
{
    struct timespec const t = {0, ms * 1000000L};
    nanosleep(&t, NULL);
}

static void exchange(int bytes, int round, int sender_computes)
{
    int const to = (rank + 1) % size, from = (rank + size - 1) % size, tag = 100 + round;
    MPI_Request request;
    fill(out, bytes, rank + round);
    memset(in, 0x55, (size_t)bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Isend(out, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    if (sender_computes)
        sleep_ms(20);
    MPI_Status status;
    CHECK(MPI_Recv(in, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == bytes);
    for (int i = 0; i < bytes; ++i)
        CHECK(in[i] == (unsigned char)(i * 7 + i / 4096 + from + round));
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int const sizes[] = {1, 1000, 20000, 70000, 1 << 20, MOST};
    int round = 0;
    for (unsigned s = 0; s < sizeof sizes / sizeof sizes[0]; ++s)
        for (int computes = 0; computes < 2; ++computes)
            exchange(sizes[s], round++, computes);
    MPI_Finalize();
    if (rank == 0)
        printf("all bytes as sent\n");
    return 0;
}
