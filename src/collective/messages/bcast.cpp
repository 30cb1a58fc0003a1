// Broadcast by messages.

#include "collective/messages/algorithms.hpp"
#include "collective/messages/tree.hpp"

#include <algorithm>

namespace towline::collective::algorithms {

void bcast_binomial(schedule& s, position here, void* data, std::uint64_t bytes, int root)
{
    if (bytes == 0)
        return;
    binomial_tree const tree(here, root);
    if (!tree.is_root()) {
        s.receive(tree.parent(), data, bytes);
        s.wait();
    }
    for (int bit = tree.span / 2; bit > 0; bit /= 2) {
        if (tree.has_child(bit))
            s.send(tree.child(bit), data, bytes);
    }
    s.wait();
}

void bcast_scatter_ring(schedule& s, position here, void* data, std::uint64_t bytes, int root)
{
    if (bytes == 0)
        return;
    binomial_tree const tree(here, root);
    auto const p = static_cast<std::uint64_t>(here.size);
    // Whole cache lines, so that no line is written by two.
    std::uint64_t const each = ((bytes + p - 1) / p + 63) & ~std::uint64_t{63};
    auto const begin = [&](int number) { return std::min(bytes, each * static_cast<std::uint64_t>(number)); };
    auto const part = [&](int first, int behind) {
        struct range {
            std::byte* at;
            std::uint64_t size;
        };
        return range{static_cast<std::byte*>(data) + begin(first), begin(behind) - begin(first)};
    };
    if (!tree.is_root()) {
        auto const mine = part(tree.turned, tree.turned + tree.subtree);
        s.receive(tree.parent(), mine.at, mine.size);
        s.wait();
    }
    for (int bit = tree.span / 2; bit > 0; bit /= 2) {
        if (!tree.has_child(bit))
            continue;
        auto const theirs = part(tree.turned + bit, tree.turned + bit + tree.below(bit));
        s.send(tree.child(bit), theirs.at, theirs.size);
    }
    s.wait();
    position const ring{tree.turned, here.size};
    for (int i = 0; i + 1 < here.size; ++i) {
        int const out = ring.around(-i);
        int const in = ring.around(-i - 1);
        auto const incoming = part(in, in + 1);
        auto const outgoing = part(out, out + 1);
        s.receive(tree.rank_of(ring.around(-1)), incoming.at, incoming.size);
        s.send(tree.rank_of(ring.around(1)), outgoing.at, outgoing.size);
        s.wait();
    }
}

} // namespace towline::collective::algorithms
