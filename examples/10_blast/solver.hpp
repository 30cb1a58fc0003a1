#pragma once
// Advances this process's blocks, together with all other processes'. Every number it computes is the same for every cut of the grid.

#include "block.hpp"
#include "exact_sum.hpp"
#include "exchange.hpp"

#include <functional>
#include <vector>

namespace blast {

struct solver_settings {
    triple cells{};
    double width = 1;  ///< of a cell
    double cfl = 0.3;  ///< time step = cfl * width / greatest(|velocity component| + sound speed); at most 1/3 is stable
    gas matter;
};

/// Exact sums over the whole grid, per variable; times the volume of a cell they are what is conserved.
struct totals {
    exact_sum of[variables];
};

class solver {
public:
    /// Takes the blocks of `cut` that the exchange's process owns. The exchange must outlive the solver.
    solver(solver_settings const& settings, layout const& cut, exchange& others, sweep_function* sweep = best_sweep());

    /// Starts at time 0 from the state that `at` returns for every cell.
    void start(std::function<primitive(int x, int y, int z)> const& at);

    /// One step of at most `longest`; returns its length. All processes call it together.
    /// Throws std::runtime_error when no step, however small, keeps densities and pressures positive.
    double step(double longest);

    /// Takes in what the neighbours sent last: afterwards nothing is in flight, and there are no more steps. All processes call it.
    void finish();

    std::uint64_t steps() const { return steps_; }
    std::uint64_t rejected() const { return rejected_; }   ///< steps repeated with half the length and limited fluxes
    std::uint64_t limited() const { return limited_; }     ///< faces in this process whose flux was limited for positivity
    std::vector<block> const& blocks() const { return blocks_; }
    layout const& cut() const { return cut_; }

    // What follows gathers from all processes, which call it together; process 0 has the result, the others an empty one.
    totals sum();
    std::uint64_t checksum();                  ///< of all bits of all conserved variables of all cells, by place in the grid
    std::vector<double> density_slice(int z);  ///< cells[0] * cells[1] densities

private:
    void publish(std::size_t i);
    void receive(std::size_t i);
    void discard(std::size_t i);
    bool ready(std::size_t i);
    sweep_result stage(double ratio, bool protect, bool second);
    bool attempt(double dt, bool protect);

    solver_settings settings_;
    layout cut_;
    exchange& others_;
    std::vector<int> ids_;       ///< of our blocks
    std::vector<block> blocks_;
    sweep_scratch scratch_;
    std::uint64_t tick_ = 0;     ///< of the state whose faces were published last
    double fastest_ = 0;
    std::uint64_t steps_ = 0;
    std::uint64_t rejected_ = 0;
    std::uint64_t limited_ = 0;
};

} // namespace blast
