#pragma once
// Process topologies (8): the neighbours of a communicator's ranks.

#include "collective/call.hpp"
#include "mpi/object.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace towline::mpi {

/// Immutable; a communicator and its duplicates share one.
class topology : public object {
public:
    enum class kind : std::uint8_t { cartesian, graph, distributed_graph };

    [[nodiscard]] kind what() const noexcept { return what_; }
    /// The ranks that this rank receives from and sends to in neighbourhood collectives (8.6); MPI_PROC_NULL stands for none. The lists
    /// live as long as the topology.
    [[nodiscard]] collective::neighbourhood neighbours() const noexcept { return {sources_, destinations_, receive_order_}; }

protected:
    explicit topology(kind what) noexcept : what_(what) {}

    std::vector<int> sources_;
    std::vector<int> destinations_;
    std::vector<int> receive_order_;

private:
    kind const what_;
};

/// A grid in row-major order: the last coordinate changes fastest (8.5.1).
class cartesian final : public topology {
public:
    /// `rank` is this process's. Dimensions are positive; no dimension at all means one process.
    cartesian(std::vector<int> dimensions, std::vector<bool> periodic, int rank);

    [[nodiscard]] std::vector<int> const& dimensions() const noexcept { return dimensions_; }
    [[nodiscard]] std::vector<bool> const& periodic() const noexcept { return periodic_; }
    [[nodiscard]] int dimensionality() const noexcept { return static_cast<int>(dimensions_.size()); }
    [[nodiscard]] std::vector<int> coordinates(int rank) const;
    /// The coordinates are in range, or their dimension is periodic.
    [[nodiscard]] int rank_at(std::vector<int> const& coordinates) const noexcept;
    /// The rank at `distance` from `rank` in a dimension; MPI_PROC_NULL beyond an end.
    [[nodiscard]] int shifted(int rank, int dimension, std::int64_t distance) const;

private:
    std::vector<int> const dimensions_;
    std::vector<bool> const periodic_;
};

/// A graph of which every rank knows all edges (8.5.3).
class graph final : public topology {
public:
    /// `index` and `edges` as of MPI_Graph_create.
    graph(std::vector<int> index, std::vector<int> edges, int rank);

    [[nodiscard]] std::vector<int> const& index() const noexcept { return index_; }
    [[nodiscard]] std::vector<int> const& edges() const noexcept { return edges_; }
    struct range {
        int const* first;
        int size;
    };
    [[nodiscard]] range neighbours_of(int rank) const noexcept;

private:
    std::vector<int> const index_;
    std::vector<int> const edges_;
};

/// A graph of which every rank knows only its own edges (8.5.4).
class distributed_graph final : public topology {
public:
    /// There is one weight for each neighbour, or none if the graph is not weighted.
    distributed_graph(std::vector<int> sources, std::vector<int> source_weights, std::vector<int> destinations,
                      std::vector<int> destination_weights, bool weighted);

    [[nodiscard]] bool weighted() const noexcept { return weighted_; }
    [[nodiscard]] std::vector<int> const& source_weights() const noexcept { return source_weights_; }
    [[nodiscard]] std::vector<int> const& destination_weights() const noexcept { return destination_weights_; }

private:
    std::vector<int> const source_weights_;
    std::vector<int> const destination_weights_;
    bool const weighted_;
};

/// Divides processes into balanced dimensions (8.5.2). Replaces the zeros of `dims` so that the product of all is `nodes`, in
/// non-increasing order: first minimizes the distance of the largest and the smallest, then maximizes the smallest ones. Throws a failure
/// if there is no division.
void divide(int nodes, std::span<int> dims);

} // namespace towline::mpi
