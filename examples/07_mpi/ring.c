/* MPI in C: a number goes around all ranks, and each adds its own. Run: mpicc ring.c -o ring && mpiexec -n 4 ./ring */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv)
{
    int rank, size, sum = 0, expected;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    if (rank != 0)
        MPI_Recv(&sum, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sum += rank;
    if (rank != size - 1)
        MPI_Send(&sum, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
    else
        printf("%d ranks: the numbers that went by sum up to %d\n", size, sum);

    MPI_Allreduce(&rank, &expected, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return rank == size - 1 && sum != expected;
}
