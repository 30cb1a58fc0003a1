// The operations of teams: checks their rows, and converts them to calls of collective/.

#include "collective/lanes/run_now.hpp"
#include "collective/operations.hpp"
#include "remote/runtime.hpp"
#include "remote/team_core.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
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

/// The blocks of a row, in bytes, stored in `lists`, which has room.
[[nodiscard]] collective::layout_of_blocks listed(std::vector<std::uint64_t>& lists, std::span<std::size_t const> counts,
                                                  std::size_t element)
{
    std::size_t const first = lists.size(), n = counts.size();
    for (std::size_t const count : counts)
        lists.push_back(count * element);
    std::uint64_t at = 0;
    for (std::size_t const count : counts)
        lists.push_back(std::exchange(at, at + count * element));
    std::span const all(lists);
    return {all.subspan(first, n), all.subspan(first + n, n)};
}

/// The combination of elements of c.
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
    for (auto const list : {c.sources, c.destinations})
        for (int const rank : list)
            if (rank >= size())
                throw usage_error(fmt::format("{}: {} is no rank of a team of {}", name_of(c.what), rank, size()));
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
    card.type = c.what == op::barrier ? collective::call_card::any : c.element;  // the card compares only the size
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

collective::call team_core::call_of(team_call const& c, std::vector<std::uint64_t>& lists) const
{
    auto const n = static_cast<std::uint64_t>(size());
    std::uint64_t const sent = c.send_size * c.element, received = c.receive_size * c.element;
    void const* const send = c.in_place ? collective::in_place : c.send;
    collective::neighbourhood const with{c.sources, c.destinations};
    if (c.by_counts) {
        lists.reserve(2 * (c.send_counts.size() + c.receive_counts.size()));
        auto const out = listed(lists, c.send_counts, c.element), in = listed(lists, c.receive_counts, c.element);
        switch (c.what) {
        case op::gather: return collective::gatherv(send, sent, c.receive, in.sizes(), in.offsets(), c.root);
        case op::scatter: return collective::scatterv(send, out.sizes(), out.offsets(), c.receive, received, c.root);
        case op::all_gather: return collective::allgatherv(send, sent, c.receive, in.sizes(), in.offsets());
        case op::reduce_scatter: return collective::reduce_scatter(send, c.receive, c.receive_counts, combination_of(c));
        case op::exchange: return collective::exchange(with, send, out, c.receive, in);
        default: return collective::alltoallv(send, out.sizes(), out.offsets(), c.receive, in.sizes(), in.offsets());
        }
    }
    switch (c.what) {
    case op::barrier: return collective::barrier();
    case op::broadcast: return collective::bcast(c.receive, received, c.root);
    case op::gather: return collective::gather(send, c.receive, sent, c.root);
    case op::scatter: return collective::scatter(send, c.receive, received, c.root);
    case op::all_gather: return collective::allgather(send, received / n, c.receive, received / n);
    case op::all_to_all: return collective::alltoall(send, sent / n, c.receive, received / n);
    case op::reduce: return collective::reduce(send, c.receive, c.send_size, combination_of(c), c.root);
    case op::all_reduce: return collective::allreduce(send, c.receive, c.receive_size, combination_of(c));
    case op::reduce_scatter: return collective::reduce_scatter_block(send, c.receive, c.receive_size, combination_of(c));
    case op::inclusive_scan: return collective::scan(send, c.receive, c.send_size, combination_of(c));
    case op::exclusive_scan: return collective::exscan(send, c.receive, c.send_size, combination_of(c));
    case op::exchange: break;
    }
    return collective::exchange(with, send, collective::layout_of_blocks(sent / std::max(c.destinations.size(), std::size_t{1})), c.receive,
                                collective::layout_of_blocks(received / std::max(c.sources.size(), std::size_t{1})));
}

bool team_core::run_now(team_call const& c)
{
    collective::lanes* const l = team_.quick_lanes();
    if (l == nullptr)
        return false;
    std::vector<std::uint64_t> lists;
    collective::call const what = call_of(c, lists);
    if (!collective::may_run_now(l, what))
        return false;
    (void)team_.next_sequence();  // stays equal to the ranks that run a schedule
    auto const wait = [&](auto&& is_met, int whom) {
        remoting::waiting about;
        about.rank = whom < 0 ? -1 : ranks_[static_cast<std::size_t>(whom)];
        ground_.owner().wait_until(is_met, name_of(c.what), &about);
    };
    if (auto const how = collective::run_now(*l, team_.is_crowded(), what, wait); how != collective::lane_run::state::ended) [[unlikely]]
        std::rethrow_exception(wait_for_error(collective::lane_run::ending_of(how), name_of(c.what)));
    if (l->begun() % collective::thresholds::progress_every == 0) [[unlikely]]
        ground_.owner().engine().progress();
    return true;
}

} // namespace towline::detail
