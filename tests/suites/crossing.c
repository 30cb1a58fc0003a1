/* A program that crosses over: it is built with one library's compiler and run on another's library. Rank 0 prints what is the same
 * everywhere. */
#ifdef WHEEL
#include <mpi_abi.h>
#else
#include <mpi.h>
#endif

#include <stdio.h>

static void longest(void* in, void* inout, int* n, MPI_Datatype* type)
{
    (void)type;
    for (int i = 0; i < 2 * *n; i += 2)
        if (((int*)in)[i] > ((int*)inout)[i]) {
            ((int*)inout)[i] = ((int*)in)[i];
            ((int*)inout)[i + 1] = ((int*)in)[i + 1];
        }
}

int main(int argc, char** argv)
{
    int rank, size, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    /* messages, short and long, with a derived datatype at one end */
    enum { N = 60000 };
    static int out[2 * N], in[N];
    MPI_Datatype every_second;
    MPI_Type_vector(N, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);
    for (int i = 0; i < 2 * N; ++i)
        out[i] = i + rank;
    long long sum = 0, total = 0;
    MPI_Status status;
    for (int count = 1; count <= N; count += N - 1) {
        MPI_Datatype type = count == 1 ? MPI_INT : every_second;
        MPI_Request request;
        MPI_Irecv(in, count, MPI_INT, (rank + size - 1) % size, 5, MPI_COMM_WORLD, &request);
        MPI_Send(out, 1, type, (rank + 1) % size, 5, MPI_COMM_WORLD);
        MPI_Wait(&request, &status);
        int got = -1;
        MPI_Get_count(&status, MPI_INT, &got);
        sum += got + in[count - 1] - (rank + size - 1) % size;
    }
    MPI_Type_free(&every_second);

    /* collectives, communicators, a user's operation */
    MPI_Allreduce(&sum, &total, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    int new_rank, pair[2] = {rank * 7 % 5, rank}, best[2];
    MPI_Comm_rank(half, &new_rank);
    MPI_Op op;
    MPI_Op_create(longest, 1, &op);
    MPI_Datatype two;
    MPI_Type_contiguous(2, MPI_INT, &two);
    MPI_Type_commit(&two);
    MPI_Reduce(pair, best, 1, two, op, 0, MPI_COMM_WORLD);
    struct { double value; int index; } mine = {-rank, rank}, least;
    MPI_Allreduce(&mine, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
    int ranks[64] = {0};
    MPI_Gather(&new_rank, 1, MPI_INT, ranks, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d ranks: total %lld, best %d of %d, least %d, ranks", size, total, best[0], best[1], least.index);
        for (int i = 0; i < size; ++i)
            printf(" %d", ranks[i]);
        printf("\n");
    }
    MPI_Op_free(&op);
    MPI_Type_free(&two);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
