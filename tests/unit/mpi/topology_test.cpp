#include "mpi/topology.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <vector>

using towline::mpi::cartesian;
using towline::mpi::distributed_graph;
using towline::mpi::graph;
using towline::mpi::ref;

namespace {

template <class T, class... Args>
ref<T> made(Args... args)
{
    return ref<T>::adopt(new T(args...));
}

using list = std::vector<int>;

list copy(std::span<int const> s)
{
    return {s.begin(), s.end()};
}

} // namespace

TEST(topology, a_grid_has_two_neighbours_a_dimension_and_receives_them_crosswise)
{
    auto const g = made<cartesian>(list{2, 3}, std::vector<bool>{false, true}, 4);  // at 1, 1
    EXPECT_EQ(g->coordinates(4), (list{1, 1}));
    auto const n = g->neighbours();
    EXPECT_EQ(copy(n.sources), (list{1, MPI_PROC_NULL, 3, 5}));
    EXPECT_EQ(copy(n.destinations), copy(n.sources));
    EXPECT_EQ(copy(n.receive_order), (list{1, 0, 3, 2}));
}

TEST(topology, a_periodic_dimension_of_one_has_itself_as_neighbour)
{
    auto const g = made<cartesian>(list{1}, std::vector<bool>{true}, 0);
    EXPECT_EQ(copy(g->neighbours().sources), (list{0, 0}));
}

TEST(topology, a_grid_without_dimensions_has_no_neighbours)
{
    auto const g = made<cartesian>(list{}, std::vector<bool>{}, 0);
    EXPECT_TRUE(g->neighbours().sources.empty());
    EXPECT_EQ(g->rank_at({}), 0);
}

TEST(topology, shifts_reach_far)
{
    auto const g = made<cartesian>(list{3}, std::vector<bool>{true}, 0);
    EXPECT_EQ(g->shifted(1, 0, 2147483647), (1 + 2147483647LL % 3) % 3);
    EXPECT_EQ(g->shifted(1, 0, -2147483648LL), 2);  // 1 - 2147483648 = -715827883 * 3 + 2
    auto const ends = made<cartesian>(list{3}, std::vector<bool>{false}, 0);
    EXPECT_EQ(ends->shifted(2, 0, 2147483647), MPI_PROC_NULL);
}

TEST(topology, graphs_know_the_neighbours_of_all_or_of_one)
{
    auto const g = made<graph>(list{2, 2, 3}, list{1, 2, 0}, 0);
    EXPECT_EQ(copy(g->neighbours().sources), (list{1, 2}));
    EXPECT_EQ(copy(g->neighbours().destinations), (list{1, 2}));
    EXPECT_TRUE(g->neighbours().receive_order.empty());
    EXPECT_EQ(g->neighbours_of(1).size, 0);
    EXPECT_EQ(*g->neighbours_of(2).first, 0);
    auto const d = made<distributed_graph>(list{3}, list{}, list{1, 2}, list{}, false);
    EXPECT_EQ(copy(d->neighbours().sources), (list{3}));
    EXPECT_EQ(copy(d->neighbours().destinations), (list{1, 2}));
}
