// Calls on grids (8.5.1, 8.5.5 to 8.5.8), and queries on any topology.

#include "mpi/calls.hpp"
#include "mpi/communicator_making.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace towline::mpi {
namespace {

cartesian& grid_of(communicator& c)
{
    topology* const t = c.topology();
    if (t == nullptr || t->what() != topology::kind::cartesian)
        throw failure(MPI_ERR_TOPOLOGY, fmt::format("comm has no Cartesian topology ({})", t == nullptr ? "none at all" : "but a graph"));
    return static_cast<cartesian&>(*t);
}

void check_array(int n, void const* array, char const* name)
{
    if (n > 0 && array == nullptr)
        throw failure(MPI_ERR_ARG, fmt::format("{} is a null pointer, and there are {} dimensions", name, n));
}

/// The dimensions, and their number of processes; throws if the communicator has fewer.
std::vector<int> checked_dimensions(communicator const& c, int ndims, int const dims[], int& processes)
{
    if (ndims < 0)
        throw failure(MPI_ERR_DIMS, fmt::format("ndims is {}, and cannot be negative", ndims));
    check_array(ndims, dims, "dims");
    std::int64_t product = 1;
    for (int d = 0; d < ndims; ++d) {
        if (dims[d] <= 0)
            throw failure(MPI_ERR_DIMS, fmt::format("dims[{}] is {}, and a dimension has at least one process", d, dims[d]));
        product *= dims[d];
        if (product > c.size())
            throw failure(MPI_ERR_DIMS,
                          fmt::format("the first {} dimensions have {} processes, and the communicator has {}", d + 1, product, c.size()));
    }
    processes = static_cast<int>(product);
    return ndims == 0 ? std::vector<int>() : std::vector<int>(dims, dims + ndims);
}

void check_room(int maxdims, cartesian const& grid)
{
    if (maxdims < grid.dimensionality())
        throw failure(MPI_ERR_ARG, fmt::format("maxdims is {}, and the topology has {} dimensions", maxdims, grid.dimensionality()));
}

} // namespace

namespace calls {

void cart_create(MPI_Comm comm_old, int ndims, int const dims[], int const periods[], int, MPI_Comm* comm_cart)
{
    communicator& c = intra(comm_old, "comm_old");
    int processes = 0;
    std::vector<int> dimensions = checked_dimensions(c, ndims, dims, processes);
    check_array(ndims, periods, "periods");
    std::vector<int> ranks(static_cast<std::size_t>(processes));
    std::iota(ranks.begin(), ranks.end(), 0);
    ref<topology> grid;
    if (c.rank() < processes) {
        std::vector<bool> periodic;
        for (int d = 0; d < ndims; ++d)
            periodic.push_back(periods[d] != 0);
        grid = ref<topology>::adopt(new cartesian(std::move(dimensions), std::move(periodic), c.rank()));
    }
    *comm_cart = make_of_ranks(c, ranks, "MPI_Cart_create", std::move(grid));
}

/// No reordering: the machine has no grid that would be better.
void cart_map(MPI_Comm comm, int ndims, int const dims[], int const periods[], int* newrank)
{
    communicator& c = intra(comm, "comm");
    int processes = 0;
    (void)checked_dimensions(c, ndims, dims, processes);
    check_array(ndims, periods, "periods");
    *newrank = c.rank() < processes ? c.rank() : MPI_UNDEFINED;
}

void cart_sub(MPI_Comm comm, int const remain_dims[], MPI_Comm* newcomm)
{
    communicator& c = get(comm, "comm");
    cartesian const& grid = grid_of(c);
    check_array(grid.dimensionality(), remain_dims, "remain_dims");
    // Ranks with equal dropped coordinates form a grid, in rank order, which is the order of the coordinates that remain.
    std::vector<int> const mine = grid.coordinates(c.rank());
    std::vector<int> ranks;
    for (int r = 0; r < c.size(); ++r) {
        std::vector<int> const other = grid.coordinates(r);
        bool together = true;
        for (std::size_t d = 0; d < mine.size(); ++d)
            together = together && (remain_dims[d] != 0 || other[d] == mine[d]);
        if (together)
            ranks.push_back(r);
    }
    std::vector<int> dimensions;
    std::vector<bool> periodic;
    for (std::size_t d = 0; d < mine.size(); ++d)
        if (remain_dims[d] != 0) {
            dimensions.push_back(grid.dimensions()[d]);
            periodic.push_back(grid.periodic()[d]);
        }
    int const rank = static_cast<int>(std::ranges::find(ranks, c.rank()) - ranks.begin());
    *newcomm = make_of_ranks(c, ranks, "MPI_Cart_sub",
                             ref<topology>::adopt(new cartesian(std::move(dimensions), std::move(periodic), rank)));
}

void cartdim_get(MPI_Comm comm, int* ndims)
{
    *ndims = grid_of(get(comm, "comm")).dimensionality();
}

void cart_get(MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[])
{
    communicator& c = get(comm, "comm");
    cartesian const& grid = grid_of(c);
    check_room(maxdims, grid);
    check_array(grid.dimensionality(), dims, "dims");
    check_array(grid.dimensionality(), periods, "periods");
    check_array(grid.dimensionality(), coords, "coords");
    std::ranges::copy(grid.dimensions(), dims);
    std::ranges::copy(grid.periodic(), periods);
    std::ranges::copy(grid.coordinates(c.rank()), coords);
}

void cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[])
{
    communicator& c = get(comm, "comm");
    cartesian const& grid = grid_of(c);
    if (rank < 0 || rank >= c.size())
        throw failure(MPI_ERR_RANK, fmt::format("rank is {}, and comm has {} ranks", rank, c.size()));
    check_room(maxdims, grid);
    check_array(grid.dimensionality(), coords, "coords");
    std::ranges::copy(grid.coordinates(rank), coords);
}

void cart_rank(MPI_Comm comm, int const coords[], int* rank)
{
    cartesian const& grid = grid_of(get(comm, "comm"));
    check_array(grid.dimensionality(), coords, "coords");
    std::vector<int> at;
    for (std::size_t d = 0; d < grid.dimensions().size(); ++d) {
        if (!grid.periodic()[d] && (coords[d] < 0 || coords[d] >= grid.dimensions()[d]))
            throw failure(MPI_ERR_ARG, fmt::format("coords[{}] is {}, and this dimension has {} processes and is not periodic", d,
                                                   coords[d], grid.dimensions()[d]));
        at.push_back(coords[d]);
    }
    *rank = grid.rank_at(at);
}

void cart_shift(MPI_Comm comm, int direction, int disp, int* rank_source, int* rank_dest)
{
    communicator& c = get(comm, "comm");
    cartesian const& grid = grid_of(c);
    if (direction < 0 || direction >= grid.dimensionality())
        throw failure(MPI_ERR_ARG, fmt::format("direction is {}, and the topology has {} dimensions", direction, grid.dimensionality()));
    *rank_source = grid.shifted(c.rank(), direction, -std::int64_t{disp});
    *rank_dest = grid.shifted(c.rank(), direction, disp);
}

void topo_test(MPI_Comm comm, int* status)
{
    topology const* const t = get(comm, "comm").topology();
    if (t == nullptr)
        *status = MPI_UNDEFINED;
    else
        *status = t->what() == topology::kind::cartesian ? MPI_CART : t->what() == topology::kind::graph ? MPI_GRAPH : MPI_DIST_GRAPH;
}

} // namespace calls
} // namespace towline::mpi
