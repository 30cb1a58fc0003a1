#include "collective/operations.hpp"
#include "collective/between.hpp"
#include "collective/choice.hpp"
#include "collective/over_lanes.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <numeric>
#include <vector>

namespace towline::collective {
namespace {

constexpr char mark = 0;
/// Messages each way that a windowed exchange has under way.
constexpr int window = 16;

void check_root(team const& t, int root, char const* what)
{
    if (t.is_inter() ? (root != root_is_here && root != root_is_beside && (root < 0 || root >= t.remote_size()))
                     : (root < 0 || root >= t.size()))
        throw usage_error(fmt::format("{}: {} is no rank of {}", what, root, t.is_inter() ? t.remote_size() : t.size()));
}

void only_intra(team const& t, char const* what)
{
    if (t.is_inter())
        throw usage_error(fmt::format("{}: there is no such operation between two groups", what));
}

void check_lists(sizes counts, sizes offsets, int ranks, char const* what)
{
    auto const n = static_cast<std::size_t>(ranks);
    if (counts.size() != n || offsets.size() != n)
        throw usage_error(fmt::format("{}: {} counts and {} offsets for {} ranks", what, counts.size(), offsets.size(), ranks));
}

[[nodiscard]] algorithm for_data(routine what, std::uint64_t bytes, team const& t)
{
    return choose({.what = what, .bytes = bytes, .ranks = t.size(), .crowded = t.is_crowded()});
}

[[nodiscard]] algorithm for_reduction(routine what, std::uint64_t count, combination const& r, team const& t)
{
    return choose({.what = what, .bytes = count * r.element, .ranks = t.size(), .commutative = r.commutative, .elements = count,
                   .crowded = t.is_crowded(), .in_order = t.combines_in_order()});
}

} // namespace

void const* const in_place = &mark;

void barrier(schedule& s, team const& t)
{
    if (t.is_inter())
        return between::barrier(s, t);
    if (s.lanes() != nullptr && over_lanes::barrier(s, t.is_crowded()))
        return;
    switch (for_data(routine::barrier, 0, t)) {
    case algorithm::linear: return algorithms::barrier_linear(s, t.here());
    case algorithm::tree: return algorithms::barrier_tree(s, t.here());
    default: return algorithms::barrier_dissemination(s, t.here());
    }
}

void bcast(schedule& s, team const& t, void* data, std::uint64_t bytes, int root)
{
    check_root(t, root, "bcast");
    if (t.is_inter())
        return between::bcast(s, t, data, bytes, root);
    if (s.lanes() != nullptr && over_lanes::bcast(s, data, bytes, root))
        return;
    if (for_data(routine::bcast, bytes, t) == algorithm::scatter_ring)
        return algorithms::bcast_scatter_ring(s, t.here(), data, bytes, root);
    algorithms::bcast_binomial(s, t.here(), data, bytes, root);
}

void gather(schedule& s, team const& t, void const* send, void* receive, std::uint64_t bytes, int root)
{
    check_root(t, root, "gather");
    layout_of_blocks const blocks(bytes);
    if (t.is_inter())
        return between::gather(s, t, send, bytes, receive, blocks, root);
    if (s.lanes() != nullptr && over_lanes::gather(s, send, receive, bytes, root))
        return;
    if (for_data(routine::gather, bytes, t) == algorithm::binomial)
        return algorithms::gather_binomial(s, t.here(), send, bytes, receive, root);
    algorithms::gather_linear(s, t.here(), send, bytes, receive, blocks, root);
}

void scatter(schedule& s, team const& t, void const* send, void* receive, std::uint64_t bytes, int root)
{
    check_root(t, root, "scatter");
    layout_of_blocks const blocks(bytes);
    if (t.is_inter())
        return between::scatter(s, t, send, blocks, receive, bytes, root);
    if (s.lanes() != nullptr && over_lanes::scatter(s, send, receive, bytes, root))
        return;
    if (for_data(routine::scatter, bytes, t) == algorithm::binomial)
        return algorithms::scatter_binomial(s, t.here(), send, receive, bytes, root);
    algorithms::scatter_linear(s, t.here(), send, blocks, receive, bytes, root);
}

void gatherv(schedule& s, team const& t, void const* send, std::uint64_t bytes, void* receive, sizes counts, sizes offsets, int root)
{
    check_root(t, root, "gatherv");
    if (t.is_inter()) {
        if (root == root_is_here)
            check_lists(counts, offsets, t.remote_size(), "gatherv");
        return between::gather(s, t, send, bytes, receive, {counts, offsets}, root);
    }
    if (root == t.rank())
        check_lists(counts, offsets, t.size(), "gatherv");
    if (s.lanes() != nullptr && over_lanes::gatherv(s, send, bytes, receive, {counts, offsets}, root))
        return;
    algorithms::gather_linear(s, t.here(), send, bytes, receive, {counts, offsets}, root);
}

void scatterv(schedule& s, team const& t, void const* send, sizes counts, sizes offsets, void* receive, std::uint64_t bytes, int root)
{
    check_root(t, root, "scatterv");
    if (t.is_inter()) {
        if (root == root_is_here)
            check_lists(counts, offsets, t.remote_size(), "scatterv");
        return between::scatter(s, t, send, {counts, offsets}, receive, bytes, root);
    }
    if (root == t.rank())
        check_lists(counts, offsets, t.size(), "scatterv");
    if (s.lanes() != nullptr && over_lanes::scatterv(s, send, {counts, offsets}, receive, bytes, root))
        return;
    algorithms::scatter_linear(s, t.here(), send, {counts, offsets}, receive, bytes, root);
}

void allgather(schedule& s, team const& t, void const* send, std::uint64_t bytes, void* receive, std::uint64_t receive_bytes)
{
    layout_of_blocks const blocks(receive_bytes);
    if (t.is_inter())
        return between::allgather(s, t, send, bytes, receive, blocks);
    if (s.lanes() != nullptr && over_lanes::allgather(s, send, receive, blocks))
        return;
    switch (for_data(routine::allgather, receive_bytes, t)) {
    case algorithm::doubling:
        return algorithms::allgather_doubling(s, t.here(), send, receive, receive_bytes);
    case algorithm::bruck:
        return algorithms::allgather_bruck(s, t.here(), send, receive, blocks);
    default:
        return algorithms::allgather_ring(s, t.here(), send, receive, blocks);
    }
}

void allgatherv(schedule& s, team const& t, void const* send, std::uint64_t bytes, void* receive, sizes counts, sizes offsets)
{
    check_lists(counts, offsets, t.is_inter() ? t.remote_size() : t.size(), "allgatherv");
    layout_of_blocks const blocks(counts, offsets);
    if (t.is_inter())
        return between::allgather(s, t, send, bytes, receive, blocks);
    if (s.lanes() != nullptr && over_lanes::allgather(s, send, receive, blocks))
        return;
    std::uint64_t const total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    if (for_data(routine::allgatherv, total, t) == algorithm::bruck)
        return algorithms::allgather_bruck(s, t.here(), send, receive, blocks);
    algorithms::allgather_ring(s, t.here(), send, receive, blocks);
}

void alltoall(schedule& s, team const& t, void const* send, std::uint64_t bytes, void* receive, std::uint64_t receive_bytes)
{
    layout_of_blocks const sending(bytes);
    layout_of_blocks const receiving(receive_bytes);
    if (t.is_inter())
        return between::alltoall(s, t, send, sending, receive, receiving);
    if (s.lanes() != nullptr && over_lanes::alltoall(s, send, receive, receive_bytes))
        return;
    auto const use = for_data(routine::alltoall, receive_bytes, t);
    if (use == algorithm::bruck)
        return algorithms::alltoall_bruck(s, t.here(), send, receive, receive_bytes);
    algorithms::alltoall_pairwise(s, t.here(), send, sending, receive, receiving, use == algorithm::pairwise ? 1 : window);
}

void alltoallv(schedule& s, team const& t, void const* send, sizes send_counts, sizes send_offsets, void* receive, sizes counts,
               sizes offsets)
{
    int const ranks = t.is_inter() ? t.remote_size() : t.size();
    if (send != in_place)
        check_lists(send_counts, send_offsets, ranks, "alltoallv");
    check_lists(counts, offsets, ranks, "alltoallv");
    if (t.is_inter())
        return between::alltoall(s, t, send, {send_counts, send_offsets}, receive, {counts, offsets});
    if (s.lanes() != nullptr && over_lanes::alltoallv(s, send, {send_counts, send_offsets}, receive, {counts, offsets}))
        return;
    auto const use = for_data(routine::alltoallv, 0, t);
    algorithms::alltoall_pairwise(s, t.here(), send, {send_counts, send_offsets}, receive, {counts, offsets},
                                  use == algorithm::pairwise ? 1 : window);
}

void reduce(schedule& s, team const& t, void const* send, void* receive, std::uint64_t count, combination const& r, int root)
{
    check_root(t, root, "reduce");
    if (t.is_inter())
        return between::reduce(s, t, send, receive, count, r, root);
    if (s.lanes() != nullptr && over_lanes::reduce(s, send, receive, count, r, root))
        return;
    switch (for_reduction(routine::reduce, count, r, t)) {
    case algorithm::direct: return algorithms::reduce_direct(s, t.here(), send, receive, count, r, root);
    case algorithm::scatter_gather: return algorithms::reduce_scatter_gather(s, t.here(), send, receive, count, r, root);
    default: return algorithms::reduce_binomial(s, t.here(), send, receive, count, r, root);
    }
}

void allreduce(schedule& s, team const& t, void const* send, void* receive, std::uint64_t count, combination const& r)
{
    if (t.is_inter())
        return between::allreduce(s, t, send, receive, count, r);
    if (s.lanes() != nullptr && over_lanes::allreduce(s, send, receive, count, r, t.is_crowded()))
        return;
    switch (for_reduction(routine::allreduce, count, r, t)) {
    case algorithm::direct: return algorithms::allreduce_direct(s, t.here(), send, receive, count, r);
    case algorithm::binomial:  // the fewest messages
        algorithms::reduce_binomial(s, t.here(), send, receive, count, r, 0);
        return algorithms::bcast_binomial(s, t.here(), receive, count * r.element, 0);
    case algorithm::rabenseifner: return algorithms::allreduce_rabenseifner(s, t.here(), send, receive, count, r);
    default: return algorithms::allreduce_doubling(s, t.here(), send, receive, count, r);
    }
}

namespace {

void reduce_scatter_blocks(schedule& s, team const& t, void const* send, void* receive, layout_of_blocks const& blocks,
                           std::uint64_t total, combination const& r)
{
    if (t.is_inter())
        return between::reduce_scatter(s, t, send, receive, blocks, r);
    if (s.lanes() != nullptr && over_lanes::reduce_scatter(s, send, receive, blocks, total, r))
        return;
    switch (for_reduction(routine::reduce_scatter, total, r, t)) {
    case algorithm::halving:
        return algorithms::reduce_scatter_halving(s, t.here(), send, receive, blocks, r);
    case algorithm::pairwise:
        return algorithms::reduce_scatter_pairwise(s, t.here(), send, receive, blocks, r);
    default:
        return algorithms::reduce_scatter_direct(s, t.here(), send, receive, blocks, r);
    }
}

} // namespace

void reduce_scatter_block(schedule& s, team const& t, void const* send, void* receive, std::uint64_t count, combination const& r)
{
    reduce_scatter_blocks(s, t, send, receive, layout_of_blocks(count), count * static_cast<std::uint64_t>(t.size()), r);
}

void reduce_scatter(schedule& s, team const& t, void const* send, void* receive, sizes counts, combination const& r)
{
    check_lists(counts, counts, t.size(), "reduce_scatter");
    std::vector<std::uint64_t> offsets;
    std::uint64_t total = 0;
    for (std::uint64_t const c : counts) {
        offsets.push_back(total);
        total += c;
    }
    reduce_scatter_blocks(s, t, send, receive, {counts, offsets}, total, r);
}

void scan(schedule& s, team const& t, void const* send, void* receive, std::uint64_t count, combination const& r)
{
    only_intra(t, "scan");
    if (s.lanes() != nullptr && over_lanes::scan(s, send, receive, count, r))
        return;
    if (for_reduction(routine::scan, count, r, t) == algorithm::direct)
        return algorithms::scan_direct(s, t.here(), send, receive, count, r);
    algorithms::scan_doubling(s, t.here(), send, receive, count, r);
}

void exscan(schedule& s, team const& t, void const* send, void* receive, std::uint64_t count, combination const& r)
{
    only_intra(t, "exscan");
    if (s.lanes() != nullptr && over_lanes::exscan(s, send, receive, count, r))
        return;
    if (for_reduction(routine::scan, count, r, t) == algorithm::direct)
        return algorithms::exscan_direct(s, t.here(), send, receive, count, r);
    algorithms::exscan_doubling(s, t.here(), send, receive, count, r);
}

namespace {

void exchange(schedule& s, team const& t, neighbourhood const& n, void const* send, layout_of_blocks const& sending, void* receive,
              layout_of_blocks const& receiving, char const* what)
{
    only_intra(t, what);
    if (!n.receive_order.empty() && n.receive_order.size() != n.sources.size())
        throw usage_error(fmt::format("{}: an order of {} for {} sources", what, n.receive_order.size(), n.sources.size()));
    for (auto const list : {n.sources, n.destinations}) {
        for (int const rank : list) {
            if (rank >= t.size())
                throw usage_error(fmt::format("{}: {} is no rank of {}", what, rank, t.size()));
        }
    }
    for (int const at : n.receive_order) {
        if (at < 0 || static_cast<std::size_t>(at) >= n.sources.size())
            throw usage_error(fmt::format("{}: {} in the order of {} sources", what, at, n.sources.size()));
    }
    if (s.lanes() != nullptr && over_lanes::exchange(s, n, send, sending, receive, receiving))
        return;
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

} // namespace

void neighbour_allgather(schedule& s, team const& t, neighbourhood const& n, void const* send, std::uint64_t bytes, void* receive,
                         std::uint64_t receive_bytes)
{
    std::vector<std::uint64_t> const counts(n.destinations.size(), bytes);
    std::vector<std::uint64_t> const offsets(n.destinations.size(), 0);
    exchange(s, t, n, send, {counts, offsets}, receive, layout_of_blocks(receive_bytes), "neighbour_allgather");
}

void neighbour_allgatherv(schedule& s, team const& t, neighbourhood const& n, void const* send, std::uint64_t bytes, void* receive,
                          sizes counts, sizes offsets)
{
    check_lists(counts, offsets, static_cast<int>(n.sources.size()), "neighbour_allgatherv");
    std::vector<std::uint64_t> const send_counts(n.destinations.size(), bytes);
    std::vector<std::uint64_t> const send_offsets(n.destinations.size(), 0);
    exchange(s, t, n, send, {send_counts, send_offsets}, receive, {counts, offsets}, "neighbour_allgatherv");
}

void neighbour_alltoall(schedule& s, team const& t, neighbourhood const& n, void const* send, std::uint64_t bytes, void* receive,
                        std::uint64_t receive_bytes)
{
    exchange(s, t, n, send, layout_of_blocks(bytes), receive, layout_of_blocks(receive_bytes), "neighbour_alltoall");
}

void neighbour_alltoallv(schedule& s, team const& t, neighbourhood const& n, void const* send, sizes send_counts, sizes send_offsets,
                         void* receive, sizes counts, sizes offsets)
{
    check_lists(send_counts, send_offsets, static_cast<int>(n.destinations.size()), "neighbour_alltoallv");
    check_lists(counts, offsets, static_cast<int>(n.sources.size()), "neighbour_alltoallv");
    exchange(s, t, n, send, {send_counts, send_offsets}, receive, {counts, offsets}, "neighbour_alltoallv");
}

} // namespace towline::collective
