#include "block.hpp"

#include <algorithm>
#include <cmath>

namespace blast {

block::block(box where, gas const& g, sweep_function* sweep)
    : where_(where), gas_(g), sweep_(sweep), stride_y_(where.cells[0] + 2 * ghosts), stride_z_(stride_y_ * (where.cells[1] + 2 * ghosts)),
      volume_(where.volume()), ghost_volume_(static_cast<std::size_t>(stride_z_) * (where.cells[2] + 2 * ghosts)), u_(variables * volume_),
      v_(variables * volume_), w_(variables * ghost_volume_, 1.0), w_new_(variables * ghost_volume_, 1.0)
{
}

std::ptrdiff_t block::inside(int x, int y, int z) const
{
    return (z + ghosts) * stride_z_ + (y + ghosts) * stride_y_ + (x + ghosts);
}

void block::fill(std::function<primitive(int, int, int)> const& at)
{
    std::size_t i = 0;
    for (int z = 0; z < where_.cells[2]; ++z)
        for (int y = 0; y < where_.cells[1]; ++y)
            for (int x = 0; x < where_.cells[0]; ++x, ++i) {
                conserved u = to_conserved(at(where_.first[0] + x, where_.first[1] + y, where_.first[2] + z), gas_.gamma);
                for (int k = 0; k < variables; ++k)
                    u_[k * volume_ + i] = u[k];
            }
    primitive_from(u_);
}

void block::primitive_from(std::vector<double> const& values)
{
    std::size_t i = 0;
    for (int z = 0; z < where_.cells[2]; ++z)
        for (int y = 0; y < where_.cells[1]; ++y)
            for (int x = 0; x < where_.cells[0]; ++x, ++i) {
                conserved u;
                for (int k = 0; k < variables; ++k)
                    u[k] = values[k * volume_ + i];
                primitive w = to_primitive(u, gas_.gamma);
                for (int k = 0; k < variables; ++k)
                    w_[k * ghost_volume_ + inside(x, y, z)] = w[k];
            }
}

triple block::face_first(int face, bool ghost) const
{
    triple first{0, 0, 0};
    int axis = face / 2;
    first[axis] = face % 2 == 0 ? (ghost ? -ghosts : 0) : where_.cells[axis] - (ghost ? 0 : ghosts);
    return first;
}

triple block::face_cells(int face) const
{
    triple cells = where_.cells;
    cells[face / 2] = ghosts;
    return cells;
}

std::size_t block::face_size(int face) const
{
    triple cells = face_cells(face);
    return static_cast<std::size_t>(variables) * cells[0] * cells[1] * cells[2];
}

void block::pack(int face, std::span<double> to) const
{
    triple first = face_first(face, false);
    triple cells = face_cells(face);
    double* next = to.data();
    for (int k = 0; k < variables; ++k)
        for (int z = 0; z < cells[2]; ++z)
            for (int y = 0; y < cells[1]; ++y) {
                double const* row = w_.data() + k * ghost_volume_ + inside(first[0], first[1] + y, first[2] + z);
                next = std::copy(row, row + cells[0], next);
            }
}

void block::unpack(int face, std::span<double const> from)
{
    triple first = face_first(face, true);
    triple cells = face_cells(face);
    double const* next = from.data();
    for (int k = 0; k < variables; ++k)
        for (int z = 0; z < cells[2]; ++z)
            for (int y = 0; y < cells[1]; ++y) {
                std::copy(next, next + cells[0], w_.data() + k * ghost_volume_ + inside(first[0], first[1] + y, first[2] + z));
                next += cells[0];
            }
}

void block::continue_outwards(int face)
{
    int axis = face / 2;
    int edge = face % 2 == 0 ? 0 : where_.cells[axis] - 1;
    triple first = face_first(face, true);
    triple cells = face_cells(face);
    for (int k = 0; k < variables; ++k)
        for (int z = 0; z < cells[2]; ++z)
            for (int y = 0; y < cells[1]; ++y)
                for (int x = 0; x < cells[0]; ++x) {
                    triple to{first[0] + x, first[1] + y, first[2] + z};
                    triple from = to;
                    from[axis] = edge;
                    double* w = w_.data() + k * ghost_volume_;
                    w[inside(to[0], to[1], to[2])] = w[inside(from[0], from[1], from[2])];
                }
}

sweep_result block::advance(double ratio, bool protect, bool second, sweep_scratch& scratch)
{
    sweep_job job;
    job.cells = where_.cells;
    for (int k = 0; k < variables; ++k) {
        job.w[k] = w_.data() + k * ghost_volume_ + inside(0, 0, 0);
        job.w_new[k] = w_new_.data() + k * ghost_volume_ + inside(0, 0, 0);
        job.u[k] = u_.data() + k * volume_;
        job.v[k] = v_.data() + k * volume_;
    }
    job.ratio = ratio;
    job.gamma = gas_.gamma;
    job.least_density = gas_.least_density;
    job.least_pressure = gas_.least_pressure;
    job.protect = protect;
    job.second = second;
    sweep_result result = sweep_(job, scratch);
    std::swap(w_, w_new_);
    return result;
}

void block::accept()
{
    std::swap(u_, v_);
}

void block::reject()
{
    primitive_from(u_);
}

double block::fastest() const
{
    double fastest = 0;
    for (std::size_t i = 0; i < volume_; ++i) {
        primitive w =
            to_primitive(conserved{{u_[i], u_[volume_ + i], u_[2 * volume_ + i], u_[3 * volume_ + i], u_[4 * volume_ + i]}}, gas_.gamma);
        double speed = std::max({std::abs(w[1]), std::abs(w[2]), std::abs(w[3])}) + std::sqrt(gas_.gamma * w[4] / w[0]);
        fastest = std::max(fastest, speed);
    }
    return fastest;
}

double const* block::row(int variable, int y, int z) const
{
    y -= where_.first[1];
    z -= where_.first[2];
    return u_.data() + variable * volume_ + (static_cast<std::size_t>(z) * where_.cells[1] + y) * where_.cells[0];
}

conserved block::cell(int x, int y, int z) const
{
    conserved u;
    for (int k = 0; k < variables; ++k)
        u[k] = row(k, y, z)[x - where_.first[0]];
    return u;
}

} // namespace blast
