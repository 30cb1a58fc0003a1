// MPI_Dims_create: the most balanced division, by search.

#include "mpi/topology.hpp"

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

/// base^exponent, or any value above `most` if it is larger.
std::int64_t power(int base, std::size_t exponent, int most)
{
    std::int64_t product = 1;
    for (std::size_t i = 0; i < exponent && product <= most && base > 1; ++i)
        product *= base;
    return product;
}

/// The largest number whose power is not above n.
int root_below(int n, std::size_t exponent)
{
    int low = 1, high = n;  // low^exponent <= n
    while (low < high) {
        int const middle = low + (high - low + 1) / 2;
        if (power(middle, exponent, n) > n)
            high = middle - 1;
        else
            low = middle;
    }
    return low;
}

/// Searches for factors of n in non-increasing order, with the smallest distance between first and last. Among equals, prefers the largest
/// last factor, then the largest last but one, and so on.
class search {
public:
    search(int n, std::size_t dimensions) : divisors_(divisors_of(n)), now_(dimensions) { choose(n, 0); }
    [[nodiscard]] std::vector<int> const& best() const noexcept { return best_; }

private:
    [[nodiscard]] bool may_be_better(int first, int last) const noexcept
    {
        return best_.empty() || first - last < best_.front() - best_.back() ||
               (first - last == best_.front() - best_.back() && last >= best_.back());
    }
    [[nodiscard]] bool is_better() const noexcept
    {
        return best_.empty() || now_.front() - now_.back() < best_.front() - best_.back() ||
               (now_.front() - now_.back() == best_.front() - best_.back() &&
                std::lexicographical_compare(best_.rbegin(), best_.rend(), now_.rbegin(), now_.rend()));
    }
    void choose(int n, std::size_t at)
    {
        std::size_t const left = now_.size() - at;
        int const largest = at == 0 ? n : now_[at - 1];
        if (left == 1) {
            now_[at] = n;
            if (n <= largest && is_better())
                best_ = now_;
            return;
        }
        for (int const d : divisors_) {
            if (d > largest)
                return;
            if (n % d != 0 || power(d, left, n) < n)  // d is the largest factor left: the others must not exceed it
                continue;
            // A larger factor here lowers the bound on the last one.
            if (!may_be_better(at == 0 ? d : now_.front(), root_below(n / d, left - 1)))
                return;
            now_[at] = d;
            choose(n / d, at + 1);
        }
    }

    std::vector<int> const divisors_;
    std::vector<int> now_, best_;
};

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
    search const found(rest, open);
    auto next = found.best().begin();
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
