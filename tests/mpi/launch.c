/* What programs see of their launcher. Usage: mpi_launch SCENARIO; prints what it saw. */
#define _GNU_SOURCE
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv)
{
    const char* const what = argc > 1 ? argv[1] : "";
    int rank = -1, size = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "appnum") == 0) {
        int flag = -1, *number = NULL;
        MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag);
        printf("rank %d of %d: program %d, %s\n", rank, size, flag ? *number : -1, argc > 2 ? argv[2] : "");
    } else if (strcmp(what, "abort") == 0) {
        if (rank == size - 1)
            MPI_Abort(MPI_COMM_WORLD, atoi(argv[2]));
        MPI_Recv(NULL, 0, MPI_BYTE, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(what, "exit") == 0) { /* without MPI_Finalize */
        if (rank == size - 1)
            exit(atoi(argv[2]));
        MPI_Recv(NULL, 0, MPI_BYTE, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(what, "late") == 0) { /* a bad end after a good one */
        MPI_Finalize();
        return rank == size - 1 ? atoi(argv[2]) : 0;
    }
    MPI_Finalize();
    return 0;
}
