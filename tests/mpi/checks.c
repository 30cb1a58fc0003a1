/* Ranks that do not call the same are told. Usage: mpi_checks WHAT WAY; WAY is 0 (blocking) or 1 (nonblocking). Prints "RANK CLASS" of the
   call in which they differ; before and behind it all is well.
   WAY is u or v: without TOWLINE_CHECK. Over lanes whoever looks at what another rank offers finds it; "RANK CLASS TEXT" of the calls that
   failed. Who looked at nobody is told in a line, at the latest when the communicator ends. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

static void well(MPI_Comm comm)
{
    for (int i = 0; i < 4; ++i) {
        int sum = 0;
        MPI_Request request;
        CHECK(MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == i * size);
        CHECK(MPI_Ibarrier(comm, &request) == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
}

/* Pairs of operations; the last rank calls the second. */
static int call(const char* which, int nonblocking, MPI_Comm comm)
{
    int const many = strncmp(which, "big-", 4) == 0 ? 100000 : 1;
    double *from = calloc((size_t)many * (size_t)size, sizeof *from), *to = calloc((size_t)many * (size_t)size, sizeof *to);
    const char* name = many > 1 ? which + 4 : which;
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_ERR_INTERN;
#define CASE(label, call, icall) \
    if (strcmp(name, label) == 0) \
        code = nonblocking ? (icall) : (call)
    CASE("barrier", MPI_Barrier(comm), MPI_Ibarrier(comm, &request));
    CASE("bcast0", MPI_Bcast(to, many, MPI_DOUBLE, 0, comm), MPI_Ibcast(to, many, MPI_DOUBLE, 0, comm, &request));
    CASE("bcast1", MPI_Bcast(to, many, MPI_DOUBLE, 1, comm), MPI_Ibcast(to, many, MPI_DOUBLE, 1, comm, &request));
    CASE("allreduce", MPI_Allreduce(from, to, many, MPI_DOUBLE, MPI_SUM, comm),
         MPI_Iallreduce(from, to, many, MPI_DOUBLE, MPI_SUM, comm, &request));
    CASE("reduce0", MPI_Reduce(from, to, many, MPI_DOUBLE, MPI_SUM, 0, comm),
         MPI_Ireduce(from, to, many, MPI_DOUBLE, MPI_SUM, 0, comm, &request));
    CASE("gather0", MPI_Gather(from, many, MPI_DOUBLE, to, many, MPI_DOUBLE, 0, comm),
         MPI_Igather(from, many, MPI_DOUBLE, to, many, MPI_DOUBLE, 0, comm, &request));
    CASE("allgather", MPI_Allgather(from, many, MPI_DOUBLE, to, many, MPI_DOUBLE, comm),
         MPI_Iallgather(from, many, MPI_DOUBLE, to, many, MPI_DOUBLE, comm, &request));
    CASE("alltoall", MPI_Alltoall(from, many, MPI_DOUBLE, to, many, MPI_DOUBLE, comm),
         MPI_Ialltoall(from, many, MPI_DOUBLE, to, many, MPI_DOUBLE, comm, &request));
    CASE("scan", MPI_Scan(from, to, many, MPI_DOUBLE, MPI_SUM, comm), MPI_Iscan(from, to, many, MPI_DOUBLE, MPI_SUM, comm, &request));
    if (request != MPI_REQUEST_NULL)
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    free(from);
    free(to);
    return code;
}

static void in_order(MPI_Comm comm, const char* pair, int nonblocking)
{
    char text[MPI_MAX_ERROR_STRING], first[32] = {0};
    const char* second = strchr(pair, '+');
    CHECK(second != NULL);
    memcpy(first, pair, (size_t)(second - pair));
    int class = 0, length = 0, code = call(rank == size - 1 ? second + 1 : first, nonblocking, comm);
    if (code == MPI_SUCCESS)
        return;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    printf("%d %d %s\n", rank, class, text);
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 3);
    char const* const what = argv[1];
    int const nonblocking = argv[2][0] == '1';
    int const dims[] = {size}, periods[] = {1};
    MPI_Comm comm;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    double in[64] = {0}, out[64] = {0};
    int const odd = rank == size - 1;
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
    well(comm);
#define IS(name) (strcmp(what, name) == 0)
#define EITHER(call, icall) (nonblocking ? (icall) : (call))
    if (IS("call") && odd)
        code = EITHER(MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, comm),
                      MPI_Iallreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, comm, &request));
    else if (IS("call") || IS("root"))
        code = EITHER(MPI_Bcast(out, 1, MPI_DOUBLE, IS("root") && odd, comm),
                      MPI_Ibcast(out, 1, MPI_DOUBLE, IS("root") && odd, comm, &request));
    else if (IS("bytes"))
        code = EITHER(MPI_Bcast(out, 4 + odd, MPI_DOUBLE, 0, comm), MPI_Ibcast(out, 4 + odd, MPI_DOUBLE, 0, comm, &request));
    else if (IS("type"))
        code = EITHER(MPI_Gather(in, 2, odd ? MPI_INT64_T : MPI_DOUBLE, out, 2, MPI_DOUBLE, 0, comm),
                      MPI_Igather(in, 2, odd ? MPI_INT64_T : MPI_DOUBLE, out, 2, MPI_DOUBLE, 0, comm, &request));
    else if (IS("operation"))
        code = EITHER(MPI_Allreduce(in, out, 1, MPI_DOUBLE, odd ? MPI_MAX : MPI_SUM, comm),
                      MPI_Iallreduce(in, out, 1, MPI_DOUBLE, odd ? MPI_MAX : MPI_SUM, comm, &request));
    else if (IS("neighbours") && odd)
        code = EITHER(MPI_Neighbor_allgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, comm),
                      MPI_Ineighbor_allgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, comm, &request));
    else if (IS("neighbours"))
        code = EITHER(MPI_Neighbor_alltoall(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, comm),
                      MPI_Ineighbor_alltoall(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, comm, &request));
    else
        CHECK(IS("same") || strchr(what, (int)'+') != NULL);
    if (request != MPI_REQUEST_NULL)
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (argv[2][0] == 'u' || argv[2][0] == 'v') {
        in_order(comm, what, argv[2][0] == 'v');
        MPI_Barrier(MPI_COMM_WORLD);  /* now all have found what they find */
        MPI_Comm_free(&comm);
        MPI_Finalize();
        return 0;
    }
    int class = 0, length = 0;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    printf("%d %d\n", rank, class);
    well(comm);
    /* By the way that most programs go, the text is what is printed. */
    if (argv[2][1] == 'f') {
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
        MPI_Bcast(out, 1, MPI_DOUBLE, odd, comm);
    }
    MPI_Finalize();
    return 0;
}
