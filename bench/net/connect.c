// All ranks meet all: connect. Rank 0 prints
//     connected NS            from a barrier until every rank has sent 0 B to every other, and all know
//     again NS                the same once more
//     memory KIB KIB ...      proportional set size of each rank then
#include "../mpi/turn.h"
#include "../mpi/bench_crowd.h"

static double meet_all(int rank, int ranks)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now_ns();
    for (int d = 1; d < ranks; ++d)
        MPI_Sendrecv(NULL, 0, MPI_BYTE, (rank + d) % ranks, 1, NULL, 0, MPI_BYTE, (rank - d + ranks) % ranks, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    return now_ns() - begin;
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double first = meet_all(rank, ranks), again = meet_all(rank, ranks);
    if (rank == 0)
        printf("connected %.0f\nagain %.0f\n", first, again);
    print_memory(rank, ranks);
    MPI_Finalize();
    return 0;
}
