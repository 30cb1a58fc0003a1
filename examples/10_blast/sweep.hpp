#pragma once
// One Runge-Kutta stage over one block: the inner loops, compiled once for every instruction set that is worth it.
// All of them give the same bits: the same operations in the same order, none of them fused (-ffp-contract=off).

#include "euler.hpp"

#include <array>
#include <cstddef>
#include <vector>

namespace blast {

inline constexpr int ghosts = 2; ///< layers around a block that its stencil reads; edges and corners are not read

/// Pointers to five arrays, one for each variable.
using fields = std::array<double*, variables>;
using const_fields = std::array<double const*, variables>;

/// What the sweeps keep between rows and planes; one for each thread that sweeps.
struct sweep_scratch {
    std::vector<double> values;
};

struct sweep_job {
    std::array<int, 3> cells;     ///< of the block, without ghosts
    const_fields w;               ///< primitive variables, first *cell* (not ghost), strides of the block with ghosts
    fields w_new;                 ///< the same of the new state
    const_fields u;               ///< conserved variables at the start of the step, without ghosts
    fields v;                     ///< conserved variables of the stages: in the second stage read, then overwritten
    double ratio;                 ///< time step over cell width
    double gamma;
    double least_density;         ///< what a new state must not fall below
    double least_pressure;
    bool protect;                 ///< limit fluxes so that densities and pressures stay positive; surely if 6 ratio * (fastest signal) <= 1
    bool second;                  ///< v := (u + v + dt L(w)) / 2 instead of v := u + dt L(w)
};

struct sweep_result {
    double fastest = 0;    ///< greatest |velocity component| + sound speed of the new state; only of a second stage
    bool admissible = true; ///< every new density and pressure is above its least value
    long limited = 0;      ///< faces where the flux was drawn towards the first-order one
};

/// Strong-stability-preserving RK2 (Heun) stage of a MUSCL scheme: monotonized-central limiter on primitive variables (van Leer 1977),
/// HLLC fluxes (Toro, Spruce, Speares 1994), and, if wanted, the positivity-preserving flux limiter of Hu, Adams and Shu (J. Comput. Phys.
/// 242, 2013). Fluxes are computed from the same numbers by both neighbours of a face, so blocks conserve together.
using sweep_function = sweep_result(sweep_job const&, sweep_scratch&);
sweep_function sweep_baseline;
#ifdef BLAST_AVX2
sweep_function sweep_avx2;
#endif
#ifdef BLAST_AVX512F
sweep_function sweep_avx512f;
#endif

/// Those that this processor has, the fastest first.
std::vector<sweep_function*> possible_sweeps();

inline sweep_function* best_sweep()
{
    return possible_sweeps().front();
}

} // namespace blast
