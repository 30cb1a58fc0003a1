#pragma once
// A block of cells with its ghosts: storage, faces, and the two stages of a step.

#include "layout.hpp"
#include "sweep.hpp"

#include <functional>
#include <span>
#include <vector>

namespace blast {

/// What the gas is and how it is advanced; the same for all blocks.
struct gas {
    double gamma = 1.4;
    double least_density = 1e-12;
    double least_pressure = 1e-12;
};

class block {
public:
    block(box where, gas const& g, sweep_function* sweep = best_sweep());

    box const& where() const { return where_; }

    /// Sets every cell to the state that `at` returns for its place in the grid.
    void fill(std::function<primitive(int x, int y, int z)> const& at);

    std::size_t face_size(int face) const; ///< doubles in a face's two layers of cells
    void pack(int face, std::span<double> to) const;
    void unpack(int face, std::span<double const> from);
    void continue_outwards(int face); ///< ghosts of a boundary of the grid: zero gradient, waves leave

    /// One stage over the whole block; the ghosts must be those of the present state. Afterwards the new state is the present one.
    sweep_result advance(double ratio, bool protect, bool second, sweep_scratch& scratch);
    void accept(); ///< the second stage's result begins the next step
    void reject(); ///< back to the start of the step
    double fastest() const; ///< greatest |velocity component| + sound speed, of the accepted state

    conserved cell(int x, int y, int z) const;      ///< accepted state, by place in the grid
    double const* row(int variable, int y, int z) const; ///< conserved variables of the row's cells, accepted state

private:
    std::ptrdiff_t inside(int x, int y, int z) const; ///< index with ghosts, of a place in the block
    void primitive_from(std::vector<double> const& conserved_values);
    triple face_first(int face, bool ghost) const;
    triple face_cells(int face) const;

    box where_;
    gas gas_;
    sweep_function* sweep_;
    std::ptrdiff_t stride_y_;
    std::ptrdiff_t stride_z_;
    std::size_t volume_;       ///< cells
    std::size_t ghost_volume_; ///< cells with ghosts
    std::vector<double> u_, v_, w_, w_new_;
};

} // namespace blast
