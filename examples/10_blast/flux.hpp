#pragma once
// The numerical flux through one face. Mirrored states give exactly mirrored fluxes; that decides how the expressions are grouped.
// `Number` is a double or a pack of them. Internal linkage on purpose, see pack.hpp.

#include "euler.hpp"
#include "pack.hpp"

namespace blast {
namespace {

/// The monotonized-central slope (van Leer 1977) from the differences to both neighbours; zero at an extremum.
template <class Number>
inline Number limited_slope(Number left, Number right)
{
    Number centre = 0.5 * (left + right);
    Number size = lesser<Number>(2.0 * lesser(magnitude(left), magnitude(right)), magnitude(centre));
    size = left * right > 0 ? size : Number{};
    return centre > 0 ? size : -size;
}

/// HLLC (Toro, Spruce, Speares 1994; wave speeds of Davis 1988). N, T, S: the index of the velocity normal to the face and of the other
/// two.
template <int N, int T, int S, class Number>
inline state<Number> hllc(state<Number> const& l, state<Number> const& r, double gamma)
{
    double const inverse = 1 / (gamma - 1);
    Number cl = root(gamma * l[4] / l[0]);
    Number cr = root(gamma * r[4] / r[0]);
    Number sl = lesser<Number>(l[N] - cl, r[N] - cr);
    Number sr = greater<Number>(l[N] + cl, r[N] + cr);
    Number ml = l[0] * (sl - l[N]);
    Number mr = r[0] * (sr - r[N]);
    Number contact = ((r[4] - mr * r[N]) - (l[4] - ml * l[N])) / (ml - mr);

    auto left = contact >= 0; // the face is reached by the left state, or by what lies between its acoustic wave and the contact
    Number rho = left ? l[0] : r[0];
    Number u = left ? l[N] : r[N];
    Number v = left ? l[T] : r[T];
    Number w = left ? l[S] : r[S];
    Number p = left ? l[4] : r[4];
    Number m = left ? ml : mr;
    Number s = left ? sl : sr;
    Number across = left ? lesser(sl, Number{}) : greater(sr, Number{}); // zero: the face lies outside the fan

    Number e = p * inverse + 0.5 * rho * ((u * u + v * v) + w * w);
    Number narrowing = 1.0 / (s - contact);
    Number rho_star = m * narrowing;
    Number p_star = p + m * (contact - u);
    Number e_star = (((s - u) * e - p * u) + p_star * contact) * narrowing;
    Number momentum = rho * u;
    // A contact that stands still passes on nothing but pressure; without a side to choose, both are asked.
    auto still = contact == 0;
    Number standing = 0.5 * ((l[4] - ml * l[N]) + (r[4] - mr * r[N]));
    state<Number> f;
    f[0] = still ? Number{} : momentum + across * (rho_star - rho);
    f[N] = still ? standing : (momentum * u + p) + across * (rho_star * contact - momentum);
    f[T] = still ? Number{} : momentum * v + across * (rho_star * v - rho * v);
    f[S] = still ? Number{} : momentum * w + across * (rho_star * w - rho * w);
    f[4] = still ? Number{} : u * (e + p) + across * (e_star - e);
    return f;
}

/// The first-order flux of Lax and Friedrichs with the local greatest signal speed.
template <int N>
inline conserved lax_friedrichs(primitive const& l, primitive const& r, double gamma)
{
    conserved ul = to_conserved(l, gamma);
    conserved ur = to_conserved(r, gamma);
    double a = greater(magnitude(l[N]) + root(gamma * l[4] / l[0]), magnitude(r[N]) + root(gamma * r[4] / r[0]));
    conserved f;
    for (int k = 0; k < variables; ++k) {
        double fl = l[N] * (ul[k] + (k == 4 ? l[4] : 0.0)) + (k == N ? l[4] : 0.0);
        double fr = r[N] * (ur[k] + (k == 4 ? r[4] : 0.0)) + (k == N ? r[4] : 0.0);
        f[k] = 0.5 * ((fl + fr) - a * (ur[k] - ul[k]));
    }
    return f;
}

/// What is left of a cell's sixth that belongs to one face after `share` times the flux went through it.
template <class Number>
struct remainder {
    Number density;
    Number energy; ///< density times internal energy
};

template <class Number>
inline remainder<Number> left_over(state<Number> const& u, state<Number> const& f, double share)
{
    Number d = u[0] - share * f[0];
    Number x = u[1] - share * f[1];
    Number y = u[2] - share * f[2];
    Number z = u[3] - share * f[3];
    Number e = u[4] - share * f[4];
    return {d, d * e - 0.5 * ((x * x + y * y) + z * z)};
}

/// The positivity-preserving flux limiter of Hu, Adams and Shu (J. Comput. Phys. 242, 2013): a cell is split into six shares, one for each
/// face; where one would leave the admissible states, the flux is drawn towards the first-order one, for both neighbours alike.
struct positivity {
    double share; ///< six times the ratio of time step to cell width
    double least_density;
    double least_pressure;
    double gamma;

    /// 1 where both cells' shares stay admissible, else 0.
    template <class Number>
    Number holds(state<Number> const& l, state<Number> const& r, state<Number> const& f) const
    {
        double const least_internal = least_pressure / (gamma - 1);
        remainder<Number> a = left_over(to_conserved(l, gamma), f, share);
        remainder<Number> b = left_over(to_conserved(r, gamma), f, -share);
        Number density = lesser(a.density, b.density) - least_density;
        Number pressure = lesser<Number>(a.energy - a.density * least_internal, b.energy - b.density * least_internal);
        auto good = density >= 0;
        Number flag = good ? pressure : spread<Number>(-1);
        auto better = flag >= 0;
        return better ? spread<Number>(1) : Number{};
    }

    template <int N>
    conserved limit(primitive const& l, primitive const& r, conserved f) const
    {
        conserved low = lax_friedrichs<N>(l, r, gamma);
        double const least_internal = least_pressure / (gamma - 1);
        for (int side = 0; side < 2; ++side) {
            conserved u = to_conserved(side == 0 ? l : r, gamma);
            double part = side == 0 ? share : -share;
            // Density is linear in the flux and pressure concave, so a straight line between the two fluxes is on the safe side.
            double d_low = u[0] - part * low[0] - least_density;
            double d_high = u[0] - part * f[0] - least_density;
            if (!(d_high >= 0))
                f = between(low, f, d_low > 0 ? d_low / (d_low - d_high) : 0.0);
            remainder<double> a = left_over(u, low, part);
            remainder<double> b = left_over(u, f, part);
            double p_low = a.energy / a.density - least_internal;
            double p_high = b.energy / b.density - least_internal;
            if (!(p_high >= 0))
                f = between(low, f, p_low > 0 ? p_low / (p_low - p_high) : 0.0);
        }
        return f;
    }

private:
    /// low + theta (high - low); the low one if theta is not a number.
    static conserved between(conserved const& low, conserved const& high, double theta)
    {
        if (!(theta > 0))
            return low;
        conserved f;
        for (int k = 0; k < variables; ++k)
            f[k] = low[k] + theta * (high[k] - low[k]);
        return f;
    }
};

} // namespace
} // namespace blast
