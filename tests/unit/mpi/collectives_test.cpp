// Collective operations in a job of one: what is refused, and how; large counts; nothing at all.

#include "unit/mpi/running.hpp"

#include <cstdint>
#include <vector>

namespace {

struct collectives : running {
    int x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {};
    MPI_Comm const comm = MPI_COMM_WORLD;
    MPI_Request request = MPI_REQUEST_NULL;
};

void add(void* in, void* inout, int* n, MPI_Datatype*)
{
    for (int i = 0; i < *n; ++i)
        static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

} // namespace

TEST_F(collectives, roots_are_ranks)
{
    for (int const root : std::initializer_list<int>{-1, 1, MPI_ROOT, MPI_PROC_NULL, MPI_ANY_SOURCE}) {
        EXPECT_EQ(class_of(MPI_Bcast(x, 1, MPI_INT, root, comm)), MPI_ERR_ROOT);
        EXPECT_EQ(class_of(MPI_Gather(x, 1, MPI_INT, y, 1, MPI_INT, root, comm)), MPI_ERR_ROOT);
        EXPECT_EQ(class_of(MPI_Scatter(x, 1, MPI_INT, y, 1, MPI_INT, root, comm)), MPI_ERR_ROOT);
        EXPECT_EQ(class_of(MPI_Reduce(x, y, 1, MPI_INT, MPI_SUM, root, comm)), MPI_ERR_ROOT);
        EXPECT_EQ(class_of(MPI_Ibcast(x, 1, MPI_INT, root, comm, &request)), MPI_ERR_ROOT);
        EXPECT_EQ(class_of(MPI_Bcast_init(x, 1, MPI_INT, root, comm, MPI_INFO_NULL, &request)), MPI_ERR_ROOT);
        EXPECT_EQ(request, MPI_REQUEST_NULL);
    }
}

TEST_F(collectives, counts_and_datatypes_are_checked)
{
    int const negative[] = {-1}, zero[] = {0};
    EXPECT_EQ(class_of(MPI_Bcast(x, -1, MPI_INT, 0, comm)), MPI_ERR_COUNT);
    EXPECT_EQ(class_of(MPI_Allreduce(x, y, -1, MPI_INT, MPI_SUM, comm)), MPI_ERR_COUNT);
    EXPECT_EQ(class_of(MPI_Allgatherv(x, 1, MPI_INT, y, negative, zero, MPI_INT, comm)), MPI_ERR_COUNT);
    EXPECT_EQ(class_of(MPI_Reduce_scatter(x, y, negative, MPI_INT, MPI_SUM, comm)), MPI_ERR_COUNT);
    EXPECT_EQ(class_of(MPI_Alltoallv(x, nullptr, zero, MPI_INT, y, zero, zero, MPI_INT, comm)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Alltoallw(x, zero, zero, nullptr, y, zero, zero, nullptr, comm)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Bcast(x, 1, MPI_DATATYPE_NULL, 0, comm)), MPI_ERR_TYPE);
    EXPECT_EQ(class_of(MPI_Allgather(x, 1, MPI_INT, y, 1, MPI_DATATYPE_NULL, comm)), MPI_ERR_TYPE);
    MPI_Datatype pair;
    ASSERT_EQ(MPI_Type_contiguous(2, MPI_INT, &pair), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Bcast(x, 1, pair, 0, comm)), MPI_ERR_TYPE) << "not committed";
    EXPECT_EQ(MPI_Type_free(&pair), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Bcast_c(x, INT64_MAX, MPI_INT, 0, comm)), MPI_ERR_COUNT);
    EXPECT_EQ(class_of(MPI_Barrier(MPI_COMM_NULL)), MPI_ERR_COMM);
}

TEST_F(collectives, what_a_rank_gives_itself_fits)
{
    EXPECT_EQ(class_of(MPI_Gather(x, 2, MPI_INT, y, 1, MPI_INT, 0, comm)), MPI_ERR_TRUNCATE);
    EXPECT_EQ(class_of(MPI_Allgather(x, 1, MPI_INT, y, 2, MPI_INT, comm)), MPI_ERR_TRUNCATE);
    EXPECT_EQ(class_of(MPI_Alltoall(x, 2, MPI_INT, y, 1, MPI_INT, comm)), MPI_ERR_TRUNCATE);
    EXPECT_EQ(class_of(MPI_Scatter(x, 1, MPI_DOUBLE, y, 1, MPI_INT, 0, comm)), MPI_ERR_TRUNCATE);
}

TEST_F(collectives, buffers_are_checked)
{
    EXPECT_EQ(class_of(MPI_Bcast(nullptr, 1, MPI_INT, 0, comm)), MPI_ERR_BUFFER);
    EXPECT_EQ(class_of(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, comm)), MPI_ERR_BUFFER);
    EXPECT_EQ(class_of(MPI_Allreduce(x, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm)), MPI_ERR_BUFFER);
    EXPECT_EQ(class_of(MPI_Allreduce(x, x, 1, MPI_INT, MPI_SUM, comm)), MPI_ERR_BUFFER);
    EXPECT_EQ(class_of(MPI_Reduce(x, x, 1, MPI_INT, MPI_SUM, 0, comm)), MPI_ERR_BUFFER);
    EXPECT_EQ(class_of(MPI_Scan(x, x, 1, MPI_INT, MPI_SUM, comm)), MPI_ERR_BUFFER);
    EXPECT_EQ(class_of(MPI_Gather(x, 1, MPI_INT, x, 1, MPI_INT, 0, comm)), MPI_ERR_BUFFER);
    EXPECT_EQ(class_of(MPI_Scatter(x, 1, MPI_INT, x, 1, MPI_INT, 0, comm)), MPI_ERR_BUFFER);
    EXPECT_EQ(class_of(MPI_Allgather(x, 1, MPI_INT, x, 1, MPI_INT, comm)), MPI_ERR_BUFFER);
    EXPECT_EQ(class_of(MPI_Alltoall(x, 1, MPI_INT, x, 1, MPI_INT, comm)), MPI_ERR_BUFFER);
    int const one[] = {1}, at0[] = {0}, at3[] = {3};
    EXPECT_EQ(class_of(MPI_Alltoallv(x, one, at0, MPI_INT, x, one, at0, MPI_INT, comm)), MPI_ERR_BUFFER);
    EXPECT_EQ(MPI_Alltoallv(x, one, at0, MPI_INT, x, one, at3, MPI_INT, comm), MPI_SUCCESS) << "one array, other places";
    EXPECT_EQ(x[3], 1);
    EXPECT_EQ(class_of(MPI_Reduce_local(x, x, 1, MPI_INT, MPI_SUM)), MPI_ERR_BUFFER);
    EXPECT_EQ(class_of(MPI_Reduce_local(MPI_IN_PLACE, x, 1, MPI_INT, MPI_SUM)), MPI_ERR_BUFFER);
}

TEST_F(collectives, operations_fit_datatypes)
{
    EXPECT_EQ(class_of(MPI_Allreduce(x, y, 1, MPI_FLOAT, MPI_BAND, comm)), MPI_ERR_OP);
    EXPECT_EQ(class_of(MPI_Allreduce(x, y, 1, MPI_INT, MPI_OP_NULL, comm)), MPI_ERR_OP);
    EXPECT_EQ(class_of(MPI_Allreduce(x, y, 1, MPI_INT, MPI_REPLACE, comm)), MPI_ERR_OP);
    EXPECT_EQ(class_of(MPI_Allreduce(x, y, 1, MPI_INT, MPI_MINLOC, comm)), MPI_ERR_OP);
    EXPECT_EQ(class_of(MPI_Allreduce(nullptr, nullptr, 0, MPI_WCHAR, MPI_SUM, comm)), MPI_ERR_OP) << "also of nothing";
    EXPECT_EQ(MPI_Allreduce(nullptr, nullptr, 0, MPI_CHAR, MPI_SUM, comm), MPI_SUCCESS) << "as other libraries do";
    MPI_Datatype pair, same;
    ASSERT_EQ(MPI_Type_contiguous(2, MPI_INT, &pair), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_commit(&pair), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Allreduce(x, y, 1, pair, MPI_SUM, comm)), MPI_ERR_OP);
    EXPECT_EQ(MPI_Type_free(&pair), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_dup(MPI_INT, &same), MPI_SUCCESS);
    EXPECT_EQ(MPI_Allreduce(x, y, 2, same, MPI_SUM, comm), MPI_SUCCESS);
    EXPECT_EQ(y[1], 2);
    EXPECT_EQ(MPI_Type_free(&same), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_create_f90_integer(9, &same), MPI_SUCCESS);
    EXPECT_EQ(MPI_Allreduce(x + 2, y, 1, same, MPI_SUM, comm), MPI_SUCCESS);
    EXPECT_EQ(y[0], 3);
}

TEST_F(collectives, nothing_needs_no_buffers)
{
    int const zero[] = {0};
    EXPECT_EQ(MPI_Bcast(nullptr, 0, MPI_INT, 0, comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Allreduce(nullptr, nullptr, 0, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Allreduce(x, x, 0, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Allgather(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Alltoallv(nullptr, zero, zero, MPI_INT, nullptr, zero, zero, MPI_INT, comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Reduce_scatter(nullptr, nullptr, zero, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Reduce_local(nullptr, nullptr, 0, MPI_INT, MPI_SUM), MPI_SUCCESS);
}

TEST_F(collectives, large_forms_are_the_same)
{
    MPI_Count const counts[] = {3}, three = 3;
    MPI_Aint const displs[] = {2};
    EXPECT_EQ(MPI_Allgatherv_c(x, 3, MPI_INT, y, counts, displs, MPI_INT, comm), MPI_SUCCESS);
    EXPECT_EQ(y[1], 0);
    EXPECT_EQ(y[2], 1);
    EXPECT_EQ(y[4], 3);
    EXPECT_EQ(MPI_Iallreduce_c(x + 3, y, three, MPI_INT, MPI_MAX, comm, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(y[0], 4);
}

TEST_F(collectives, a_status_is_empty)
{
    MPI_Status status;
    status.MPI_ERROR = 77;
    ASSERT_EQ(MPI_Barrier_init(comm, MPI_INFO_NULL, &request), MPI_SUCCESS);
    for (int start = 0; start < 3; ++start) {
        ASSERT_EQ(MPI_Start(&request), MPI_SUCCESS);
        EXPECT_EQ(class_of(MPI_Start(&request)), MPI_ERR_REQUEST) << "it is active";
        ASSERT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
        int count = -1, cancelled = -1;
        EXPECT_EQ(MPI_Get_count(&status, MPI_BYTE, &count), MPI_SUCCESS);
        EXPECT_EQ(MPI_Test_cancelled(&status, &cancelled), MPI_SUCCESS);
        EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
        EXPECT_EQ(status.MPI_TAG, MPI_ANY_TAG);
        EXPECT_EQ(status.MPI_ERROR, 77) << "only calls on many requests write it";
        EXPECT_EQ(count, 0);
        EXPECT_EQ(cancelled, 0);
    }
    EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
}

TEST_F(collectives, a_persistent_operation_reads_its_buffer_anew)
{
    MPI_Op op;
    ASSERT_EQ(MPI_Op_create(add, 1, &op), MPI_SUCCESS);
    ASSERT_EQ(MPI_Allreduce_init(x, y, 8, MPI_INT, op, comm, MPI_INFO_NULL, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Op_free(&op), MPI_SUCCESS);
    for (int start = 0; start < 3; ++start) {
        x[5] = 100 + start;
        ASSERT_EQ(MPI_Start(&request), MPI_SUCCESS);
        ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(y[5], 100 + start);
    }
    EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
}

TEST_F(collectives, what_a_rank_gives_itself_goes_from_layout_to_layout)
{
    constexpr int side = 24;
    MPI_Datatype column, columns, rows;
    ASSERT_EQ(MPI_Type_vector(side, 1, side, MPI_INT, &column), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_create_resized(column, 0, sizeof(int), &columns), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_vector(side, side, side + 2, MPI_INT, &rows), MPI_SUCCESS);  // with gaps behind each row
    ASSERT_EQ(MPI_Type_commit(&columns), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_commit(&rows), MPI_SUCCESS);
    std::vector<int> from(side * side), to;
    for (int i = 0; i < side * side; ++i)
        from[static_cast<std::size_t>(i)] = i;
    int const one[] = {1}, all[] = {side}, at0[] = {0};
    MPI_Request persistent;
    to.assign(side * (side + 2), -1);
    ASSERT_EQ(MPI_Alltoallw_init(from.data(), all, at0, &columns, to.data(), one, at0, &rows, comm, MPI_INFO_NULL, &persistent),
              MPI_SUCCESS);
    auto const is_transposed = [&](char const* call) {
        for (int r = 0; r < side; ++r)
            for (int c = 0; c < side + 2; ++c)
                EXPECT_EQ(to[static_cast<std::size_t>(r * (side + 2) + c)], c < side ? c * side + r : -1) << call << ", row " << r;
        to.assign(to.size(), -1);
        from[0] = 0;
    };
    for (int turn = 0; turn < 2; ++turn) {
        ASSERT_EQ(MPI_Start(&persistent), MPI_SUCCESS);
        ASSERT_EQ(MPI_Wait(&persistent, MPI_STATUS_IGNORE), MPI_SUCCESS);
        is_transposed("MPI_Alltoallw_init");
    }
    EXPECT_EQ(MPI_Request_free(&persistent), MPI_SUCCESS);
    EXPECT_EQ(MPI_Alltoallw(from.data(), all, at0, &columns, to.data(), one, at0, &rows, comm), MPI_SUCCESS);
    is_transposed("MPI_Alltoallw");
    EXPECT_EQ(MPI_Alltoallv(from.data(), all, at0, columns, to.data(), one, at0, rows, comm), MPI_SUCCESS);
    is_transposed("MPI_Alltoallv");
    EXPECT_EQ(MPI_Alltoall(from.data(), side, columns, to.data(), 1, rows, comm), MPI_SUCCESS);
    is_transposed("MPI_Alltoall");
    EXPECT_EQ(MPI_Allgather(from.data(), side, columns, to.data(), 1, rows, comm), MPI_SUCCESS);
    is_transposed("MPI_Allgather");
    EXPECT_EQ(MPI_Ialltoallw(from.data(), all, at0, &columns, to.data(), one, at0, &rows, comm, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_free(&columns), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_free(&rows), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    is_transposed("MPI_Ialltoallw");
    EXPECT_EQ(MPI_Type_free(&column), MPI_SUCCESS);
}
