/* Static data of the program and of a library: whose pages they are, what they hold, and what forked children do to them.
   mpi_static_data where | messages | fork ROUNDS */
#define _GNU_SOURCE
#include "check.h"

#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 3 << 20, LIBRARY_BYTES = 1 << 20 };

unsigned char* library_data(void); /* libraries/static_library.c, which sets the bytes to 7 before main */

static unsigned char filled[100000] = {1, 2, 3, [99999] = 9};
static unsigned char empty[MOST], result[MOST];
static unsigned char sparse[64 << 20];

/* "shared": the job's file has it. */
static char const* where(void const* data)
{
    char line[512];
    char const* found = "nowhere";
    FILE* const maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL) {
        uintptr_t begin = 0, end = 0;
        char flags[8] = "";
        if (sscanf(line, "%lx-%lx %7s", &begin, &end, flags) == 3 && begin <= (uintptr_t)data && (uintptr_t)data < end)
            found = strstr(line, "towline-job") != NULL && flags[3] == 's' ? "shared" : "private";
    }
    fclose(maps);
    return found;
}

static unsigned char value(size_t at, int seed)
{
    return (unsigned char)(at * 7 + (at >> 12) + (size_t)seed);
}

static void fill(unsigned char* to, size_t bytes, int seed)
{
    for (size_t i = 0; i < bytes; ++i)
        to[i] = value(i, seed);
}

static void check(unsigned char const* from, size_t bytes, int seed)
{
    for (size_t i = 0; i < bytes; ++i)
        CHECK(from[i] == value(i, seed));
}

/* Every way that data go, from and to static data. */
static void messages(void)
{
    static size_t const sizes[] = {1, 200, 3000, 8192, 20001, 65536, 300000, MOST};
    int const next = (rank + 1) % size, previous = (rank + size - 1) % size;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        int const bytes = (int)sizes[i];
        for (int round = 0; round < 4; ++round) {
            fill(empty, sizes[i], rank + round);
            memset(result, 0, sizes[i]);
            MPI_Sendrecv(empty, bytes, MPI_BYTE, next, 1, result, bytes, MPI_BYTE, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            check(result, sizes[i], previous + round);
            MPI_Bcast(result, bytes, MPI_BYTE, round % size, MPI_COMM_WORLD);
            check(result, sizes[i], (round % size + size - 1) % size + round);
            MPI_Allreduce(empty, result, bytes, MPI_UINT8_T, MPI_MAX, MPI_COMM_WORLD);
            for (size_t k = 0; k < sizes[i]; ++k) {
                unsigned char most = 0;
                for (int r = 0; r < size; ++r)
                    most = value(k, r + round) > most ? value(k, r + round) : most;
                CHECK(result[k] == most);
            }
        }
    }
    /* Up to the last byte. */
    fill(sparse + sizeof sparse - 100000, 100000, rank);
    MPI_Sendrecv(sparse + sizeof sparse - 100000, 100000, MPI_BYTE, next, 2, result, 100000, MPI_BYTE, previous, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    check(result, 100000, previous);
    if (rank == 0)
        puts("all bytes as sent");
}

/* A child sees the moment of its fork, and its parent nothing of the child. */
static void forks(int rounds)
{
    static volatile int moment = 0;
    for (moment = 1; moment <= rounds; ++moment) {
        fill(empty, MOST, moment);
        sparse[5 << 20] = (unsigned char)moment;
        pid_t const child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            int const mine = moment;
            usleep(moment % 3 == 0 ? 100000 : 1000);
            check(empty, MOST, mine);
            CHECK(sparse[5 << 20] == mine && sparse[40 << 20] == 0 && filled[99999] == 9);
            memset(empty, 0xee, MOST);
            memset(sparse, 0xee, sizeof sparse);
            memset(filled, 0xee, sizeof filled);
            memset(library_data(), 0xee, LIBRARY_BYTES);
            moment = 0;
            pid_t const grandchild = fork();
            if (grandchild == 0) {
                CHECK(empty[MOST - 1] == 0xee && moment == 0);
                memset(empty, 0xdd, MOST);
                _exit(0);
            }
            int status = 0;
            CHECK(waitpid(grandchild, &status, 0) == grandchild && status == 0);
            CHECK(empty[MOST - 1] == 0xee);
            _exit(0);
        }
        int const mine = moment;
        memset(result, mine, MOST);
        memset(empty, 0x55, MOST);
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        CHECK(moment == mine && sparse[5 << 20] == mine && sparse[6 << 20] == 0 && filled[0] == 1 && library_data()[5] == 7);
        for (int i = 0; i < MOST; ++i)
            CHECK(empty[i] == 0x55 && result[i] == (unsigned char)mine);
        CHECK(system("exit 0") == 0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0)
        puts("children on their own");
}

int main(int argc, char** argv)
{
    /* Before MPI, as the loader left it, but for what the library's constructor wrote. */
    CHECK(filled[0] == 1 && filled[2] == 3 && filled[50000] == 0 && filled[99999] == 9 && empty[0] == 0 && empty[MOST - 1] == 0);
    CHECK(library_data()[0] == 7 && library_data()[LIBRARY_BYTES - 1] == 7);
    CHECK(argc > 1);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(argv[1], "where") == 0 && rank == 0)
        printf("%s %s %s %s\n", where(filled), where(empty), where(sparse + sizeof sparse - 1), where(library_data() + LIBRARY_BYTES / 2));
    if (strcmp(argv[1], "messages") == 0)
        messages();
    if (strcmp(argv[1], "fork") == 0 && argc > 2)
        forks(atoi(argv[2]));
    MPI_Finalize();
    return 0;
}
