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

/// Throws as canvas::write does.
void draw_slice(std::string const& path, deck const& d, std::vector<double> const& density, moment const& now);
void draw_profile(std::string const& path, deck const& d, radial_profile const& profile, sedov const& exact, moment const& now);

} // namespace blast
