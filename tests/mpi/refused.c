/* What a rank refuses does not count, and what only one rank finds wrong ends with an error where it matters. Usage: mpi_refused SCENARIO;
   silent and 0 where everything was as it should. */
#include "check.h"

#include <string.h>

static double const one = 1;

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

/* Sums that are right tell that the ranks are in the same operation. */
static void expect_sums(MPI_Comm comm, int times)
{
    for (int i = 0; i < times; ++i) {
        double const mine = i * 100 + rank;
        double sum = -1;
        CHECK(MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm) == MPI_SUCCESS);
        CHECK(sum == i * 100.0 * size + size * (size - 1) / 2);
    }
}

/* One rank makes a call that is refused, before and behind the ranks show each other their lanes. */
static void refused(void)
{
    for (int before = 0; before < 6; ++before) {
        for (int what = 0; what < 6; ++what) {
            MPI_Comm comm;
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
            expect_sums(comm, before);
            if (rank == what % size) {
                double out[64];
                MPI_Request request;
                int const code = what == 0   ? MPI_Allreduce(&one, out, -1, MPI_DOUBLE, MPI_SUM, comm)
                                 : what == 1 ? MPI_Bcast(out, 1, MPI_DOUBLE, size, comm)
                                 : what == 2 ? MPI_Reduce(&one, out, 1, MPI_DATATYPE_NULL, MPI_SUM, 0, comm)
                                 : what == 3 ? MPI_Allgather(NULL, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, comm)
                                 : what == 4 ? MPI_Iallreduce(&one, out, -1, MPI_DOUBLE, MPI_SUM, comm, &request)
                                             : MPI_Scan(&one, out, 1, MPI_DOUBLE, MPI_OP_NULL, comm);
                CHECK(code != MPI_SUCCESS);
            }
            expect_sums(comm, 6);
            MPI_Comm_free(&comm);
        }
    }
}

/* Rank 0's own block does not fit: the others are in the operation, which it takes part in. */
static void own_block(void)
{
    enum { MOST = 1 << 16 };
    char* const in = calloc((size_t)size, MOST);
    char* const out = calloc((size_t)size + 1, MOST);
    int counts[64], places[64];
    CHECK(in != NULL && out != NULL && size <= 64);
    for (int n = 8; n <= MOST; n = n == 8 ? 3000 : n * 20 > MOST && n < MOST ? MOST : n * 20) {
        for (int what = 0; what < 6; ++what) {
            for (int way = 0; way < 2; ++way) {
                MPI_Comm comm;
                MPI_Comm_dup(MPI_COMM_WORLD, &comm);
                MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
                expect_sums(comm, 4);
                for (int r = 0; r < size; ++r) {
                    counts[r] = n;
                    places[r] = n * r;
                }
                int const mine = rank == 0 ? n - 1 : n;
                MPI_Request request = MPI_REQUEST_NULL;
                int code;
                if (way == 0)
                    code = what == 0   ? MPI_Gather(in, mine, MPI_CHAR, out, n, MPI_CHAR, 0, comm)
                           : what == 1 ? MPI_Scatter(in, n, MPI_CHAR, out, mine, MPI_CHAR, 0, comm)
                           : what == 2 ? MPI_Allgather(in, mine, MPI_CHAR, out, n, MPI_CHAR, comm)
                           : what == 3 ? MPI_Alltoall(in, mine, MPI_CHAR, out, n, MPI_CHAR, comm)
                           : what == 4 ? MPI_Allgatherv(in, mine, MPI_CHAR, out, counts, places, MPI_CHAR, comm)
                                       : MPI_Gatherv(in, mine, MPI_CHAR, out, counts, places, MPI_CHAR, 0, comm);
                else
                    code = what == 0   ? MPI_Igather(in, mine, MPI_CHAR, out, n, MPI_CHAR, 0, comm, &request)
                           : what == 1 ? MPI_Iscatter(in, n, MPI_CHAR, out, mine, MPI_CHAR, 0, comm, &request)
                           : what == 2 ? MPI_Iallgather(in, mine, MPI_CHAR, out, n, MPI_CHAR, comm, &request)
                           : what == 3 ? MPI_Ialltoall(in, mine, MPI_CHAR, out, n, MPI_CHAR, comm, &request)
                           : what == 4 ? MPI_Iallgatherv(in, mine, MPI_CHAR, out, counts, places, MPI_CHAR, comm, &request)
                                       : MPI_Igatherv(in, mine, MPI_CHAR, out, counts, places, MPI_CHAR, 0, comm, &request);
                if (request != MPI_REQUEST_NULL)
                    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
                int class = MPI_SUCCESS;
                MPI_Error_class(code, &class);
                if (rank == 0)
                    CHECK(class == MPI_ERR_TRUNCATE);
                else if (what == 2 || what == 3 || what == 4)
                    CHECK(class == MPI_ERR_TRUNCATE);  /* they need rank 0's block */
                else
                    CHECK(class == MPI_SUCCESS || class == MPI_ERR_TRUNCATE);
                expect_sums(comm, 4);
                MPI_Comm_free(&comm);
            }
        }
    }
    free(in);
    free(out);
}

/* One rank gives no elements, the others some: whoever needs them fails, and the next operation is well. */
static void nothing(void)
{
    enum { MOST = 1 << 15 };
    double* const in = calloc(MOST, sizeof(double));
    double* const out = calloc(MOST, sizeof(double) * (size_t)size);
    CHECK(in != NULL && out != NULL);
    for (int n = 1; n <= MOST; n = n == 1 ? 600 : n * 50 > MOST && n < MOST ? MOST : n * 50) {
        for (int what = 0; what < 6; ++what) {
            int const odd = size - 1;
            int const mine = rank == odd ? 0 : n;
            int code = what == 0   ? MPI_Allreduce(in, out, mine, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)
                       : what == 1 ? MPI_Bcast(out, mine, MPI_DOUBLE, odd, MPI_COMM_WORLD)
                       : what == 2 ? MPI_Gather(in, mine, MPI_DOUBLE, out, mine, MPI_DOUBLE, 0, MPI_COMM_WORLD)
                       : what == 3 ? MPI_Allgather(in, mine, MPI_DOUBLE, out, mine, MPI_DOUBLE, MPI_COMM_WORLD)
                       : what == 4 ? MPI_Reduce(in, out, mine, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD)
                                   : MPI_Scan(in, out, mine, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            int const needs = what == 0 || what == 3 ? rank != odd : what == 1 ? rank != odd : what == 5 ? 0 : rank == 0;
            CHECK(!needs || code != MPI_SUCCESS);
            expect_sums(MPI_COMM_WORLD, 3);
        }
    }
    free(in);
    free(out);
}

/* The same memory to be sent and received: all ranks refuse it, also where one of them receives nothing. */
static void alias(void)
{
    for (int lanes = 0; lanes < 6; lanes += 5) {
        MPI_Comm comm;
        MPI_Request request;
        double x[2] = {1, 2};
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        expect_sums(comm, lanes);
        CHECK(class_of(MPI_Scan(x, x, 2, MPI_DOUBLE, MPI_SUM, comm)) == MPI_ERR_BUFFER);
        CHECK(class_of(MPI_Exscan(x, x, 2, MPI_DOUBLE, MPI_SUM, comm)) == MPI_ERR_BUFFER);
        CHECK(class_of(MPI_Iexscan(x, x, 2, MPI_DOUBLE, MPI_SUM, comm, &request)) == MPI_ERR_BUFFER);
        CHECK(MPI_Exscan(x, x, 0, MPI_DOUBLE, MPI_SUM, comm) == MPI_SUCCESS);
        expect_sums(comm, 6);
        MPI_Comm_free(&comm);
    }
    double y = 3;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(MPI_Exscan(&y, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF) == MPI_SUCCESS && y == 3);
}

/* What ends inside an element of the receive's datatype was not sent for it. */
static void cut(void)
{
    MPI_Datatype gaps;
    MPI_Type_vector(40000, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    char* const bytes = calloc(1, 160000);
    int* const ints = calloc(80000, sizeof *ints);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int n = 3; n < 160000; n = n * 7 + 2) {
        for (int way = 0; way < 3; ++way) { /* early: taken at once, or by a request; late */
            for (int more = 0; more < 2; ++more) { /* to the end of an element */
                int const all = more ? (n + 3) / 4 * 4 : n, wrong = all % 4 != 0;
                MPI_Request r;
                if (rank != 0) {
                    MPI_Isend(bytes, all, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &r);
                    MPI_Barrier(MPI_COMM_WORLD);
                    MPI_Wait(&r, MPI_STATUS_IGNORE);
                    continue;
                }
                MPI_Status s;
                int count = -7;
                if (way == 2)
                    MPI_Irecv(ints, 1, gaps, 1, 7, MPI_COMM_WORLD, &r);
                MPI_Barrier(MPI_COMM_WORLD);
                if (way == 1)
                    MPI_Irecv(ints, 1, gaps, 1, 7, MPI_COMM_WORLD, &r);
                int const code = way > 0 ? MPI_Wait(&r, &s) : MPI_Recv(ints, 1, gaps, 1, 7, MPI_COMM_WORLD, &s);
                CHECK(class_of(code) == (wrong ? MPI_ERR_TYPE : MPI_SUCCESS));
                MPI_Get_elements(&s, gaps, &count);
                CHECK(count == (wrong ? MPI_UNDEFINED : all / 4));
            }
        }
    }
    free(bytes);
    free(ints);
    MPI_Type_free(&gaps);
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 2);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (strcmp(argv[1], "refused") == 0)
        refused();
    else if (strcmp(argv[1], "own_block") == 0)
        own_block();
    else if (strcmp(argv[1], "nothing") == 0)
        nothing();
    else if (strcmp(argv[1], "alias") == 0)
        alias();
    else if (strcmp(argv[1], "cut") == 0)
        cut();
    else
        CHECK(!"a scenario");
    MPI_Finalize();
    return 0;
}
