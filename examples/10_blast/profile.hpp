#pragma once
// The density averaged over spherical shells, and where its shock is.

#include "exchange.hpp"
#include "solver.hpp"

#include <vector>

namespace blast {

/// Shells about the middle of the grid; `radius` and `density` are averages over a shell's cells, by increasing radius.
struct radial_profile {
    std::vector<double> radius;
    std::vector<double> density;
};

/// Shells one cell wide, out to the nearest boundary. Exact sums: the same for every cut. All processes call it; process 0 has the result.
radial_profile profile_of(solver const& s, exchange& others, solver_settings const& settings);

/// The radius where the density, seen from outside, has risen half way from the undisturbed one to its maximum. 0 if it nowhere has.
double shock_radius(radial_profile const& profile, double undisturbed);

} // namespace blast
