// Barriers by messages.

#include "collective/messages/algorithms.hpp"
#include "collective/messages/tree.hpp"

namespace towline::collective::algorithms {

void barrier_dissemination(schedule& s, position here)
{
    for (int distance = 1; distance < here.size; distance *= 2) {
        s.receive(here.around(-distance), nullptr, 0);
        s.send(here.around(distance), nullptr, 0);
        s.wait();
    }
}

void barrier_linear(schedule& s, position here)
{
    if (here.rank != 0) {
        s.send(0, nullptr, 0);
        s.receive(0, nullptr, 0);
        return s.wait();
    }
    for (int r = 1; r < here.size; ++r)
        s.receive(r, nullptr, 0);
    s.wait();
    for (int r = 1; r < here.size; ++r)
        s.send(r, nullptr, 0);
    s.wait();
}

void arrive(schedule& s, position here)
{
    binomial_tree const tree(here, 0);
    for (int bit = tree.span / 2; bit > 0; bit /= 2) {
        if (tree.has_child(bit))
            s.receive(tree.child(bit), nullptr, 0);
    }
    s.wait();
    if (tree.is_root())
        return;
    s.send(tree.parent(), nullptr, 0);
    s.wait();
}

void leave(schedule& s, position here)
{
    binomial_tree const tree(here, 0);
    if (!tree.is_root()) {
        s.receive(tree.parent(), nullptr, 0);
        s.wait();
    }
    for (int bit = tree.span / 2; bit > 0; bit /= 2) {
        if (tree.has_child(bit))
            s.send(tree.child(bit), nullptr, 0);
    }
    s.wait();
}

} // namespace towline::collective::algorithms
