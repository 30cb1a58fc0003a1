// Neighbours of a rank in grids and graphs.

#include "mpi/topology.hpp"

#include "mpi/abi.hpp"

#include <utility>

namespace towline::mpi {

cartesian::cartesian(std::vector<int> dimensions, std::vector<bool> periodic, int rank)
    : topology(kind::cartesian), dimensions_(std::move(dimensions)), periodic_(std::move(periodic))
{
    for (int d = 0; d < dimensionality(); ++d)
        for (int const step : {-1, 1}) {
            // A block sent in one direction arrives from the opposite one. If both neighbours are the same process, only the order
            // distinguishes them.
            receive_order_.push_back(static_cast<int>(sources_.size()) - step);
            sources_.push_back(shifted(rank, d, step));
        }
    destinations_ = sources_;
}

std::vector<int> cartesian::coordinates(int rank) const
{
    std::vector<int> c(dimensions_.size());
    for (std::size_t d = dimensions_.size(); d-- > 0; rank /= dimensions_[d])
        c[d] = rank % dimensions_[d];
    return c;
}

int cartesian::rank_at(std::vector<int> const& coordinates) const noexcept
{
    int rank = 0;
    for (std::size_t d = 0; d < dimensions_.size(); ++d) {
        int const within = coordinates[d] % dimensions_[d];
        rank = rank * dimensions_[d] + (within < 0 ? within + dimensions_[d] : within);
    }
    return rank;
}

int cartesian::shifted(int rank, int dimension, std::int64_t distance) const
{
    auto const d = static_cast<std::size_t>(dimension);
    std::vector<int> c = coordinates(rank);
    std::int64_t const at = c[d] + distance;
    if (!periodic_[d] && (at < 0 || at >= dimensions_[d]))
        return MPI_PROC_NULL;
    c[d] = static_cast<int>(at % dimensions_[d]);
    return rank_at(c);
}

graph::graph(std::vector<int> index, std::vector<int> edges, int rank)
    : topology(kind::graph), index_(std::move(index)), edges_(std::move(edges))
{
    range const mine = neighbours_of(rank);
    sources_.assign(mine.first, mine.first + mine.size);
    destinations_ = sources_;
}

graph::range graph::neighbours_of(int rank) const noexcept
{
    auto const r = static_cast<std::size_t>(rank);
    int const first = rank == 0 ? 0 : index_[r - 1];
    return {edges_.data() + first, index_[r] - first};
}

distributed_graph::distributed_graph(std::vector<int> sources, std::vector<int> source_weights, std::vector<int> destinations,
                                     std::vector<int> destination_weights, bool weighted)
    : topology(kind::distributed_graph), source_weights_(std::move(source_weights)), destination_weights_(std::move(destination_weights)),
      weighted_(weighted)
{
    sources_ = std::move(sources);
    destinations_ = std::move(destinations);
}

} // namespace towline::mpi
