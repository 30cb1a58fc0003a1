// Turns a call into the algorithm that was chosen for it.

#include "collective/operations.hpp"

#include "collective/messages/algorithms.hpp"

#include <vector>

namespace towline::collective::by_messages {
namespace {

using namespace algorithms;

/// Messages each way that a windowed exchange has under way.
constexpr int window = 16;

void exchange(schedule& s, call const& c)
{
    neighbourhood const& n = c.with;
    for (std::size_t i = 0; i < n.sources.size(); ++i) {
        int const at = n.receive_order.empty() ? static_cast<int>(i) : n.receive_order[i];
        if (int const from = n.sources[static_cast<std::size_t>(at)]; from >= 0)
            s.receive(from, c.receiving.at(c.receive, at), c.receiving.size(at));
    }
    for (std::size_t i = 0; i < n.destinations.size(); ++i) {
        int const at = static_cast<int>(i);
        if (int const to = n.destinations[i]; to >= 0)
            s.send(to, c.sending.at(c.send, at), c.sending.size(at));
    }
    s.wait();
}

void reduce_scatter(schedule& s, members const& m, call const& c, algorithm use)
{
    std::vector<std::uint64_t> offsets;
    layout_of_blocks blocks = c.receiving;
    if (blocks.is_listed()) {
        for (int r = 0; r < m.here.size; ++r)
            offsets.push_back(c.receiving.total(r));
        blocks = {c.receiving.sizes(), offsets};
    }
    switch (use) {
    case algorithm::halving: return reduce_scatter_halving(s, m.here, c.send, c.receive, blocks, c.how);
    case algorithm::pairwise: return reduce_scatter_pairwise(s, m.here, c.send, c.receive, blocks, c.how);
    default: return reduce_scatter_direct(s, m.here, c.send, c.receive, blocks, c.how);
    }
}

} // namespace

void build(schedule& s, members const& m, call const& c, algorithm use)
{
    position const here = m.here;
    switch (c.what) {
    case routine::nothing: return;
    case routine::barrier:
        return (use == algorithm::linear ? barrier_linear : barrier_dissemination)(s, here);
    case routine::bcast:
        return (use == algorithm::scatter_ring ? bcast_scatter_ring : bcast_binomial)(s, here, c.receive, c.bytes, c.root);
    case routine::gather:
        if (use == algorithm::binomial)
            return gather_binomial(s, here, c.send, c.bytes, c.receive, c.root);
        [[fallthrough]];
    case routine::gatherv: return gather_linear(s, here, c.send, c.bytes, c.receive, c.receiving, c.root);
    case routine::scatter:
        if (use == algorithm::binomial)
            return scatter_binomial(s, here, c.send, c.receive, c.bytes, c.root);
        [[fallthrough]];
    case routine::scatterv: return scatter_linear(s, here, c.send, c.sending, c.receive, c.bytes, c.root);
    case routine::allgather:
        if (use == algorithm::doubling)
            return allgather_doubling(s, here, c.send, c.receive, c.receiving.size(0));
        [[fallthrough]];
    case routine::allgatherv:
        return (use == algorithm::bruck ? allgather_bruck : allgather_ring)(s, here, c.send, c.receive, c.receiving);
    case routine::alltoall:
        if (use == algorithm::bruck)
            return alltoall_bruck(s, here, c.send, c.receive, c.receiving.size(0));
        [[fallthrough]];
    case routine::alltoallv:
        return alltoall_pairwise(s, here, c.send, c.sending, c.receive, c.receiving, use == algorithm::pairwise ? 1 : window);
    case routine::reduce: {
        auto const run = use == algorithm::direct           ? reduce_direct
                         : use == algorithm::scatter_gather ? reduce_scatter_gather
                                                            : reduce_binomial;
        return run(s, here, c.send, c.receive, c.bytes, c.how, c.root);
    }
    case routine::allreduce:
        switch (use) {
        case algorithm::direct: return allreduce_direct(s, here, c.send, c.receive, c.bytes, c.how);
        case algorithm::binomial:  // the fewest messages
            reduce_binomial(s, here, c.send, c.receive, c.bytes, c.how, 0);
            return bcast_binomial(s, here, c.receive, c.bytes * c.how.element, 0);
        case algorithm::rabenseifner: return allreduce_rabenseifner(s, here, c.send, c.receive, c.bytes, c.how);
        default: return allreduce_doubling(s, here, c.send, c.receive, c.bytes, c.how);
        }
    case routine::reduce_scatter: return reduce_scatter(s, m, c, use);
    case routine::scan:
        return (use == algorithm::direct ? scan_direct : scan_doubling)(s, here, c.send, c.receive, c.bytes, c.how);
    case routine::exscan:
        return (use == algorithm::direct ? exscan_direct : exscan_doubling)(s, here, c.send, c.receive, c.bytes, c.how);
    case routine::exchange: return exchange(s, c);
    }
}

} // namespace towline::collective::by_messages
