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
    rule{.what = routine::barrier, .use = algorithm::linear, .only_crowded = true},
    rule{routine::barrier, algorithm::dissemination},

    rule{routine::bcast, algorithm::binomial, 64 * KiB},
    rule{routine::bcast, algorithm::binomial, any, 1, 4},
    rule{routine::bcast, algorithm::scatter_ring},

    rule{routine::gather, algorithm::binomial, 8 * KiB, 4},
    rule{routine::gather, algorithm::linear},
    rule{routine::scatter, algorithm::binomial, 8 * KiB, 4},
    rule{routine::scatter, algorithm::linear},

    rule{routine::allgather, algorithm::doubling, 32 * KiB, 1, many, false, true},
    rule{routine::allgather, algorithm::bruck, 8 * KiB},
    rule{routine::allgather, algorithm::ring},
    rule{routine::allgatherv, algorithm::bruck, 32 * KiB},
    rule{routine::allgatherv, algorithm::ring},

    rule{routine::alltoall, algorithm::bruck, 256, 8},
    rule{routine::alltoall, algorithm::pairwise_windows, 32 * KiB},
    rule{routine::alltoall, algorithm::pairwise},
    rule{routine::alltoallv, algorithm::pairwise_windows},

    rule{.what = routine::reduce, .use = algorithm::direct, .only_in_order = true},
    rule{routine::reduce, algorithm::binomial, 64 * KiB},
    rule{routine::reduce, algorithm::scatter_gather, any, 3, many, true, false, 1},
    rule{routine::reduce, algorithm::binomial},

    rule{.what = routine::allreduce, .use = algorithm::direct, .only_in_order = true},
    rule{.what = routine::allreduce, .use = algorithm::binomial, .below_bytes = 8 * KiB, .only_crowded = true},
    rule{routine::allreduce, algorithm::doubling, 8 * KiB},
    rule{routine::allreduce, algorithm::rabenseifner, any, 3, many, true, false, 1},
    rule{routine::allreduce, algorithm::doubling},

    rule{.what = routine::reduce_scatter, .use = algorithm::direct, .only_in_order = true},
    rule{routine::reduce_scatter, algorithm::halving, 64 * KiB, 3, many, true},
    rule{routine::reduce_scatter, algorithm::pairwise, any, 1, many, true},
    rule{routine::reduce_scatter, algorithm::direct},

    rule{.what = routine::scan, .use = algorithm::direct, .only_in_order = true},
    rule{routine::scan, algorithm::doubling},
};

bool fits(rule const& r, case_of_use const& c) noexcept
{
    return r.what == c.what && c.bytes < r.below_bytes && c.ranks >= r.from_ranks && c.ranks < r.below_ranks &&
           (c.commutative || !r.only_commutative) && (!r.only_power_of_two || std::has_single_bit(static_cast<unsigned>(c.ranks))) &&
           c.elements / static_cast<std::uint64_t>(c.ranks) >= r.from_elements_per_rank && (c.crowded || !r.only_crowded) &&
           (c.in_order || !r.only_in_order);
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
