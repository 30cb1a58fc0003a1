#pragma once
// A balanced division of processes into dimensions (8.5.2).

#include <span>

namespace towline::mpi {

/// Replaces the zeros of `dims` such that the product of all is `nodes`: as close to each other as possible (the distance of the largest
/// and the smallest, then the smallest ones as large as can be), in non-increasing order. Throws a failure where that cannot be.
void divide(int nodes, std::span<int> dims);

} // namespace towline::mpi
