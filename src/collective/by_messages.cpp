#include "collective/by_messages.hpp"

#include "collective/operations.hpp"

namespace towline::collective::by_messages {
namespace {

[[nodiscard]] algorithm for_reduction(routine what, std::uint64_t count, combination const& r, team const& t)
{
    return choose({.what = what, .bytes = count * r.element, .ranks = t.size(), .commutative = r.commutative, .elements = count,
                   .crowded = t.is_crowded(), .in_order = t.combines_in_order()});
}

} // namespace

void bcast(schedule& s, team const& t, void* data, std::uint64_t bytes, int root)
{
    if (for_data(routine::bcast, bytes, t) == algorithm::scatter_ring)
        return algorithms::bcast_scatter_ring(s, t.here(), data, bytes, root);
    algorithms::bcast_binomial(s, t.here(), data, bytes, root);
}

void gather(schedule& s, team const& t, void const* send, void* receive, std::uint64_t bytes, int root)
{
    if (for_data(routine::gather, bytes, t) == algorithm::binomial)
        return algorithms::gather_binomial(s, t.here(), send, bytes, receive, root);
    algorithms::gather_linear(s, t.here(), send, bytes, receive, layout_of_blocks(bytes), root);
}

void scatter(schedule& s, team const& t, void const* send, void* receive, std::uint64_t bytes, int root)
{
    if (for_data(routine::scatter, bytes, t) == algorithm::binomial)
        return algorithms::scatter_binomial(s, t.here(), send, receive, bytes, root);
    algorithms::scatter_linear(s, t.here(), send, layout_of_blocks(bytes), receive, bytes, root);
}

void allgather(schedule& s, team const& t, void const* send, void* receive, std::uint64_t bytes)
{
    layout_of_blocks const blocks(bytes);
    switch (for_data(routine::allgather, bytes, t)) {
    case algorithm::doubling:
        return algorithms::allgather_doubling(s, t.here(), send, receive, bytes);
    case algorithm::bruck:
        return algorithms::allgather_bruck(s, t.here(), send, receive, blocks);
    default:
        return algorithms::allgather_ring(s, t.here(), send, receive, blocks);
    }
}

void allgatherv(schedule& s, team const& t, void const* send, void* receive, layout_of_blocks const& blocks)
{
    std::uint64_t total = 0;
    for (int r = 0; r < t.size(); ++r)
        total += blocks.size(r);
    if (for_data(routine::allgatherv, total, t) == algorithm::bruck)
        return algorithms::allgather_bruck(s, t.here(), send, receive, blocks);
    algorithms::allgather_ring(s, t.here(), send, receive, blocks);
}

void alltoall(schedule& s, team const& t, void const* send, std::uint64_t bytes, void* receive, std::uint64_t receive_bytes)
{
    auto const use = for_data(routine::alltoall, receive_bytes, t);
    if (use == algorithm::bruck)
        return algorithms::alltoall_bruck(s, t.here(), send, receive, receive_bytes);
    algorithms::alltoall_pairwise(s, t.here(), send, layout_of_blocks(bytes), receive, layout_of_blocks(receive_bytes),
                                  use == algorithm::pairwise ? 1 : window);
}

void alltoallv(schedule& s, team const& t, void const* send, layout_of_blocks const& sending, void* receive,
               layout_of_blocks const& receiving)
{
    auto const use = for_data(routine::alltoallv, 0, t);
    algorithms::alltoall_pairwise(s, t.here(), send, sending, receive, receiving, use == algorithm::pairwise ? 1 : window);
}

void exchange(schedule& s, neighbourhood const& n, void const* send, layout_of_blocks const& sending, void* receive,
              layout_of_blocks const& receiving)
{
    for (std::size_t i = 0; i < n.sources.size(); ++i) {
        int const at = n.receive_order.empty() ? static_cast<int>(i) : n.receive_order[i];
        if (int const from = n.sources[static_cast<std::size_t>(at)]; from >= 0)
            s.receive(from, receiving.at(receive, at), receiving.size(at));
    }
    for (std::size_t i = 0; i < n.destinations.size(); ++i) {
        int const at = static_cast<int>(i);
        if (int const to = n.destinations[i]; to >= 0)
            s.send(to, sending.at(send, at), sending.size(at));
    }
    s.wait();
}

void reduce(schedule& s, team const& t, void const* send, void* receive, std::uint64_t count, combination const& r, int root)
{
    switch (for_reduction(routine::reduce, count, r, t)) {
    case algorithm::direct: return algorithms::reduce_direct(s, t.here(), send, receive, count, r, root);
    case algorithm::scatter_gather: return algorithms::reduce_scatter_gather(s, t.here(), send, receive, count, r, root);
    default: return algorithms::reduce_binomial(s, t.here(), send, receive, count, r, root);
    }
}

void allreduce(schedule& s, team const& t, void const* send, void* receive, std::uint64_t count, combination const& r)
{
    switch (for_reduction(routine::allreduce, count, r, t)) {
    case algorithm::direct: return algorithms::allreduce_direct(s, t.here(), send, receive, count, r);
    case algorithm::binomial:  // the fewest messages
        algorithms::reduce_binomial(s, t.here(), send, receive, count, r, 0);
        return algorithms::bcast_binomial(s, t.here(), receive, count * r.element, 0);
    case algorithm::rabenseifner: return algorithms::allreduce_rabenseifner(s, t.here(), send, receive, count, r);
    default: return algorithms::allreduce_doubling(s, t.here(), send, receive, count, r);
    }
}

void reduce_scatter(schedule& s, team const& t, void const* send, void* receive, layout_of_blocks const& blocks,
                                std::uint64_t total, combination const& r)
{
    switch (for_reduction(routine::reduce_scatter, total, r, t)) {
    case algorithm::halving:
        return algorithms::reduce_scatter_halving(s, t.here(), send, receive, blocks, r);
    case algorithm::pairwise:
        return algorithms::reduce_scatter_pairwise(s, t.here(), send, receive, blocks, r);
    default:
        return algorithms::reduce_scatter_direct(s, t.here(), send, receive, blocks, r);
    }
}

void scan(schedule& s, team const& t, void const* send, void* receive, std::uint64_t count, combination const& r)
{
    if (for_reduction(routine::scan, count, r, t) == algorithm::direct)
        return algorithms::scan_direct(s, t.here(), send, receive, count, r);
    algorithms::scan_doubling(s, t.here(), send, receive, count, r);
}

void exscan(schedule& s, team const& t, void const* send, void* receive, std::uint64_t count, combination const& r)
{
    if (for_reduction(routine::scan, count, r, t) == algorithm::direct)
        return algorithms::exscan_direct(s, t.here(), send, receive, count, r);
    algorithms::exscan_doubling(s, t.here(), send, receive, count, r);
}

} // namespace towline::collective::by_messages
