/* Partitioned communication. Usage: partitioned SCENARIO; 2 ranks */
#include "check.h"

#include <pthread.h>
#include <string.h>

enum { parts = 8, each = 100 };
static int data[parts * each];

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

static void fill(int round)
{
    for (int i = 0; i < parts * each; ++i)
        data[i] = round * 100000 + i;
}

static void check_all(int round)
{
    for (int i = 0; i < parts * each; ++i)
        CHECK(data[i] == round * 100000 + i);
}

/* Ready in any order and by all three calls; the receiver divides the message otherwise. */
static void rounds(void)
{
    MPI_Request r;
    int const list[] = {7, 0, 3};
    if (rank == 0)
        MPI_Psend_init(data, parts, each, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
    else
        MPI_Precv_init(data, parts / 2, 2 * each, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
    for (int round = 0; round < 4; ++round) {
        int flag = 0;
        memset(data, 0, sizeof data);
        MPI_Start(&r);
        if (rank == 0) {
            fill(round);
            MPI_Pready_list(3, list, r);
            MPI_Pready_range(4, 6, r);
            MPI_Pready(1, r);
            MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
            CHECK(!flag);
            MPI_Pready(2, r);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
        } else {
            if (round % 2 == 0)
                for (int p = 0; p < parts / 2; ++p, flag = 0)
                    while (!flag)
                        MPI_Parrived(r, p, &flag);
            MPI_Status s;
            MPI_Wait(&r, &s);
            int count = 0;
            MPI_Get_count(&s, MPI_INT, &count);
            CHECK(count == parts * each && s.MPI_SOURCE == 0 && s.MPI_TAG == 5);
            check_all(round);
        }
    }
    MPI_Request_free(&r);
}

/* Pairs belong together by the order of their making, whatever the order of their starts; other messages are not of them. */
static void pairs(void)
{
    int values[3] = {0}, other = 9;
    MPI_Request r[3];
    for (int i = 0; i < 3; ++i)
        if (rank == 0)
            MPI_Psend_init(&values[i], 1, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &r[i]);
        else
            MPI_Precv_init(&values[i], 1, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &r[i]);
    if (rank == 0) {
        for (int i = 2; i >= 0; --i) {
            values[i] = 10 + i;
            MPI_Start(&r[i]);
            MPI_Pready(0, r[i]);
        }
        MPI_Send(&other, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
    } else {
        int got = 0;
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(got == 9);
        MPI_Startall(3, r);
    }
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 3; ++i) {
        CHECK(values[i] == 10 + i);
        MPI_Request_free(&r[i]);
    }
}

static MPI_Request shared;
static void* make_ready(void* part)
{
    MPI_Pready((int)(long)part, shared);
    return NULL;
}

static void threads(void)
{
    if (rank == 0)
        MPI_Psend_init(data, parts, each, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &shared);
    else
        MPI_Precv_init(data, parts, each, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &shared);
    for (int round = 0; round < 20; ++round) {
        if (rank == 0)
            fill(round);
        MPI_Start(&shared);
        if (rank == 0) {
            pthread_t all[parts];
            for (long i = 0; i < parts; ++i)
                pthread_create(&all[i], NULL, make_ready, (void*)i);
            MPI_Wait(&shared, MPI_STATUS_IGNORE);
            for (int i = 0; i < parts; ++i)
                pthread_join(all[i], NULL);
        } else {
            MPI_Wait(&shared, MPI_STATUS_IGNORE);
            check_all(round);
        }
    }
    MPI_Request_free(&shared);
}

static void errors(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int flag = 0;
    MPI_Request r, other;
    CHECK(class_of(MPI_Psend_init(data, -1, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &r)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Precv_init(data, 1, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &r)) == MPI_ERR_RANK);
    MPI_Psend_init(data, 2, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
    CHECK(class_of(MPI_Pready(0, r)) == MPI_ERR_REQUEST);
    MPI_Start(&r);
    CHECK(class_of(MPI_Pready(2, r)) == MPI_ERR_ARG && class_of(MPI_Pready_range(1, 0, r)) == MPI_ERR_ARG);
    CHECK(MPI_Pready(0, r) == MPI_SUCCESS && class_of(MPI_Pready(0, r)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Parrived(r, 0, &flag)) == MPI_ERR_REQUEST);
    MPI_Pready(1, r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Request_free(&r);
    MPI_Recv_init(data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &other);
    CHECK(class_of(MPI_Pready(0, other)) == MPI_ERR_REQUEST);
    MPI_Request_free(&other);
    CHECK(MPI_Parrived(MPI_REQUEST_NULL, 0, &flag) == MPI_SUCCESS && flag == 1);
}

int main(int argc, char** argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char const* const scenario = argc > 1 ? argv[1] : "";
    if (!strcmp(scenario, "rounds"))
        rounds();
    else if (!strcmp(scenario, "pairs"))
        pairs();
    else if (!strcmp(scenario, "threads"))
        threads();
    else if (!strcmp(scenario, "errors"))
        errors();
    else
        return 2;
    MPI_Finalize();
    return 0;
}
