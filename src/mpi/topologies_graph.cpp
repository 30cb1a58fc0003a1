// Calls on graphs that every rank knows completely (8.5.3, 8.5.5, 8.5.8).

#include "mpi/calls.hpp"
#include "mpi/communicator_making.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace towline::mpi {
namespace {

graph& graph_of(communicator& c)
{
    topology* const t = c.topology();
    if (t == nullptr || t->what() != topology::kind::graph)
        throw failure(MPI_ERR_TOPOLOGY,
                      fmt::format("comm has no graph topology of MPI_Graph_create ({})", t == nullptr ? "none at all" : "but another"));
    return static_cast<graph&>(*t);
}

void check_array(int n, void const* array, char const* name)
{
    if (n > 0 && array == nullptr)
        throw failure(MPI_ERR_ARG, fmt::format("{} is a null pointer, and has {} elements", name, n));
}

/// Checks a graph of `nnodes` nodes; returns the number of its edges.
int checked_edges(communicator const& c, int nnodes, int const index[], int const edges[])
{
    if (nnodes < 0)
        throw failure(MPI_ERR_ARG, fmt::format("nnodes is {}, and cannot be negative", nnodes));
    if (nnodes > c.size())
        throw failure(MPI_ERR_ARG, fmt::format("nnodes is {}, and the communicator has {} ranks", nnodes, c.size()));
    check_array(nnodes, index, "indx");
    for (int i = 0; i < nnodes; ++i)
        if (index[i] < (i == 0 ? 0 : index[i - 1]))
            throw failure(MPI_ERR_ARG, fmt::format("indx[{}] is {}, and indexes cannot be negative or go down", i, index[i]));
    int const n = nnodes == 0 ? 0 : index[nnodes - 1];
    check_array(n, edges, "edges");
    for (int i = 0; i < n; ++i)
        if (edges[i] < 0 || edges[i] >= nnodes)
            throw failure(MPI_ERR_ARG, fmt::format("edges[{}] is {}, and there are {} nodes", i, edges[i], nnodes));
    return n;
}

graph::range neighbours_of(communicator& c, int rank)
{
    graph const& g = graph_of(c);
    if (rank < 0 || rank >= c.size())
        throw failure(MPI_ERR_RANK, fmt::format("rank is {}, and comm has {} ranks", rank, c.size()));
    return g.neighbours_of(rank);
}

} // namespace

namespace calls {

void graph_create(MPI_Comm comm_old, int nnodes, int const indx[], int const edges[], int, MPI_Comm* comm_graph)
{
    communicator& c = intra(comm_old, "comm_old");
    int const n = checked_edges(c, nnodes, indx, edges);
    std::vector<int> ranks(static_cast<std::size_t>(nnodes));
    std::iota(ranks.begin(), ranks.end(), 0);
    ref<topology> g;
    if (c.rank() < nnodes)
        g = ref<topology>::adopt(new graph(std::vector<int>(indx, indx + nnodes), std::vector<int>(edges, edges + n), c.rank()));
    *comm_graph = make_of_ranks(c, ranks, "MPI_Graph_create", std::move(g));
}

void graph_map(MPI_Comm comm, int nnodes, int const indx[], int const edges[], int* newrank)
{
    communicator& c = intra(comm, "comm");
    (void)checked_edges(c, nnodes, indx, edges);
    *newrank = c.rank() < nnodes ? c.rank() : MPI_UNDEFINED;
}

void graphdims_get(MPI_Comm comm, int* nnodes, int* nedges)
{
    graph const& g = graph_of(get(comm, "comm"));
    *nnodes = static_cast<int>(g.index().size());
    *nedges = static_cast<int>(g.edges().size());
}

void graph_get(MPI_Comm comm, int maxindex, int maxedges, int indx[], int edges[])
{
    graph const& g = graph_of(get(comm, "comm"));
    auto const nodes = static_cast<int>(g.index().size());
    auto const all = static_cast<int>(g.edges().size());
    if (maxindex < nodes)
        throw failure(MPI_ERR_ARG, fmt::format("maxindex is {}, and the graph has {} nodes", maxindex, nodes));
    if (maxedges < all)
        throw failure(MPI_ERR_ARG, fmt::format("maxedges is {}, and the graph has {} edges", maxedges, all));
    check_array(nodes, indx, "indx");
    check_array(all, edges, "edges");
    std::ranges::copy(g.index(), indx);
    std::ranges::copy(g.edges(), edges);
}

void graph_neighbors_count(MPI_Comm comm, int rank, int* nneighbors)
{
    *nneighbors = neighbours_of(get(comm, "comm"), rank).size;
}

void graph_neighbors(MPI_Comm comm, int rank, int maxneighbors, int neighbors[])
{
    graph::range const all = neighbours_of(get(comm, "comm"), rank);
    if (maxneighbors < all.size)
        throw failure(MPI_ERR_ARG, fmt::format("maxneighbors is {}, and rank {} has {} neighbours", maxneighbors, rank, all.size));
    check_array(all.size, neighbors, "neighbors");
    std::copy_n(all.first, all.size, neighbors);
}

} // namespace calls
} // namespace towline::mpi
