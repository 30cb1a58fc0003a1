#pragma once
// How the grid is cut into blocks, and which process has which.

#include <array>
#include <cstddef>

namespace blast {

using triple = std::array<int, 3>;

/// The faces of a block: 2 * axis, plus 1 for the upper one.
inline constexpr int faces = 6;
constexpr int opposite(int face)
{
    return face ^ 1;
}

/// A part of the grid: first cell and number of cells along each axis.
struct box {
    triple first;
    triple cells;
    std::size_t volume() const { return static_cast<std::size_t>(cells[0]) * cells[1] * cells[2]; }
};

class layout {
public:
    /// Cuts `cells` into exactly `blocks` boxes, as equal and as compact as can be; rows along x are cut last, they are what vectorises.
    /// Throws std::invalid_argument if every cut has a box thinner than its neighbours' stencil.
    layout(triple cells, int blocks);

    triple cells() const { return cells_; }
    triple cuts() const { return cuts_; } ///< blocks along each axis
    int count() const { return cuts_[0] * cuts_[1] * cuts_[2]; }
    box operator[](int block) const;
    int neighbour(int block, int face) const; ///< -1: the face lies on the boundary of the grid
    /// Blocks of one process are neighbours in the numbering.
    int owner(int block, int processes) const { return static_cast<int>(static_cast<long>(block) * processes / count()); }

private:
    triple place(int block) const;

    triple cells_;
    triple cuts_;
};

} // namespace blast
