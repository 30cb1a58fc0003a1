#include "layout.hpp"

#include "sweep.hpp"

#include <fmt/format.h>

#include <limits>
#include <stdexcept>

namespace blast {

layout::layout(triple cells, int blocks) : cells_(cells), cuts_{0, 0, 0}
{
    double least = std::numeric_limits<double>::infinity();
    for (int z = 1; z <= blocks; ++z) {
        for (int y = 1; y <= blocks / z; ++y) {
            int x = blocks / z / y;
            if (x * y * z != blocks || cells[0] / x < ghosts || cells[1] / y < ghosts || cells[2] / z < ghosts)
                continue;
            double area_x = static_cast<double>(x - 1) * cells[1] * cells[2];
            double area_y = static_cast<double>(y - 1) * cells[0] * cells[2];
            double area_z = static_cast<double>(z - 1) * cells[0] * cells[1];
            double cost = 2 * area_x + 1.01 * area_y + area_z;
            if (cost < least) {
                least = cost;
                cuts_ = {x, y, z};
            }
        }
    }
    if (cuts_[0] == 0)
        throw std::invalid_argument(fmt::format("{} x {} x {} cells cannot be cut into {} blocks of at least {} cells along each axis; "
                                                "use fewer blocks or more cells",
                                                cells[0], cells[1], cells[2], blocks, ghosts));
}

triple layout::place(int block) const
{
    return {block % cuts_[0], block / cuts_[0] % cuts_[1], block / (cuts_[0] * cuts_[1])};
}

box layout::operator[](int block) const
{
    triple at = place(block);
    box b;
    for (int axis = 0; axis < 3; ++axis) {
        auto start = [&](long i) { return static_cast<int>(i * cells_[axis] / cuts_[axis]); };
        b.first[axis] = start(at[axis]);
        b.cells[axis] = start(at[axis] + 1) - b.first[axis];
    }
    return b;
}

int layout::neighbour(int block, int face) const
{
    triple at = place(block);
    int axis = face / 2;
    at[axis] += face % 2 == 0 ? -1 : 1;
    if (at[axis] < 0 || at[axis] >= cuts_[axis])
        return -1;
    return (at[2] * cuts_[1] + at[1]) * cuts_[0] + at[0];
}

} // namespace blast
