// The table of rules by which an operation gets its algorithm.

#include "collective/choice.hpp"
#include "collective/thresholds.hpp"

#include <array>

namespace towline::collective {
namespace {

constexpr std::uint64_t any = std::numeric_limits<std::uint64_t>::max();
constexpr int many = std::numeric_limits<int>::max();
constexpr std::uint64_t KiB = 1024;

using enum where;
using thresholds::leader_block;
using thresholds::leader_bytes;
using thresholds::leader_row;
using r = routine;
using a = algorithm;

// Ranks of one node use lanes, those of several nodes the lanes of each, and messages between them: of one rank of each node, or of all
// where a share of the data is worth a message. Over a network several exchanges of an alltoall at a time hide each other's round trips
// (64 KiB on 4 x 2: 2.2 ms instead of 2.7; of 4 MiB, which fill the receive buffers, one by one is faster). In a scan of lent bytes only up
// to 8 ranks use lanes, because each combines all that is before it. The thresholds between algorithms of messages are those of [T]
// (algorithms.hpp).
constexpr std::array table{
    //   routine            algorithm            below bytes  ranks from, below  only
    rule{r::barrier,        a::over_lanes,       any,         1, many,           one_node},
    rule{r::barrier,        a::node_leaders,     any,         1, many,           several_nodes},
    rule{r::barrier,        a::linear,           any,         1, many,           crowded},
    rule{r::barrier,        a::dissemination},

    rule{r::bcast,          a::over_lanes,       any,         1, many,           one_node},
    rule{r::bcast,          a::node_leaders,     leader_bytes, 1, many,          several_nodes},
    rule{r::bcast,          a::node_shares,      any,         1, many,           several_nodes, 2},
    rule{r::bcast,          a::node_leaders,     any,         1, many,           several_nodes},
    rule{r::bcast,          a::binomial,         64 * KiB},
    rule{r::bcast,          a::binomial,         any,         1, 4},
    rule{r::bcast,          a::scatter_ring},

    rule{r::gather,         a::over_lanes,       any,         1, many,           one_node},
    rule{r::gather,         a::node_leaders,     leader_block, 1, many,          several_nodes},
    rule{r::gather,         a::node_shares,      any,         1, many,           several_nodes | even_nodes, 2},
    rule{r::gather,         a::node_leaders,     any,         1, many,           several_nodes},
    rule{r::gather,         a::binomial,         8 * KiB,     4},
    rule{r::gather,         a::linear},
    rule{r::gatherv,        a::over_lanes,       any,         1, many,           one_node},
    rule{r::gatherv,        a::linear},

    rule{r::scatter,        a::over_lanes,       any,         1, many,           one_node},
    rule{r::scatter,        a::node_leaders,     leader_block, 1, many,          several_nodes},
    rule{r::scatter,        a::node_shares,      any,         1, many,           several_nodes | even_nodes, 2},
    rule{r::scatter,        a::node_leaders,     any,         1, many,           several_nodes},
    rule{r::scatter,        a::binomial,         8 * KiB,     4},
    rule{r::scatter,        a::linear},
    rule{r::scatterv,       a::over_lanes,       any,         1, many,           one_node},
    rule{r::scatterv,       a::linear},

    rule{r::allgather,      a::over_lanes,       any,         1, many,           one_node},
    rule{r::allgather,      a::node_leaders,     leader_block, 1, many,          several_nodes},
    rule{r::allgather,      a::node_shares,      any,         1, many,           several_nodes, 2},
    rule{r::allgather,      a::node_leaders,     any,         1, many,           several_nodes},
    rule{r::allgather,      a::doubling,         32 * KiB,    1, many,           power_of_two},
    rule{r::allgather,      a::bruck,            8 * KiB},
    rule{r::allgather,      a::ring},
    rule{r::allgatherv,     a::over_lanes,       any,         1, many,           one_node},
    rule{r::allgatherv,     a::node_leaders,     leader_row,  1, many,           several_nodes},
    rule{r::allgatherv,     a::node_shares,      any,         1, many,           several_nodes, 2},
    rule{r::allgatherv,     a::node_leaders,     any,         1, many,           several_nodes},
    rule{r::allgatherv,     a::bruck,            32 * KiB},
    rule{r::allgatherv,     a::ring},

    rule{r::alltoall,       a::over_lanes,       any,         1, many,           one_node},
    rule{r::alltoall,       a::node_shares,      leader_block, 1, many,          several_nodes | even_nodes, 2},
    rule{r::alltoall,       a::bruck,            256,         8},
    rule{r::alltoall,       a::pairwise_windows, 32 * KiB},
    rule{r::alltoall,       a::pairwise_windows, 1024 * KiB,  1, many,           several_nodes},
    rule{r::alltoall,       a::pairwise},
    rule{r::alltoallv,      a::over_lanes,       any,         1, many,           one_node},
    rule{r::alltoallv,      a::pairwise_windows},

    rule{r::reduce,         a::over_lanes,       any,         1, many,           one_node},
    rule{r::reduce,         a::direct,           any,         1, many,           in_order},
    rule{r::reduce,         a::node_leaders,     leader_bytes, 1, many,          several_nodes},
    rule{r::reduce,         a::node_shares,      any,         1, many,           several_nodes, 2},
    rule{r::reduce,         a::node_leaders,     any,         1, many,           several_nodes},
    rule{r::reduce,         a::binomial,         64 * KiB},
    rule{r::reduce,         a::scatter_gather,   any,         3, many,           commutative | element_for_all},
    rule{r::reduce,         a::binomial},

    rule{r::allreduce,      a::over_lanes,       any,         1, many,           one_node},
    rule{r::allreduce,      a::direct,           any,         1, many,           in_order},
    rule{r::allreduce,      a::node_leaders,     leader_bytes, 1, many,          several_nodes},
    rule{r::allreduce,      a::node_shares,      any,         1, many,           several_nodes, 2},
    rule{r::allreduce,      a::node_leaders,     any,         1, many,           several_nodes},
    rule{r::allreduce,      a::binomial,         8 * KiB,     1, many,           crowded},
    rule{r::allreduce,      a::doubling,         8 * KiB},
    rule{r::allreduce,      a::rabenseifner,     any,         3, many,           commutative | element_for_all},
    rule{r::allreduce,      a::doubling},

    rule{r::reduce_scatter, a::over_lanes,       any,         1, many,           one_node},
    rule{r::reduce_scatter, a::direct,           any,         1, many,           in_order},
    rule{r::reduce_scatter, a::node_leaders,     leader_bytes, 1, many,          several_nodes},
    rule{r::reduce_scatter, a::node_shares,      any,         1, many,           several_nodes | even_nodes, 2},
    rule{r::reduce_scatter, a::node_leaders,     any,         1, many,           several_nodes},
    rule{r::reduce_scatter, a::halving,          64 * KiB,    3, many,           commutative},
    rule{r::reduce_scatter, a::pairwise,         any,         1, many,           commutative},
    rule{r::reduce_scatter, a::direct},

    rule{r::scan,           a::over_lanes,       any,         1, many,           one_node | shown},
    rule{r::scan,           a::over_lanes,       any,         1, 9,              one_node},
    rule{r::scan,           a::direct,           any,         1, many,           in_order},
    rule{r::scan,           a::node_leaders,     any,         1, many,           several_nodes},
    rule{r::scan,           a::doubling},
    rule{r::exscan,         a::over_lanes,       any,         1, many,           one_node | shown},
    rule{r::exscan,         a::over_lanes,       any,         1, 9,              one_node},
    rule{r::exscan,         a::direct,           any,         1, many,           in_order},
    rule{r::exscan,         a::node_leaders,     any,         1, many,           several_nodes},
    rule{r::exscan,         a::doubling},

    rule{r::exchange,       a::over_lanes,       any,         1, many,           one_node},
    rule{r::exchange,       a::linear},
};

/// Where the rules of each routine begin.
constexpr auto begins = [] {
    std::array<std::size_t, static_cast<std::size_t>(routine::exchange) + 1> at{};
    for (std::size_t i = table.size(); i-- > 0;)
        at[static_cast<std::size_t>(table[i].what)] = i;
    return at;
}();

constexpr auto over_lanes_on_a_node = [] {
    std::array<bool, begins.size()> is{};
    for (std::size_t i = 0; i < is.size(); ++i) {
        rule const& first = table[begins[i]];
        is[i] = first.what == static_cast<routine>(i) && first.use == a::over_lanes && first.below_bytes == any && first.from_ranks == 1 &&
                first.below_ranks == many && first.only == one_node && first.from_node_ranks == 1;
    }
    return is;
}();

bool fits(rule const& one, case_of_use const& c) noexcept
{
    return c.bytes < one.below_bytes && c.ranks >= one.from_ranks && c.ranks < one.below_ranks && has_all(c.at, one.only) &&
           c.node_ranks >= one.from_node_ranks;
}

} // namespace

char const* name_of(routine what) noexcept
{
    static constexpr std::array names{"nothing",   "barrier",        "bcast",      "gather",   "gatherv",   "scatter",
                                      "scatterv",  "allgather",      "allgatherv", "alltoall", "alltoallv", "reduce",
                                      "allreduce", "reduce_scatter", "scan",       "exscan",   "exchange"};
    static_assert(names.size() == static_cast<std::size_t>(routine::exchange) + 1);
    return names[static_cast<std::size_t>(what)];
}

std::span<rule const> rules() noexcept
{
    return table;
}

algorithm choose(case_of_use c) noexcept
{
    if ((c.ranks & (c.ranks - 1)) == 0)  // has_single_bit calls a function where the processor may lack POPCNT
        c.at = c.at | where::power_of_two;
    std::size_t at = begins[static_cast<std::size_t>(c.what)];
    while (!fits(table[at], c) && at + 1 != table.size() && table[at + 1].what == c.what)
        ++at;
    return table[at].use;  // every routine ends with a rule for all that is below 2^64 - 1 bytes
}

bool is_over_lanes_on_a_node(routine what) noexcept
{
    return over_lanes_on_a_node[static_cast<std::size_t>(what)];
}

} // namespace towline::collective
