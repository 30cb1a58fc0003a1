// Reduce by messages.

#include "collective/messages/accumulator.hpp"
#include "collective/messages/algorithms.hpp"
#include "collective/messages/tree.hpp"

namespace towline::collective::algorithms {

void reduce_binomial(schedule& s, position here, void const* send, void* receive, std::uint64_t count, combination const& r, int root)
{
    if (count == 0)
        return;
    std::uint64_t const bytes = count * r.element;
    int const top = r.commutative ? root : 0;
    binomial_tree const tree(here, top);
    // Not commutative, and not at rank 0: what a root that is not the top gets last is the result.
    bool const is_end = here.rank == root && tree.is_root();
    void const* const own = send == in_place ? receive : send;
    accumulator sum(s, r, count, own, is_end ? receive : nullptr);
    for (int bit = 1; bit < tree.span; bit *= 2) {
        if (!tree.has_child(bit))
            continue;
        s.receive(tree.child(bit), sum.landing(), bytes);
        s.wait();
        sum.take_right();
    }
    if (is_end)
        return sum.finish();
    s.send(tree.is_root() ? root : tree.parent(), sum.value(), bytes);
    s.wait();
    if (here.rank == root) {
        s.receive(top, receive, bytes);
        s.wait();
    }
}

void reduce_scatter_gather(schedule& s, position here, void const* send, void* receive, std::uint64_t count, combination const& r, int root)
{
    if (count == 0)
        return;
    auto const p = static_cast<std::uint64_t>(here.size);
    std::vector<std::uint64_t> counts;
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint64_t> sizes;
    std::vector<std::uint64_t> places;
    for (std::uint64_t i = 0; i < p; ++i) {
        offsets.push_back(count / p * i + count % p * i / p);
        counts.push_back(count / p * (i + 1) + count % p * (i + 1) / p - offsets.back());
        sizes.push_back(counts.back() * r.element);
        places.push_back(offsets.back() * r.element);
    }
    layout_of_blocks const elements(counts, offsets);
    layout_of_blocks const blocks(sizes, places);
    std::uint64_t const mine = blocks.size(here.rank);
    std::byte* const part = s.scratch(mine);
    reduce_scatter_pairwise(s, here, send == in_place ? receive : send, part, elements, r);
    gather_linear(s, here, part, mine, receive, blocks, root);
}

} // namespace towline::collective::algorithms
