#pragma once
// Which algorithm is used for what: a table. All ranks must choose the same, so it looks only at what all of them know.

#include <cstdint>
#include <limits>
#include <span>

namespace towline::collective {

enum class routine : std::uint8_t {
    nothing,  ///< this rank has no part in it
    barrier,
    bcast,
    gather,
    gatherv,
    scatter,
    scatterv,
    allgather,
    allgatherv,
    alltoall,
    alltoallv,
    reduce,
    allreduce,
    reduce_scatter,
    scan,
    exscan,
    exchange,  ///< among neighbours
};
[[nodiscard]] char const* name_of(routine) noexcept;

enum class algorithm : std::uint8_t {
    over_lanes,        ///< by load and store (lanes/)
    node_leaders,      ///< in two levels (levels/): over the lanes of each node, and messages between one rank of each
    node_shares,       ///< the same, where every rank of a node leads for its share of the data; those below are messages
    dissemination,
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

/// What a rule asks for, besides sizes: bits.
enum class where : std::uint16_t {
    anywhere = 0,
    one_node = 1,         ///< the ranks share memory, and the operation may go over their lanes
    shown = 2,            ///< no rank offers more than lanes show
    crowded = 4,          ///< team::is_crowded
    in_order = 8,         ///< team::combines_in_order
    commutative = 16,
    power_of_two = 32,    ///< so many ranks
    element_for_all = 64, ///< at least one element for each rank
    several_nodes = 128,  ///< some of which have lanes, and the operation may go node by node
    even_nodes = 256,     ///< with as many ranks on each
};
[[nodiscard]] constexpr where operator|(where a, where b) noexcept
{
    return static_cast<where>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
[[nodiscard]] constexpr bool has_all(where present, where wanted) noexcept
{
    return (static_cast<unsigned>(wanted) & ~static_cast<unsigned>(present)) == 0;
}

/// Of the rules of a routine the first that fits counts; the last of each fits everything. What bytes are counted: of bcast and reductions
/// the whole vector; of gather, scatter, allgather, alltoall one rank's block; of allgatherv, reduce_scatter all blocks together; else
/// none.
struct rule {
    routine what;
    algorithm use;
    std::uint64_t below_bytes = std::numeric_limits<std::uint64_t>::max();
    int from_ranks = 1;
    int below_ranks = std::numeric_limits<int>::max();
    where only = where::anywhere;
    int from_node_ranks = 1;  ///< on the node that has the fewest
};

struct case_of_use {
    routine what;
    std::uint64_t bytes = 0;
    int ranks = 1;
    where at = where::commutative | where::element_for_all;  ///< `power_of_two` is found from the ranks
    int node_ranks = 1;  ///< as of rule::from_node_ranks
};

[[nodiscard]] std::span<rule const> rules() noexcept;
[[nodiscard]] algorithm choose(case_of_use) noexcept;
/// The ranks of one node use lanes for it, whatever its size and their number: what choose() would find, without a search.
[[nodiscard]] bool is_over_lanes_on_a_node(routine) noexcept;

} // namespace towline::collective
