#include "mpi/dims.hpp"

#include "mpi/calls.hpp"
#include "mpi/failure.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

namespace towline::mpi {
namespace {

std::vector<int> divisors_of(int n)
{
    std::vector<int> low, high;
    for (int d = 1; d <= n / d; ++d)
        if (n % d == 0) {
            low.push_back(d);
            if (d != n / d)
                high.push_back(n / d);
        }
    low.insert(low.end(), high.rbegin(), high.rend());
    return low;
}

/// base^exponent >= n, without overflow.
bool power_reaches(int base, std::size_t exponent, int n)
{
    std::int64_t product = 1;
    for (std::size_t i = 0; i < exponent && product < n; ++i)
        product *= base;
    return product >= n;
}

/// Fills `into` with factors of `n`, none above `largest`, each as small as the rest allows. False where there are none.
bool factor(int n, int largest, std::span<int> into, std::vector<int> const& divisors)
{
    if (into.size() == 1) {
        into[0] = n;
        return n <= largest;
    }
    for (int const d : divisors) {
        if (d > largest)
            return false;
        if (n % d != 0 || !power_reaches(d, into.size(), n))  // the first is the largest: the rest has to fit under it
            continue;
        into[0] = d;
        if (factor(n / d, d, into.subspan(1), divisors))
            return true;
    }
    return false;
}

} // namespace

void divide(int nodes, std::span<int> dims)
{
    if (nodes < 1)
        throw failure(MPI_ERR_ARG, fmt::format("nnodes is {}, and there is nothing to divide", nodes));
    std::int64_t fixed = 1;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        if (dims[i] < 0)
            throw failure(MPI_ERR_DIMS, fmt::format("dims[{}] is {}, and a dimension cannot be negative", i, dims[i]));
        if (dims[i] > 0)
            fixed *= dims[i];
        if (fixed > nodes)
            break;
    }
    auto const open = static_cast<std::size_t>(std::count(dims.begin(), dims.end(), 0));
    if (fixed > nodes || nodes % fixed != 0)
        throw failure(MPI_ERR_DIMS, fmt::format("nnodes is {}, which the dimensions that are set do not divide", nodes));
    int const rest = static_cast<int>(nodes / fixed);
    if (open == 0) {
        if (rest != 1 && !dims.empty())
            throw failure(MPI_ERR_DIMS, fmt::format("nnodes is {}, and the dimensions, which are all set, make {}", nodes, fixed));
        return;
    }
    std::vector<int> factors(open);
    (void)factor(rest, rest, factors, divisors_of(rest));
    auto next = factors.begin();
    for (int& d : dims)
        if (d == 0)
            d = *next++;
}

namespace calls {

void dims_create(int nnodes, int ndims, int dims[])
{
    if (ndims < 0)
        throw failure(MPI_ERR_DIMS, fmt::format("ndims is {}, and a number of dimensions cannot be negative", ndims));
    if (ndims > 0 && dims == nullptr)
        throw failure(MPI_ERR_ARG, fmt::format("dims is a null pointer, and ndims is {}", ndims));
    divide(nnodes, {dims, static_cast<std::size_t>(ndims)});
}

} // namespace calls
} // namespace towline::mpi
