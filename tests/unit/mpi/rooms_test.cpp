// Small rooms: statuses, operations, dimensions.

#include "mpi/topology.hpp"
#include "mpi/status.hpp"
#include "running.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

namespace {

using rooms = running;

void add(void*, void*, int*, MPI_Datatype*) {}
void add_large(void*, void*, MPI_Count*, MPI_Datatype*) {}

/// Every way to divide n into k factors in non-increasing order; the best has the smallest distance, then the largest at the end.
std::vector<int> best_by_trying(int n, int k)
{
    std::vector<int> best, now;
    std::function<void(int, int)> const go = [&](int rest, int largest) {
        if (static_cast<int>(now.size()) == k) {
            auto const order = [](std::vector<int> const& v) {
                std::vector<int> keys{v.front() - v.back()};
                std::transform(v.rbegin(), v.rend(), std::back_inserter(keys), std::negate<>());
                return keys;
            };
            if (rest == 1 && (best.empty() || order(now) < order(best)))
                best = now;
            return;
        }
        for (int d = 1; d <= std::min(rest, largest); ++d)
            if (rest % d == 0) {
                now.push_back(d);
                go(rest / d, d);
                now.pop_back();
            }
    };
    go(n, n);
    return best;
}

std::vector<int> divided(int n, std::vector<int> dims)
{
    towline::mpi::divide(n, dims);
    return dims;
}

} // namespace

TEST_F(rooms, a_status_is_written_and_read)
{
    MPI_Status s{};
    towline::mpi::set_bytes(s, std::int64_t{1} << 40);
    ASSERT_EQ(MPI_Status_set_source(&s, 3), MPI_SUCCESS);
    ASSERT_EQ(MPI_Status_set_tag(&s, 4), MPI_SUCCESS);
    ASSERT_EQ(MPI_Status_set_error(&s, MPI_ERR_TRUNCATE), MPI_SUCCESS);
    int n = -1;
    ASSERT_EQ(MPI_Test_cancelled(&s, &n), MPI_SUCCESS);
    EXPECT_EQ(n, 0);
    ASSERT_EQ(MPI_Status_set_cancelled(&s, 5), MPI_SUCCESS);
    MPI_Status const copy = s;
    ASSERT_EQ(MPI_Test_cancelled(&copy, &n), MPI_SUCCESS);
    EXPECT_EQ(n, 1);
    ASSERT_EQ(MPI_Status_get_source(&copy, &n), MPI_SUCCESS);
    EXPECT_EQ(n, 3);
    ASSERT_EQ(MPI_Status_get_tag(&copy, &n), MPI_SUCCESS);
    EXPECT_EQ(n, 4);
    ASSERT_EQ(MPI_Status_get_error(&copy, &n), MPI_SUCCESS);
    EXPECT_EQ(n, MPI_ERR_TRUNCATE);
    EXPECT_EQ(towline::mpi::bytes_of(copy), std::int64_t{1} << 40);
    EXPECT_EQ(class_of(MPI_Status_set_source(MPI_STATUS_IGNORE, 3)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Test_cancelled(MPI_STATUS_IGNORE, &n)), MPI_ERR_ARG);
}

TEST_F(rooms, operations_come_and_go)
{
    MPI_Op a = MPI_OP_NULL, b = MPI_OP_NULL;
    int commute = -1;
    ASSERT_EQ(MPI_Op_create(add, 1, &a), MPI_SUCCESS);
    ASSERT_EQ(MPI_Op_create_c(add_large, 0, &b), MPI_SUCCESS);
    ASSERT_EQ(MPI_Op_commutative(a, &commute), MPI_SUCCESS);
    EXPECT_EQ(commute, 1);
    ASSERT_EQ(MPI_Op_commutative(b, &commute), MPI_SUCCESS);
    EXPECT_EQ(commute, 0);
    for (MPI_Op const op : {MPI_SUM, MPI_LXOR, MPI_MAXLOC}) {
        ASSERT_EQ(MPI_Op_commutative(op, &commute), MPI_SUCCESS);
        EXPECT_EQ(commute, 1);
    }
    MPI_Op const kept = a;
    ASSERT_EQ(MPI_Op_free(&a), MPI_SUCCESS);
    EXPECT_EQ(a, MPI_OP_NULL);
    ASSERT_EQ(MPI_Op_free(&b), MPI_SUCCESS);
    a = kept;
    EXPECT_EQ(class_of(MPI_Op_free(&a)), MPI_ERR_OP);
    a = MPI_SUM;
    EXPECT_EQ(class_of(MPI_Op_free(&a)), MPI_ERR_OP);
    EXPECT_EQ(class_of(MPI_Op_create(nullptr, 1, &a)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Op_commutative(MPI_OP_NULL, &commute)), MPI_ERR_OP);
    EXPECT_EQ(class_of(MPI_Op_commutative(handle<MPI_Op>(0x25), &commute)), MPI_ERR_OP);
}

TEST_F(rooms, dimensions_are_balanced)
{
    EXPECT_EQ(divided(6, {0, 0}), (std::vector{3, 2}));
    EXPECT_EQ(divided(7, {0, 0}), (std::vector{7, 1}));
    EXPECT_EQ(divided(12, {0, 0, 0}), (std::vector{3, 2, 2}));
    EXPECT_EQ(divided(6, {0, 3, 0}), (std::vector{2, 3, 1}));
    EXPECT_EQ(divided(16, {0, 0, 0}), (std::vector{4, 2, 2}));
    EXPECT_EQ(divided(1, {0, 0, 0}), (std::vector{1, 1, 1}));
    EXPECT_EQ(divided(2147483647, {0, 0}), (std::vector{2147483647, 1}));
    EXPECT_EQ(divided(1 << 30, std::vector<int>(30)), std::vector<int>(30, 2));
    EXPECT_EQ(divided(5040, {0, 0, 0}), (std::vector{21, 16, 15}));
    EXPECT_EQ(divided(98784, {0, 0, 0, 0, 0}), (std::vector{14, 14, 9, 8, 7}));
    EXPECT_EQ(divided(13104, {0, 0, 0, 0}), (std::vector{14, 13, 9, 8}));
    EXPECT_EQ(divided(735134400, std::vector<int>(8)).size(), 8u);  // of those below 2^31 the one with the most divisors: not for ages
    for (int n = 1; n <= 400; ++n)
        for (int k = 1; k <= 4; ++k)
            ASSERT_EQ(divided(n, std::vector<int>(static_cast<std::size_t>(k))), best_by_trying(n, k)) << n << " in " << k;
    int dims[] = {0, 5};
    EXPECT_EQ(class_of(MPI_Dims_create(7, 2, dims)), MPI_ERR_DIMS);
    dims[1] = -1;
    EXPECT_EQ(class_of(MPI_Dims_create(7, 2, dims)), MPI_ERR_DIMS);
    int full[] = {2, 3};
    EXPECT_EQ(MPI_Dims_create(6, 2, full), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Dims_create(12, 2, full)), MPI_ERR_DIMS);
    EXPECT_EQ(class_of(MPI_Dims_create(0, 2, full)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Dims_create(6, -1, full)), MPI_ERR_DIMS);
    EXPECT_EQ(class_of(MPI_Dims_create(6, 2, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Dims_create(6, 0, nullptr), MPI_SUCCESS);
}
