#pragma once
// The input deck: a small TOML file. What is wrong in it is said with file, line, key and what is allowed.

#include "layout.hpp"
#include "solver.hpp"

#include <stdexcept>
#include <string>

namespace blast {

/// `what()` is ready to be shown.
class deck_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct deck {
    int cells = 0;                ///< along each edge of the cube; even
    double edge = 1;              ///< of the cube
    double gamma = 1.4;
    double density = 1;           ///< of the undisturbed gas
    double pressure = 1e-5;
    double energy = 0.851072;     ///< of the explosion
    double deposit_radius = 2;    ///< cells whose centre is this near to the middle share the energy; in cells
    double end_time = 0;
    double cfl = 0.3;
    int pictures = 4;             ///< evenly spaced in the shock's radius, the last at the end

    double width() const { return edge / cells; }
    double cell_volume() const { return width() * width() * width(); }
    solver_settings settings() const;
    /// The state of a cell at time 0; exactly symmetric about the middle planes.
    primitive initial(int x, int y, int z) const;
};

/// These throw deck_error. `path` is for messages only.
std::string read_text(std::string const& path);
deck parse_deck(std::string const& text, std::string const& path);

} // namespace blast
