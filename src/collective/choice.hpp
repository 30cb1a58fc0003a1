#pragma once
// Which algorithm is used for what: a table. All ranks must choose the same, so it looks only at what all of them know.

#include <cstdint>
#include <limits>
#include <span>

namespace towline::collective {

enum class routine : std::uint8_t {
    barrier,
    bcast,
    gather,
    scatter,
    allgather,
    allgatherv,
    alltoall,
    alltoallv,
    reduce,
    allreduce,
    reduce_scatter,
    scan,
};

enum class algorithm : std::uint8_t {
    dissemination,
    tree,
    binomial,
    scatter_ring,
    linear,
    doubling,
    bruck,
    ring,
    pairwise,          ///< one message each way at a time
    pairwise_windows,  ///< several
    scatter_gather,
    rabenseifner,
    halving,
    direct,
};

/// Of the rules of an operation the first that fits counts; the last of each fits everything.
struct rule {
    routine what;
    algorithm use;
    /// The operation's size, below this. What is counted: bcast, reduce, allreduce: the whole vector; gather, scatter, allgather, alltoall:
    /// one rank's block; allgatherv, reduce_scatter: all blocks together; else 0.
    std::uint64_t below_bytes = std::numeric_limits<std::uint64_t>::max();
    int from_ranks = 1;
    int below_ranks = std::numeric_limits<int>::max();
    bool only_commutative = false;
    bool only_power_of_two = false;
    std::uint64_t from_elements_per_rank = 0;
    bool only_crowded = false;
    bool only_in_order = false;
};

struct case_of_use {
    routine what;
    std::uint64_t bytes = 0;
    int ranks = 1;
    bool commutative = true;
    std::uint64_t elements = std::numeric_limits<std::uint64_t>::max();
    bool crowded = false;   ///< team::is_crowded
    bool in_order = false;  ///< team::combines_in_order
};

[[nodiscard]] std::span<rule const> rules() noexcept;
[[nodiscard]] algorithm choose(case_of_use const&) noexcept;

} // namespace towline::collective
