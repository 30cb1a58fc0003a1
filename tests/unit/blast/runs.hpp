#pragma once
// Runs of the blast in one process, for the tests beside.

#include "deck.hpp"
#include "direct_exchange.hpp"
#include "solver.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace blast::test {

using start_state = std::function<primitive(int, int, int)>;

/// A deck of the usual blast: shock at radius 1 at time 1, boundary at 1.2.
inline deck small_deck(int cells, double end_time)
{
    deck d;
    d.cells = cells;
    d.edge = 2.4;
    d.end_time = end_time;
    d.deposit_radius = 1.7;
    return d;
}

inline start_state start_of(deck const& d)
{
    return [d](int x, int y, int z) { return d.initial(x, y, z); };
}

struct run {
    run(solver_settings const& settings, int blocks, start_state const& at, sweep_function* sweep = best_sweep())
        : cut(settings.cells, blocks), others(cut), s(settings, cut, others, sweep)
    {
        s.start(at);
    }

    void until(double end)
    {
        while (time < end)
            time += s.step(end - time);
    }

    conserved cell(int x, int y, int z) const
    {
        for (block const& b : s.blocks()) {
            box const& w = b.where();
            triple p{x, y, z};
            bool inside = true;
            for (int axis = 0; axis < 3; ++axis)
                inside = inside && p[axis] >= w.first[axis] && p[axis] < w.first[axis] + w.cells[axis];
            if (inside)
                return b.cell(x, y, z);
        }
        ADD_FAILURE() << "no block has the cell " << x << ", " << y << ", " << z;
        return {};
    }

    layout cut;
    direct_exchange others;
    solver s;
    double time = 0;
};

} // namespace blast::test
