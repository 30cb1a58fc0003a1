// The operations of teams: what their rows must be, and which steps they are.

#include "collective/operations.hpp"
#include "remote/runtime.hpp"
#include "remote/team_core.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace towline::detail {
namespace {

using op = team_operation;

[[nodiscard]] bool has_root(op what) noexcept
{
    return what == op::broadcast || what == op::gather || what == op::scatter || what == op::reduce;
}

[[noreturn]] void throw_sizes(op what, std::size_t in, std::size_t out, std::string_view rule)
{
    throw usage_error(fmt::format("{}: {} elements go in and {} come out: {}", name_of(what), in, out, rule));
}

[[nodiscard]] std::uint64_t sum(std::span<std::size_t const> counts)
{
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

void check_list(op what, std::span<std::size_t const> counts, std::size_t blocks, std::size_t row, char const* whose)
{
    if (counts.size() != blocks)
        throw usage_error(fmt::format("{}: there are {} counts, and {} blocks {}", name_of(what), counts.size(), blocks, whose));
    if (sum(counts) != row)
        throw usage_error(fmt::format("{}: the counts of the blocks {} are {} elements together, and the row has {}", name_of(what), whose,
                                      sum(counts), row));
}

/// Blocks of a row, in bytes: sizes, and where they begin.
struct listed {
    std::vector<std::uint64_t> sizes, offsets;

    listed(std::span<std::size_t const> counts, std::size_t element)
    {
        std::uint64_t at = 0;
        for (std::size_t const n : counts) {
            sizes.push_back(n * element);
            offsets.push_back(at);
            at += n * element;
        }
    }
};

/// Combines elements of c.
[[nodiscard]] collective::combination combination_of(team_call const& c)
{
    return {c.combine.apply, c.combine.context, c.element, c.combine.commutative, c.combine.join};
}

} // namespace

void team_core::check(team_call const& c) const
{
    if (!ground_.owner().active())
        throw usage_error(fmt::format("{}: the world has ended", name_of(c.what)));
    if (has_root(c.what) && (c.root < 0 || c.root >= size()))
        throw usage_error(fmt::format("{}: the root is {}, which is no rank of a team of {}", name_of(c.what), c.root, size()));
}

std::optional<usage_error> team_core::find_unfit(team_call const& c) const
{
    try {
        c.by_counts ? check_counts(c) : check_rows(c);
    } catch (usage_error const& why) {
        return why;
    }
    return std::nullopt;
}

void team_core::check_rows(team_call const& c) const
{
    auto const n = static_cast<std::size_t>(size());
    bool const is_root = c.root == rank();
    switch (c.what) {
    case op::barrier:
    case op::broadcast: return;
    case op::gather:
        if (is_root && c.receive_size != c.send_size * n)
            throw_sizes(c.what, c.send_size, c.receive_size, fmt::format("the root of a team of {} gets {} times as many", n, n));
        return;
    case op::scatter:
        if (is_root && c.send_size != c.receive_size * n)
            throw_sizes(c.what, c.send_size, c.receive_size, fmt::format("the root of a team of {} has {} times as many", n, n));
        return;
    case op::all_gather:
        if (c.in_place ? c.receive_size % n != 0 : c.receive_size != c.send_size * n)
            throw_sizes(c.what, c.in_place ? c.receive_size : c.send_size, c.receive_size, fmt::format("each of {} ranks has as many", n));
        return;
    case op::all_to_all:
        if (c.send_size != c.receive_size || c.send_size % n != 0)
            throw_sizes(c.what, c.send_size, c.receive_size,
                        fmt::format("as many as go in come out, a block of the same size for each of {} ranks", n));
        return;
    case op::reduce_scatter:
        if (c.send_size != c.receive_size * n)
            throw_sizes(c.what, c.send_size, c.receive_size, fmt::format("each of {} ranks gets its part", n));
        return;
    case op::exchange:
        if (c.destinations.empty() ? c.send_size != 0 : c.send_size % c.destinations.size() != 0)
            throw usage_error(fmt::format("{}: {} elements are no blocks of one size for {} destinations", name_of(c.what), c.send_size,
                                          c.destinations.size()));
        if (c.sources.empty() ? c.receive_size != 0 : c.receive_size % c.sources.size() != 0)
            throw usage_error(fmt::format("{}: {} elements are no blocks of one size from {} sources", name_of(c.what), c.receive_size,
                                          c.sources.size()));
        return;
    case op::reduce:
        if (!is_root)
            return;
        [[fallthrough]];
    case op::all_reduce:
    case op::inclusive_scan:
    case op::exclusive_scan:
        if (!c.in_place && c.send_size != c.receive_size)
            throw_sizes(c.what, c.send_size, c.receive_size, "as many come out as go in");
    }
}

void team_core::check_counts(team_call const& c) const
{
    auto const n = static_cast<std::size_t>(size());
    auto const mine = static_cast<std::size_t>(rank());
    bool const is_root = c.root == rank();
    switch (c.what) {
    case op::gather:
        if (is_root)
            check_list(c.what, c.receive_counts, n, c.receive_size, "that come in");
        if (is_root && c.receive_counts[mine] != c.send_size)
            throw_sizes(c.what, c.send_size, c.receive_counts[mine], "the root's own block has one size");
        return;
    case op::all_gather:
        check_list(c.what, c.receive_counts, n, c.receive_size, "that come in");
        if (c.receive_counts[mine] != c.send_size)
            throw_sizes(c.what, c.send_size, c.receive_counts[mine], "the own block has one size");
        return;
    case op::scatter:
        if (is_root)
            check_list(c.what, c.send_counts, n, c.send_size, "that go out");
        if (is_root && c.send_counts[mine] != c.receive_size)
            throw_sizes(c.what, c.send_counts[mine], c.receive_size, "the root's own block has one size");
        return;
    case op::reduce_scatter:
        check_list(c.what, c.receive_counts, n, c.send_size, "of the result");
        if (c.receive_counts[mine] != c.receive_size)
            throw_sizes(c.what, c.receive_counts[mine], c.receive_size, "the own block has one size");
        return;
    case op::exchange:
        check_list(c.what, c.send_counts, c.destinations.size(), c.send_size, "that go out");
        return check_list(c.what, c.receive_counts, c.sources.size(), c.receive_size, "that come in");
    default:
        check_list(c.what, c.send_counts, n, c.send_size, "that go out");
        check_list(c.what, c.receive_counts, n, c.receive_size, "that come in");
    }
}

collective::call_card team_core::card_of(team_call const& c) const
{
    collective::call_card card;
    card.set_name(name_of(c.what));
    card.type = c.what == op::barrier ? collective::call_card::any : c.element;  // as far as that tells of it
    if (has_root(c.what))
        card.root = c.root;
    if (c.by_counts)
        return card;
    auto const n = static_cast<std::uint64_t>(size());
    std::uint64_t const sent = c.send_size * c.element, received = c.receive_size * c.element;
    bool const is_root = c.root == rank();
    switch (c.what) {
    case op::barrier:
    case op::exchange: break;
    case op::gather: card.bytes = is_root ? received / n : sent; break;
    case op::scatter: card.bytes = is_root ? sent / n : received; break;
    case op::all_gather:
    case op::all_to_all: card.bytes = received / n; break;
    case op::reduce: card.bytes = sent; break;
    default: card.bytes = received;
    }
    return card;
}

void team_core::build(collective::schedule& s, team_call const& c, bool over_lanes)
{
    s.allow(over_lanes ? team_.lanes() : nullptr);
    if (c.by_counts)
        return build_by_counts(s, c);
    auto const n = static_cast<std::uint64_t>(size());
    std::uint64_t const sent = c.send_size * c.element, received = c.receive_size * c.element;
    void const* const send = c.in_place ? collective::in_place : c.send;
    switch (c.what) {
    case op::barrier: return collective::barrier(s, team_);
    case op::broadcast: return collective::bcast(s, team_, c.receive, received, c.root);
    case op::gather: return collective::gather(s, team_, send, c.receive, sent, c.root);
    case op::scatter: return collective::scatter(s, team_, send, c.receive, received, c.root);
    case op::all_gather: return collective::allgather(s, team_, send, received / n, c.receive, received / n);
    case op::all_to_all: return collective::alltoall(s, team_, send, sent / n, c.receive, received / n);
    case op::reduce: return collective::reduce(s, team_, send, c.receive, c.send_size, combination_of(c), c.root);
    case op::all_reduce: return collective::allreduce(s, team_, send, c.receive, c.receive_size, combination_of(c));
    case op::reduce_scatter: return collective::reduce_scatter_block(s, team_, send, c.receive, c.receive_size, combination_of(c));
    case op::inclusive_scan: return collective::scan(s, team_, send, c.receive, c.send_size, combination_of(c));
    case op::exclusive_scan: return collective::exscan(s, team_, send, c.receive, c.send_size, combination_of(c));
    case op::exchange:
        return collective::neighbour_alltoall(s, team_, {c.sources, c.destinations}, send,
                                              sent / std::max(c.destinations.size(), std::size_t{1}),
                                              c.receive, received / std::max(c.sources.size(), std::size_t{1}));
    }
}

void team_core::build_by_counts(collective::schedule& s, team_call const& c)
{
    std::uint64_t const sent = c.send_size * c.element, received = c.receive_size * c.element;
    listed const out(c.send_counts, c.element), in(c.receive_counts, c.element);
    switch (c.what) {
    case op::gather: return collective::gatherv(s, team_, c.send, sent, c.receive, in.sizes, in.offsets, c.root);
    case op::scatter: return collective::scatterv(s, team_, c.send, out.sizes, out.offsets, c.receive, received, c.root);
    case op::all_gather: return collective::allgatherv(s, team_, c.send, sent, c.receive, in.sizes, in.offsets);
    case op::reduce_scatter: return collective::reduce_scatter(s, team_, c.send, c.receive, c.receive_counts, combination_of(c));
    case op::exchange:
        return collective::neighbour_alltoallv(s, team_, {c.sources, c.destinations}, c.send, out.sizes, out.offsets, c.receive, in.sizes,
                                               in.offsets);
    default: return collective::alltoallv(s, team_, c.send, out.sizes, out.offsets, c.receive, in.sizes, in.offsets);
    }
}

} // namespace towline::detail
