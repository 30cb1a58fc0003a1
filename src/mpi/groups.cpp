// Calls on groups (7.3.1, 7.3.2).

#include "mpi/calls.hpp"
#include "mpi/group.hpp"
#include "mpi/handles.hpp"

#include <fmt/format.h>

namespace towline::mpi {
namespace {

MPI_Group handle_of(ref<group> g)
{
    return g.get() == &group::empty() ? MPI_GROUP_EMPTY : give<MPI_Group>(std::move(g));
}

std::size_t checked_length(int n, void const* array, char const* name)
{
    if (n < 0)
        throw failure(MPI_ERR_ARG, fmt::format("n is {}, and a length cannot be negative", n));
    if (n > 0 && array == nullptr)
        throw failure(MPI_ERR_ARG, fmt::format("{} is a null pointer, and n is {}", name, n));
    return static_cast<std::size_t>(n);
}

std::vector<int> ranks_of(group const& g, int n, int ranges[][3])
{
    std::size_t const length = checked_length(n, ranges, "ranges");
    std::vector<rank_range> copy(length);
    for (std::size_t i = 0; i < length; ++i)
        copy[i] = {ranges[i][0], ranges[i][1], ranges[i][2]};
    return expand(g, copy);
}

} // namespace

namespace calls {

void group_size(MPI_Group group, int* size)
{
    *size = get(group, "group").size();
}

void group_rank(MPI_Group group, int* rank)
{
    *rank = get(group, "group").rank();
}

void group_compare(MPI_Group group1, MPI_Group group2, int* result)
{
    mpi::group const& a = get(group1, "group1");
    mpi::group const& b = get(group2, "group2");
    *result = compare(a, b);
}

void group_translate_ranks(MPI_Group group1, int n, int const ranks1[], MPI_Group group2, int ranks2[])
{
    mpi::group const& from = get(group1, "group1");
    mpi::group const& to = get(group2, "group2");
    std::size_t const length = checked_length(n, ranks1, "ranks1");
    (void)checked_length(n, ranks2, "ranks2");
    positions const in_to(to);
    for (std::size_t i = 0; i < length; ++i) {
        int const rank = ranks1[i];
        if (rank != MPI_PROC_NULL && (rank < 0 || rank >= from.size()))
            throw failure(MPI_ERR_RANK, fmt::format("ranks1[{}] is {}, which is not in a group of {}", i, rank, from.size()));
        ranks2[i] = rank == MPI_PROC_NULL ? MPI_PROC_NULL : in_to.of(from.member(rank));
    }
}

void group_union(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup)
{
    mpi::group const& a = get(group1, "group1");
    *newgroup = handle_of(set_union(a, get(group2, "group2")));
}

void group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup)
{
    mpi::group const& a = get(group1, "group1");
    *newgroup = handle_of(set_intersection(a, get(group2, "group2")));
}

void group_difference(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup)
{
    mpi::group const& a = get(group1, "group1");
    *newgroup = handle_of(set_difference(a, get(group2, "group2")));
}

void group_incl(MPI_Group group, int n, int const ranks[], MPI_Group* newgroup)
{
    mpi::group const& g = get(group, "group");
    *newgroup = handle_of(including(g, {ranks, checked_length(n, ranks, "ranks")}));
}

void group_excl(MPI_Group group, int n, int const ranks[], MPI_Group* newgroup)
{
    mpi::group const& g = get(group, "group");
    *newgroup = handle_of(excluding(g, {ranks, checked_length(n, ranks, "ranks")}));
}

void group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup)
{
    mpi::group const& g = get(group, "group");
    *newgroup = handle_of(including(g, ranks_of(g, n, ranges)));
}

void group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup)
{
    mpi::group const& g = get(group, "group");
    *newgroup = handle_of(excluding(g, ranks_of(g, n, ranges)));
}

void group_free(MPI_Group* group)
{
    // Programs that free every returned group free MPI_GROUP_EMPTY, too.
    if (*group != MPI_GROUP_EMPTY)
        (void)take(*group, "group");
    *group = MPI_GROUP_NULL;
}

} // namespace calls
} // namespace towline::mpi
