#include "collective/choice.hpp"

#include <array>
#include <bit>

namespace towline::collective {
namespace {

constexpr std::uint64_t any = std::numeric_limits<std::uint64_t>::max();
constexpr int many = std::numeric_limits<int>::max();
constexpr std::uint64_t KiB = 1024;

// Thresholds as in [T] (algorithms.hpp), until they are measured here.
constexpr std::array table{
    rule{operation::barrier, algorithm::dissemination},

    rule{operation::bcast, algorithm::binomial, 64 * KiB},
    rule{operation::bcast, algorithm::binomial, any, 1, 4},
    rule{operation::bcast, algorithm::scatter_ring},

    rule{operation::gather, algorithm::binomial, 8 * KiB, 4},
    rule{operation::gather, algorithm::linear},
    rule{operation::scatter, algorithm::binomial, 8 * KiB, 4},
    rule{operation::scatter, algorithm::linear},

    rule{operation::allgather, algorithm::doubling, 32 * KiB, 1, many, false, true},
    rule{operation::allgather, algorithm::bruck, 8 * KiB},
    rule{operation::allgather, algorithm::ring},
    rule{operation::allgatherv, algorithm::bruck, 32 * KiB},
    rule{operation::allgatherv, algorithm::ring},

    rule{operation::alltoall, algorithm::bruck, 256, 8},
    rule{operation::alltoall, algorithm::pairwise_windows, 32 * KiB},
    rule{operation::alltoall, algorithm::pairwise},
    rule{operation::alltoallv, algorithm::pairwise_windows},

    rule{operation::reduce, algorithm::binomial, 64 * KiB},
    rule{operation::reduce, algorithm::scatter_gather, any, 3, many, true, false, 1},
    rule{operation::reduce, algorithm::binomial},

    rule{operation::allreduce, algorithm::doubling, 8 * KiB},
    rule{operation::allreduce, algorithm::rabenseifner, any, 3, many, true, false, 1},
    rule{operation::allreduce, algorithm::doubling},

    rule{operation::reduce_scatter, algorithm::halving, 64 * KiB, 3, many, true},
    rule{operation::reduce_scatter, algorithm::pairwise, any, 1, many, true},
    rule{operation::reduce_scatter, algorithm::direct},
};

bool fits(rule const& r, case_of_use const& c) noexcept
{
    return r.what == c.what && c.bytes < r.below_bytes && c.ranks >= r.from_ranks && c.ranks < r.below_ranks &&
           (c.commutative || !r.only_commutative) && (!r.only_power_of_two || std::has_single_bit(static_cast<unsigned>(c.ranks))) &&
           c.elements / static_cast<std::uint64_t>(c.ranks) >= r.from_elements_per_rank;
}

} // namespace

std::span<rule const> rules() noexcept
{
    return table;
}

algorithm choose(case_of_use const& c) noexcept
{
    algorithm last{};
    for (rule const& r : table) {
        if (fits(r, c))
            return r.use;
        if (r.what == c.what)
            last = r.use;
    }
    return last;  // every operation ends with a rule for all that is below 2^64 - 1 bytes
}

} // namespace towline::collective
