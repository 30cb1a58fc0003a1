#include "sedov.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace blast {
namespace {

// With x = ln(r / R), velocity = R' (r / R) F(x), density = density0 G(x), pressure = density0 R'^2 (r / R)^2 P(x), and R R'' / R'^2 = -3/2
// because R ~ time^(2/5), the Euler equations become, a prime on F, G, P meaning d/dx:
//     continuity  (F - 1) (ln G)' + F'                     = -3 F
//     momentum    (F - 1) F' + P / G (ln P)'               = 3/2 F - (F - 1) F - 2 P / G
//     energy      (F - 1) ((ln P)' - gamma (ln G)')        = 3 - 2 (F - 1)
// Unknowns: F, ln G, ln P, and the integral of the energy.
using unknowns = std::array<double, 4>;

unknowns slopes(double x, unknowns const& y, double gamma)
{
    double f = y[0];
    double a = f - 1;
    double q = std::exp(y[2] - y[1]);
    double c1 = -3 * f;
    double c2 = 1.5 * f - a * f - 2 * q;
    double c3 = 3 - 2 * a;
    double df = (c2 - q * (c3 + gamma * c1) / a) / (a - q * gamma / a);
    double dg = (c1 - df) / a;
    double dh = c3 / a + gamma * dg;
    double energy = std::exp(5 * x) * (0.5 * std::exp(y[1]) * f * f + std::exp(y[2]) / (gamma - 1));
    return {df, dg, dh, energy};
}

} // namespace

sedov::sedov(double gamma) : gamma_(gamma)
{
    if (!(gamma >= least_gamma && gamma <= greatest_gamma))
        throw std::invalid_argument(
            fmt::format("the similarity solution is offered for gamma from {} to {}, not {}", least_gamma, greatest_gamma, gamma));
    unknowns y{2 / (gamma + 1), std::log((gamma + 1) / (gamma - 1)), std::log(2 / (gamma + 1)), 0};
    constexpr int steps = 40000;
    double const h = -8.0 / steps; // to e^-8 of the radius: what lies inside has less than 1e-10 of the energy
    double x = 0;
    profile_.push_back({0, y[1]});
    for (int i = 0; i < steps; ++i) {
        auto moved = [&](unknowns const& k, double by) {
            unknowns z = y;
            for (std::size_t n = 0; n < z.size(); ++n)
                z[n] += by * k[n];
            return z;
        };
        unknowns k1 = slopes(x, y, gamma);
        unknowns k2 = slopes(x + h / 2, moved(k1, h / 2), gamma);
        unknowns k3 = slopes(x + h / 2, moved(k2, h / 2), gamma);
        unknowns k4 = slopes(x + h, moved(k3, h), gamma);
        for (std::size_t n = 0; n < y.size(); ++n)
            y[n] += h / 6 * (k1[n] + 2 * k2[n] + 2 * k3[n] + k4[n]);
        x = (i + 1) * h;
        profile_.push_back({x, y[1]});
    }
    // energy = 4 pi density0 R^3 R'^2 times the integral, and R' = 2/5 R / t
    alpha_ = 16 * std::numbers::pi / 25 * -y[3];
}

double sedov::radius(double energy, double density, double time) const
{
    return std::pow(energy * time * time / (alpha_ * density), 0.2);
}

double sedov::time(double energy, double density, double radius) const
{
    return std::sqrt(alpha_ * density * std::pow(radius, 5) / energy);
}

double sedov::relative_density(double fraction) const
{
    if (fraction > 1)
        return 1;
    if (fraction <= 0)
        return 0;
    double x = std::log(fraction);
    double at = x / profile_.back().log_fraction * static_cast<double>(profile_.size() - 1);
    auto i = static_cast<std::size_t>(at);
    if (i + 1 >= profile_.size())
        return 0;
    double part = at - static_cast<double>(i);
    return std::exp((1 - part) * profile_[i].log_density + part * profile_[i + 1].log_density);
}

} // namespace blast
