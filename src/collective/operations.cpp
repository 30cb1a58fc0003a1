#include "collective/operations.hpp"
#include "collective/between.hpp"
#include "collective/by_messages.hpp"
#include "collective/over_lanes.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace towline::collective {
namespace {

constexpr char mark = 0;

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

/// An operation by lists can leave its lanes: all its ranks look at all others (lane_builder::give_up).
[[nodiscard]] bool may_leave(schedule const& s, team const& t) noexcept
{
    return t.size() == 2 || s.lanes()->is_tight();
}

// Lists that an operation which leaves its lanes looks at again.

template <class Number>
[[nodiscard]] std::span<Number const> kept(schedule& s, std::span<Number const> list)
{
    auto* const copy = reinterpret_cast<Number*>(s.own_scratch(std::max<std::size_t>(list.size_bytes(), 1)));
    std::ranges::copy(list, copy);
    return {copy, list.size()};
}
[[nodiscard]] layout_of_blocks kept(schedule& s, layout_of_blocks const& blocks)
{
    return blocks.is_listed() ? layout_of_blocks(kept(s, blocks.sizes()), kept(s, blocks.offsets())) : blocks;
}

} // namespace

void const* const in_place = &mark;

void barrier(schedule& s, team const& t)
{
    if (t.is_inter())
        return between::barrier(s, t);
    if (s.lanes() != nullptr && over_lanes::barrier(s, t.is_crowded()))
        return;
    switch (by_messages::for_data(routine::barrier, 0, t)) {
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
        return s.otherwise([=, &t](schedule& again) { by_messages::bcast(again, t, data, bytes, root); });
    by_messages::bcast(s, t, data, bytes, root);
}

void gather(schedule& s, team const& t, void const* send, void* receive, std::uint64_t bytes, int root)
{
    check_root(t, root, "gather");
    layout_of_blocks const blocks(bytes);
    if (t.is_inter())
        return between::gather(s, t, send, bytes, receive, blocks, root);
    if (s.lanes() != nullptr && over_lanes::gather(s, send, receive, bytes, root))
        return s.otherwise([=, &t](schedule& again) { by_messages::gather(again, t, send, receive, bytes, root); });
    by_messages::gather(s, t, send, receive, bytes, root);
}

void scatter(schedule& s, team const& t, void const* send, void* receive, std::uint64_t bytes, int root)
{
    check_root(t, root, "scatter");
    layout_of_blocks const blocks(bytes);
    if (t.is_inter())
        return between::scatter(s, t, send, blocks, receive, bytes, root);
    if (s.lanes() != nullptr && over_lanes::scatter(s, send, receive, bytes, root))
        return s.otherwise([=, &t](schedule& again) { by_messages::scatter(again, t, send, receive, bytes, root); });
    by_messages::scatter(s, t, send, receive, bytes, root);
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
    if (s.lanes() != nullptr && over_lanes::gatherv(s, send, bytes, receive, {counts, offsets}, root)) {
        if (!may_leave(s, t))
            return;
        layout_of_blocks const blocks = root == t.rank() ? kept(s, {counts, offsets}) : layout_of_blocks(0);
        return s.otherwise([=, &t](schedule& again) { algorithms::gather_linear(again, t.here(), send, bytes, receive, blocks, root); });
    }
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
    if (s.lanes() != nullptr && over_lanes::scatterv(s, send, {counts, offsets}, receive, bytes, root)) {
        if (!may_leave(s, t))
            return;
        layout_of_blocks const blocks = root == t.rank() ? kept(s, {counts, offsets}) : layout_of_blocks(0);
        return s.otherwise([=, &t](schedule& again) { algorithms::scatter_linear(again, t.here(), send, blocks, receive, bytes, root); });
    }
    algorithms::scatter_linear(s, t.here(), send, {counts, offsets}, receive, bytes, root);
}

void allgather(schedule& s, team const& t, void const* send, std::uint64_t bytes, void* receive, std::uint64_t receive_bytes)
{
    layout_of_blocks const blocks(receive_bytes);
    if (t.is_inter())
        return between::allgather(s, t, send, bytes, receive, blocks);
    if (s.lanes() != nullptr && over_lanes::allgather(s, send, receive, blocks))
        return s.otherwise([=, &t](schedule& again) { by_messages::allgather(again, t, send, receive, receive_bytes); });
    by_messages::allgather(s, t, send, receive, receive_bytes);
}

void allgatherv(schedule& s, team const& t, void const* send, std::uint64_t bytes, void* receive, sizes counts, sizes offsets)
{
    check_lists(counts, offsets, t.is_inter() ? t.remote_size() : t.size(), "allgatherv");
    layout_of_blocks const blocks(counts, offsets);
    if (t.is_inter())
        return between::allgather(s, t, send, bytes, receive, blocks);
    if (s.lanes() != nullptr && over_lanes::allgather(s, send, receive, blocks)) {
        if (s.lanes()->are_shown(std::ranges::max(counts)))
            return;
        return s.otherwise([=, &t, again_blocks = kept(s, blocks)](schedule& again) {
            by_messages::allgatherv(again, t, send, receive, again_blocks);
        });
    }
    by_messages::allgatherv(s, t, send, receive, blocks);
}

void alltoall(schedule& s, team const& t, void const* send, std::uint64_t bytes, void* receive, std::uint64_t receive_bytes)
{
    layout_of_blocks const sending(bytes);
    layout_of_blocks const receiving(receive_bytes);
    if (t.is_inter())
        return between::alltoall(s, t, send, sending, receive, receiving);
    if (s.lanes() != nullptr && over_lanes::alltoall(s, send, receive, receive_bytes))
        return s.otherwise([=, &t](schedule& again) { by_messages::alltoall(again, t, send, bytes, receive, receive_bytes); });
    by_messages::alltoall(s, t, send, bytes, receive, receive_bytes);
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
    layout_of_blocks const sending(send_counts, send_offsets), receiving(counts, offsets);
    if (s.lanes() != nullptr && over_lanes::alltoallv(s, send, sending, receive, receiving)) {
        if (!may_leave(s, t))
            return;
        return s.otherwise([=, &t, out = kept(s, sending), in = kept(s, receiving)](schedule& again) {
            by_messages::alltoallv(again, t, send, out, receive, in);
        });
    }
    by_messages::alltoallv(s, t, send, sending, receive, receiving);
}

void reduce(schedule& s, team const& t, void const* send, void* receive, std::uint64_t count, combination const& r, int root)
{
    check_root(t, root, "reduce");
    if (t.is_inter())
        return between::reduce(s, t, send, receive, count, r, root);
    if (s.lanes() != nullptr && over_lanes::reduce(s, send, receive, count, r, root))
        return s.otherwise([=, &t](schedule& again) { by_messages::reduce(again, t, send, receive, count, r, root); });
    by_messages::reduce(s, t, send, receive, count, r, root);
}

void allreduce(schedule& s, team const& t, void const* send, void* receive, std::uint64_t count, combination const& r)
{
    if (t.is_inter())
        return between::allreduce(s, t, send, receive, count, r);
    if (s.lanes() != nullptr && over_lanes::allreduce(s, send, receive, count, r, t.is_crowded()))
        return s.otherwise([=, &t](schedule& again) { by_messages::allreduce(again, t, send, receive, count, r); });
    by_messages::allreduce(s, t, send, receive, count, r);
}

namespace {

void reduce_scatter_blocks(schedule& s, team const& t, void const* send, void* receive, layout_of_blocks const& blocks,
                           std::uint64_t total, combination const& r)
{
    if (t.is_inter())
        return between::reduce_scatter(s, t, send, receive, blocks, r);
    if (s.lanes() != nullptr && over_lanes::reduce_scatter(s, send, receive, blocks, total, r)) {
        if (s.lanes()->are_shown(total * r.element))
            return;
        return s.otherwise([=, &t, again_blocks = kept(s, blocks)](schedule& again) {
            by_messages::reduce_scatter(again, t, send, receive, again_blocks, total, r);
        });
    }
    by_messages::reduce_scatter(s, t, send, receive, blocks, total, r);
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
        return s.otherwise([=, &t](schedule& again) { by_messages::scan(again, t, send, receive, count, r); });
    by_messages::scan(s, t, send, receive, count, r);
}

void exscan(schedule& s, team const& t, void const* send, void* receive, std::uint64_t count, combination const& r)
{
    only_intra(t, "exscan");
    if (s.lanes() != nullptr && over_lanes::exscan(s, send, receive, count, r))
        return s.otherwise([=, &t](schedule& again) { by_messages::exscan(again, t, send, receive, count, r); });
    by_messages::exscan(s, t, send, receive, count, r);
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
    if (s.lanes() != nullptr && over_lanes::exchange(s, n, send, sending, receive, receiving)) {
        if (!may_leave(s, t))
            return;
        neighbourhood const with{kept(s, n.sources), kept(s, n.destinations), kept(s, n.receive_order)};
        return s.otherwise([=, out = kept(s, sending), in = kept(s, receiving)](schedule& again) {
            by_messages::exchange(again, with, send, out, receive, in);
        });
    }
    by_messages::exchange(s, n, send, sending, receive, receiving);
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
