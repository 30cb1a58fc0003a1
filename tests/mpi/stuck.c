/* Programs that wait for ever. Usage: mpi_stuck SCENARIO. */
#define _GNU_SOURCE
#include <mpi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size;
static char byte;

static void receive(int from, int tag, MPI_Comm comm)
{
    MPI_Recv(&byte, 1, MPI_CHAR, from, tag, comm, MPI_STATUS_IGNORE);
}

static void* burn(void* unused)
{
    for (volatile unsigned long i = 0;; ++i)
        ;
    return unused;
}

static void* receiver(void* unused)
{
    receive((rank + 1) % size, 8, MPI_COMM_WORLD);
    return unused;
}

static MPI_Comm half(void)
{
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &comm);
    MPI_Comm_set_name(comm, rank % 2 ? "odd" : "even");
    return comm;
}

int main(int argc, char** argv)
{
    const char* const what = argc > 1 ? argv[1] : "";
    int provided;
    if (strcmp(what, "init") == 0) {
        const char* const me = getenv("TOWLINE_RANK");
        if (me != NULL && strcmp(me, "1") == 0)
            sleep(1000);
    }
    MPI_Init_thread(&argc, &argv, strstr(what, "threads") == what ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("up\n");
    fflush(stdout);
    if (strcmp(what, "cycle") == 0) {
        if (rank < 2)
            receive(1 - rank, rank == 0 ? 7 : 9, MPI_COMM_WORLD);
    } else if (strcmp(what, "ring") == 0) { /* synchronous sends around */
        MPI_Ssend(&byte, 1, MPI_CHAR, (rank + 1) % size, 3, MPI_COMM_WORLD);
    } else if (strcmp(what, "self") == 0) {
        receive(rank, 5, MPI_COMM_SELF);
    } else if (strcmp(what, "any") == 0) {
        MPI_Send(&byte, 1, MPI_CHAR, (rank + 1) % size, 4, MPI_COMM_WORLD);
        receive(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD);
    } else if (strcmp(what, "probe") == 0) {
        MPI_Probe((rank + 1) % size, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(what, "behind") == 0) { /* rank 1 begins collective operations, and sends something that nobody receives */
        if (rank == 1) {
            int v = 0;
            MPI_Request all[3];
            MPI_Ibcast(&v, 1, MPI_INT, 1, MPI_COMM_WORLD, &all[0]);
            MPI_Ibcast(&v, 1, MPI_INT, 1, MPI_COMM_WORLD, &all[1]);
            MPI_Ibarrier(MPI_COMM_WORLD, &all[2]);
            receive(0, 2, MPI_COMM_WORLD);
        } else {
            MPI_Send(&byte, 1, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
            receive(1, 1, MPI_COMM_WORLD);
        }
    } else if (strcmp(what, "together") == 0) { /* does not */
        for (int i = 0; i < 5; ++i)
            MPI_Barrier(MPI_COMM_WORLD);
    } else if (strcmp(what, "sleeps") == 0) { /* rank 1 sleeps */
        if (rank == 1)
            sleep(1000);
        receive(1, 2, MPI_COMM_WORLD);
    } else if (strcmp(what, "requests") == 0) {
        MPI_Request all[3];
        MPI_Irecv(&byte, 1, MPI_CHAR, (rank + 1) % size, 1, MPI_COMM_WORLD, &all[0]);
        MPI_Irecv(&byte, 1, MPI_CHAR, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &all[1]);
        MPI_Issend(&byte, 1, MPI_CHAR, (rank + 1) % size, 3, MPI_COMM_WORLD, &all[2]);
        if (rank == 0)
            MPI_Waitall(3, all, MPI_STATUSES_IGNORE);
        else if (rank == 1)
            MPI_Wait(&all[2], MPI_STATUS_IGNORE);
        else
            MPI_Waitany(3, all, &provided, MPI_STATUS_IGNORE);
    } else if (strcmp(what, "split") == 0) {
        MPI_Comm comm = half();
        int r, n;
        MPI_Comm_rank(comm, &r);
        MPI_Comm_size(comm, &n);
        receive((r + 1) % n, 6, comm);
    } else if (strcmp(what, "barrier") == 0) { /* all but the last */
        if (rank != size - 1)
            MPI_Barrier(MPI_COMM_WORLD);
        receive(0, 1, MPI_COMM_WORLD);
    } else if (strcmp(what, "finalize") == 0) {
        if (rank == 0)
            receive(1, 2, MPI_COMM_WORLD);
    } else if (strcmp(what, "computes") == 0) { /* rank 1 computes */
        if (rank == 1)
            burn(NULL);
        receive(1, 2, MPI_COMM_WORLD);
    } else if (strcmp(what, "threads") == 0) {
        pthread_t t;
        pthread_create(&t, NULL, receiver, NULL);
        receive((rank + 1) % size, 7, MPI_COMM_WORLD);
    } else if (strcmp(what, "threads-compute") == 0) { /* as above, and a thread that might send */
        pthread_t t;
        pthread_create(&t, NULL, burn, NULL);
        receive((rank + 1) % size, 7, MPI_COMM_WORLD);
    } else if (strcmp(what, "moves") == 0) { /* waits often and long, and goes on each time: 6 s in all */
        for (int i = 0; i < 6; ++i) {
            if (rank == i % size) {
                struct timespec const nap = {1, 0};
                nanosleep(&nap, NULL);
                for (int r = 0; r < size; ++r)
                    if (r != rank)
                        MPI_Send(&byte, 1, MPI_CHAR, r, 0, MPI_COMM_WORLD);
            } else {
                receive(i % size, 0, MPI_COMM_WORLD);
            }
        }
    } else if (strcmp(what, "resumes") == 0) { /* stands still until rank 1 is told to go on */
        if (rank == 0)
            receive(1, 7, MPI_COMM_WORLD);
        else if (rank == 1) {
            char line[16];
            if (fgets(line, sizeof line, stdin) != NULL)
                MPI_Send(&byte, 1, MPI_CHAR, 0, 7, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return 0;
}
