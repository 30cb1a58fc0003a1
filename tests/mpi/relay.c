/* Relayed messages of a sender that ends. Usage: mpi_relay after | midway, on 2 ranks under --keep-going with TOWLINE_WAY=relay.
   after: it is killed when its send has returned, and the message is received all the same. midway: it dies in the middle of its copy, and
   the receive ends with an error. Rank 1 prints "well" where everything was as it should. */
#define _GNU_SOURCE
#include "check.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { BYTES = 256 << 10 };

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 2 && size == 2);
    int const midway = strcmp(argv[1], "midway") == 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    char* const data = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(data != MAP_FAILED);
    /* How they reach each other is known since the first message. */
    if (rank == 0)
        CHECK(MPI_Send(data, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    else
        CHECK(MPI_Recv(data, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    if (rank == 0) {
        for (int i = 0; i < BYTES; ++i)
            data[i] = (char)(i * 7 + (i >> 12));
        if (midway)
            CHECK(mprotect(data + BYTES / 2, BYTES / 2, PROT_NONE) == 0);
        (void)MPI_Send(data, BYTES, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        raise(SIGKILL);
    }
    if (!midway)
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL); /* it is dead by then */
    MPI_Status status;
    int const code = MPI_Recv(data, BYTES, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &status);
    if (midway) {
        int class = MPI_SUCCESS;
        MPI_Error_class(code, &class);
        CHECK(class == MPI_ERR_PROC_ABORTED);
    } else {
        CHECK(code == MPI_SUCCESS);
        for (int i = 0; i < BYTES; ++i)
            CHECK(data[i] == (char)(i * 7 + (i >> 12)));
    }
    puts("well");
    MPI_Finalize();
    return 0;
}
