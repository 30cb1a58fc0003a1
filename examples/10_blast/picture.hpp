#pragma once
// The pictures of a run: density in the middle plane with the exact shock on it, and the density over the radius beside the exact one.

#include "deck.hpp"
#include "profile.hpp"
#include "sedov.hpp"

#include <string>
#include <vector>

namespace blast {

struct moment {
    double time;
    double exact_radius;    ///< of the shock
    double measured_radius;
};

/// What the brightest colour of every slice of a run stands for, so that they can be compared; known before the run: how dense the exact
/// wave is at the end in the outermost layer, one cell wide. No grid shows its infinitely thin edge, (gamma + 1) / (gamma - 1).
double brightest_density(deck const& d, sedov const& exact);
/// Throws as canvas::write does. What is denser than `brightest` has its colour; the caption says how dense it is.
void draw_slice(std::string const& path, deck const& d, std::vector<double> const& density, double brightest, moment const& now);
void draw_profile(std::string const& path, deck const& d, radial_profile const& profile, sedov const& exact, moment const& now);

} // namespace blast
