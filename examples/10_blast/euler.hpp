#pragma once
// The compressible Euler equations of an ideal gas: states and the conversions between them.

namespace blast {

inline constexpr int variables = 5;

/// Five numbers (or packs of them). Conserved: density, three momenta, total energy, per unit of volume: what finite volumes keep.
/// Primitive: density, three velocities, pressure: what is reconstructed at the faces.
template <class Number>
struct state {
    Number value[variables];
    Number& operator[](int k) { return value[k]; }
    Number const& operator[](int k) const { return value[k]; }
};

template <class Number>
inline state<Number> to_conserved(state<Number> const& w, double gamma)
{
    Number kinetic = 0.5 * w[0] * ((w[1] * w[1] + w[2] * w[2]) + w[3] * w[3]);
    return {{w[0], w[0] * w[1], w[0] * w[2], w[0] * w[3], w[4] * (1 / (gamma - 1)) + kinetic}};
}

template <class Number>
inline state<Number> to_primitive(state<Number> const& u, double gamma)
{
    Number inverse = 1.0 / u[0];
    Number kinetic = 0.5 * inverse * ((u[1] * u[1] + u[2] * u[2]) + u[3] * u[3]);
    return {{u[0], u[1] * inverse, u[2] * inverse, u[3] * inverse, (gamma - 1) * (u[4] - kinetic)}};
}

inline char const* variable_name(int k)
{
    constexpr char const* names[variables] = {"density", "momentum x", "momentum y", "momentum z", "energy"};
    return names[k];
}

using primitive = state<double>;
using conserved = state<double>;

} // namespace blast
