#pragma once
// The exact solution of a strong point explosion in three dimensions: L. I. Sedov, "Similarity and Dimensional Methods in Mechanics"
// (1959); the same quantities as in J. R. Kamm and F. X. Timmes, "On Efficient Generation of Numerically Robust Sedov Solutions"
// (LA-UR-07-2849, 2007).

#include <vector>

namespace blast {

/// A uniform cold gas at rest, a point explosion at time 0. The shock is at (energy time^2 / (alpha density))^(1/5).
class sedov {
public:
    static constexpr double least_gamma = 1.05;
    static constexpr double greatest_gamma = 3.0;

    /// Integrates the similarity equations; gamma as limited above, else std::invalid_argument.
    explicit sedov(double gamma);

    /// The dimensionless energy integral: 0.851072 for gamma 1.4.
    double alpha() const { return alpha_; }

    double radius(double energy, double density, double time) const;
    double time(double energy, double density, double radius) const; ///< when the shock is there

    /// Density behind the shock, relative to that before it, at `fraction` of the shock's radius; 1 outside.
    double relative_density(double fraction) const;

private:
    struct sample {
        double log_fraction;
        double log_density;
    };

    double gamma_;
    double alpha_;
    std::vector<sample> profile_; ///< from the shock inwards, equally spaced
};

} // namespace blast
