/* A program with a profiling layer of its own: it defines MPI_Get_version, and calls MPI_Comm_rank three times. */
#include <mpi.h>

#include <stdio.h>

static int wrapped;

int MPI_Get_version(int* version, int* subversion)
{
    ++wrapped;
    return PMPI_Get_version(version, subversion);
}

int main(int argc, char** argv)
{
    int version = 0, subversion = 0, rank = -1;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 3; ++i)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);  /* past every tool */
    MPI_Get_version(&version, &subversion);
    printf("rank %d, MPI %d.%d, wrapped %d\n", rank, version, subversion, wrapped);
    MPI_Finalize();
    return 0;
}
