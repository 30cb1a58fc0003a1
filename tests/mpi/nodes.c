/* What MPI tells of nodes: ranks that share memory, and whether they share a clock. Run by tests/programs/hosts_test.py. */
#include "check.h"

#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv)
{
    MPI_Comm here = MPI_COMM_NULL;
    int all = 0;
    int* global = NULL;
    int flag = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &size);
    MPI_Comm_rank(here, &rank);
    CHECK(size == atoi(getenv("MPI_LOCALNRANKS")));
    CHECK(rank == atoi(getenv("MPI_LOCALRANKID")));
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &global, &flag);
    CHECK(flag == 1 && *global == (size == all));
    MPI_Comm_free(&here);
    MPI_Finalize();
    return 0;
}
