// The constructors for parts of arrays (MPI-5.0, "Subarray Datatype Constructor" and "Distributed Array Datatype Constructor"). Both walk
// the dimensions from the fastest in memory to the slowest; `extent` is the distance of two neighbours in the dimension at hand.

#include "layout/parts.hpp"

namespace towline::layout {
namespace {

std::string entry(char const* list, std::size_t i, std::int64_t value)
{
    return std::string(list) + "[" + std::to_string(i) + "] is " + std::to_string(value);
}

/// The dimension that is walked as the k-th.
std::size_t nth(array_order order, std::size_t k, std::size_t dimensions) noexcept
{
    return order == array_order::c ? dimensions - 1 - k : k;
}

/// The whole array's bounds, in place of those of what is in it.
datatype bounded(part&& p, std::int64_t extent, checked const& in)
{
    p.limits.mark(0, extent);
    return finished(std::move(p), in);
}

/// Elements in a block of a distribution.
std::int64_t block_size(distributed_dimension const& d, std::size_t i, checked const& in)
{
    if (d.how == distribution::none) {
        if (d.processes != 1)
            in.refuse(entry("psizes", i, d.processes) + "; a dimension that is not distributed (MPI_DISTRIBUTE_NONE) has 1 process");
        return d.size;
    }
    std::int64_t const whole = d.size / d.processes + (d.size % d.processes != 0);
    std::int64_t const given = d.argument.value_or(d.how == distribution::block ? whole : 1);
    if (given < 1)
        in.refuse(entry("dargs", i, given) + "; a block has at least 1 element");
    if (d.how == distribution::block && given < whole)
        in.refuse(entry("dargs", i, given) + "; with MPI_DISTRIBUTE_BLOCK " + std::to_string(d.processes) + " processes need blocks of " +
                  std::to_string(whole) + " or more to hold " + std::to_string(d.size) + " elements");
    return given;
}

/// What process `rank` of a dimension has of it.
part distributed(part const& old, distributed_dimension const& d, std::size_t i, std::int64_t rank, std::int64_t extent, checked const& in)
{
    std::int64_t const block = block_size(d, i, in);
    assembly made(in);
    std::int64_t first = 0;
    if (__builtin_mul_overflow(rank, block, &first) || first >= d.size)
        return made.finish();  // the array ends before
    std::int64_t period = 0;
    if (__builtin_mul_overflow(d.processes, block, &period))
        period = d.size;  // there is no second round
    std::int64_t const full = d.size - first >= block ? (d.size - first - block) / period + 1 : 0;
    if (full != 0) {
        part const one = copies(old, block, extent, in);
        made.add(in.mul(first, extent, "displacement"), copies(one, full, full > 1 ? in.mul(period, extent, "stride") : 0, in));
    }
    std::int64_t rest_at = 0;  // the last round may cut a block
    if (!__builtin_mul_overflow(full, period, &rest_at) && !__builtin_add_overflow(rest_at, first, &rest_at) && rest_at < d.size)
        made.add(in.mul(rest_at, extent, "displacement"), copies(old, d.size - rest_at, extent, in));
    return made.finish();
}

} // namespace

datatype subarray(std::span<std::int64_t const> sizes, std::span<std::int64_t const> subsizes, std::span<std::int64_t const> starts,
                  array_order order, datatype const& old)
{
    checked const in("subarray");
    if (sizes.empty() || sizes.size() != subsizes.size() || sizes.size() != starts.size())
        in.refuse("sizes, subsizes and starts have " + std::to_string(sizes.size()) + ", " + std::to_string(subsizes.size()) + " and " +
                  std::to_string(starts.size()) + " dimensions; give as many of each, at least 1");
    part made = part_of(old);
    std::int64_t extent = old.extent(), offset = 0;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
        std::size_t const i = nth(order, k, sizes.size());
        if (sizes[i] < 1)
            in.refuse(entry("sizes", i, sizes[i]) + "; a dimension has at least 1 element");
        if (subsizes[i] < 1 || subsizes[i] > sizes[i])
            in.refuse(entry("subsizes", i, subsizes[i]) + "; it must be from 1 to sizes[" + std::to_string(i) + "], " +
                      std::to_string(sizes[i]));
        if (starts[i] < 0 || starts[i] > sizes[i] - subsizes[i])
            in.refuse(entry("starts", i, starts[i]) + "; it must be from 0 to sizes - subsizes, " + std::to_string(sizes[i] - subsizes[i]));
        made = copies(made, subsizes[i], extent, in);
        offset = in.add(offset, in.mul(starts[i], extent, "displacement"), "displacement");
        extent = in.mul(extent, sizes[i], "extent");
    }
    assembly whole(in);
    whole.add(offset, made);
    return bounded(whole.finish(), extent, in);
}

datatype darray(std::int64_t processes, std::int64_t rank, std::span<distributed_dimension const> dimensions, array_order order,
                datatype const& old)
{
    checked const in("darray");
    if (dimensions.empty())
        in.refuse("the array has no dimension; give at least 1");
    std::int64_t grid = 1;
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
        if (dimensions[i].size < 1)
            in.refuse(entry("gsizes", i, dimensions[i].size) + "; a dimension has at least 1 element");
        if (dimensions[i].processes < 1)
            in.refuse(entry("psizes", i, dimensions[i].processes) + "; a dimension of the grid has at least 1 process");
        grid = in.mul(grid, dimensions[i].processes, "grid");
    }
    if (grid != processes)
        in.refuse("the grid of psizes has " + std::to_string(grid) + " processes, size says " + std::to_string(processes));
    if (rank < 0 || rank >= processes)
        in.refuse("rank is " + std::to_string(rank) + "; it must be from 0 to " + std::to_string(processes - 1));

    std::vector<std::int64_t> place(dimensions.size());
    for (std::size_t i = dimensions.size(); i-- > 0; rank /= dimensions[i].processes)
        place[i] = rank % dimensions[i].processes;

    part made = part_of(old);
    std::int64_t extent = old.extent();
    for (std::size_t k = 0; k < dimensions.size(); ++k) {
        std::size_t const i = nth(order, k, dimensions.size());
        made = distributed(made, dimensions[i], i, place[i], extent, in);
        extent = in.mul(extent, dimensions[i].size, "extent");
    }
    return bounded(std::move(made), extent, in);
}

} // namespace towline::layout
