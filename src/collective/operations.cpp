// Checks a call, chooses its way, and has it built.

#include "collective/operations.hpp"

#include "base/settings.hpp"
#include "collective/lanes/programs.hpp"

#include <towline/error.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace towline::collective {
namespace {

constexpr char mark = 0;

void check_root(team const& t, call const& c)
{
    bool const is_rank = c.root >= 0 && c.root < (t.is_inter() ? t.remote_size() : t.size());
    if (!is_rank && !(t.is_inter() && (c.root == root_is_here || c.root == root_is_beside)))
        throw usage_error(fmt::format("{}: {} is no rank of {}", name_of(c.what), c.root, t.is_inter() ? t.remote_size() : t.size()));
}

void check_blocks(call const& c, layout_of_blocks const& blocks, std::size_t n)
{
    if (!blocks.is_listed() ? n != 0 && c.what != routine::exchange
                            : blocks.sizes().size() != n || (c.what != routine::reduce_scatter && blocks.offsets().size() != n))
        throw usage_error(fmt::format("{}: {} counts and {} offsets for {} blocks", name_of(c.what), blocks.sizes().size(),
                                      blocks.offsets().size(), n));
}

void check_neighbours(team const& t, neighbourhood const& n)
{
    if (!n.receive_order.empty() && n.receive_order.size() != n.sources.size())
        throw usage_error(fmt::format("exchange: an order of {} for {} sources", n.receive_order.size(), n.sources.size()));
    for (auto const list : {n.sources, n.destinations})
        for (int const rank : list)
            if (rank >= t.size())
                throw usage_error(fmt::format("exchange: {} is no rank of {}", rank, t.size()));
    for (int const at : n.receive_order)
        if (at < 0 || static_cast<std::size_t>(at) >= n.sources.size())
            throw usage_error(fmt::format("exchange: {} in the order of {} sources", at, n.sources.size()));
}

void check(team const& t, call const& c)
{
    auto const ranks = static_cast<std::size_t>(t.is_inter() ? t.remote_size() : t.size());
    bool const is_root = c.root == (t.is_inter() ? root_is_here : t.rank());
    switch (c.what) {
    case routine::bcast:
    case routine::gather:
    case routine::scatter:
    case routine::reduce: return check_root(t, c);
    case routine::gatherv:
    case routine::scatterv:
        check_root(t, c);
        if (is_root)
            check_blocks(c, c.what == routine::gatherv ? c.receiving : c.sending, ranks);
        return;
    case routine::alltoallv:
        if (c.send != in_place)
            check_blocks(c, c.sending, ranks);
        return check_blocks(c, c.receiving, ranks);
    case routine::allgatherv: return check_blocks(c, c.receiving, ranks);
    case routine::reduce_scatter:
        if (c.receiving.is_listed())
            check_blocks(c, c.receiving, static_cast<std::size_t>(t.size()));
        return;
    case routine::scan:
    case routine::exscan:
    case routine::exchange:
        if (t.is_inter())
            throw usage_error(fmt::format("{}: there is no such operation between two groups", name_of(c.what)));
        if (c.what != routine::exchange)
            return;
        check_neighbours(t, c.with);
        check_blocks(c, c.sending, c.with.destinations.size());
        return check_blocks(c, c.receiving, c.with.sources.size());
    default: return;
    }
}

// Lists that an operation which leaves its lanes looks at again.

template <class Number>
[[nodiscard]] std::span<Number const> kept(schedule& s, std::span<Number const> list)
{
    if (list.empty())
        return list;
    auto* const copy = reinterpret_cast<Number*>(s.own_scratch(list.size_bytes()));
    std::ranges::copy(list, copy);
    return {copy, list.size()};
}
[[nodiscard]] layout_of_blocks kept(schedule& s, layout_of_blocks const& blocks)
{
    return blocks.is_listed() ? layout_of_blocks(kept(s, blocks.sizes()), kept(s, blocks.offsets())) : blocks;
}
/// What the table counts as the operation's size (rule).
[[nodiscard]] std::uint64_t size_of(call const& c, int ranks) noexcept
{
    switch (c.what) {
    case routine::scatter: return c.bytes;
    case routine::allgather:
    case routine::alltoall: return c.receiving.size(0);
    case routine::allgatherv: return c.receiving.total(ranks);
    default: return programs::most_offered(c.what, c, ranks);
    }
}

[[nodiscard]] where if_so(bool is_so, where w) noexcept
{
    return is_so ? w : where::anywhere;
}

/// What is so whichever way the operation goes.
[[nodiscard]] where situation(by_messages::members const& m, call const& c, std::uint64_t bytes) noexcept
{
    return if_so(m.are_crowded, where::crowded) | if_so(m.combine_in_order, where::in_order) |
           if_so(c.how.commutative, where::commutative) |
           if_so(bytes >= c.how.element * static_cast<std::uint64_t>(m.here.size), where::element_for_all);
}

/// Operands may be combined node by node.
[[nodiscard]] bool may_go_by_nodes(levels const& v, call const& c) noexcept
{
    bool const is_scan = c.what == routine::scan || c.what == routine::exscan;
    bool const combines = c.what == routine::reduce || c.what == routine::allreduce || c.what == routine::reduce_scatter;
    return v.are_in_order() || (!is_scan && (!combines || c.how.commutative));
}

[[nodiscard]] algorithm chosen(by_messages::members const& m, call const& c, lanes const* l, levels const* v) noexcept
{
    if (l != nullptr && is_over_lanes_on_a_node(c.what))
        return algorithm::over_lanes;
    std::uint64_t const bytes = size_of(c, m.here.size);
    return choose({c.what, bytes, m.here.size,
                   situation(m, c, bytes) | if_so(l != nullptr, where::one_node) |
                       if_so(l != nullptr && over_lanes::is_shown(*l, c), where::shown) |
                       if_so(v != nullptr && may_go_by_nodes(*v, c), where::several_nodes) |
                       if_so(v != nullptr && v->are_even(), where::even_nodes),
                   v != nullptr ? v->fewest() : 1});
}

[[nodiscard]] by_messages::members members_of(team const& t) noexcept
{
    return {t.here(), t.is_crowded(), t.combines_in_order()};
}

} // namespace

void const* const in_place = &mark;

void build(schedule& s, team const& t, call const& c)
{
    check(t, c);
    if (c.what == routine::nothing)
        return;
    if (t.is_inter())
        return between::build(s, t, c);
    by_messages::members const all = members_of(t);
    algorithm const use = chosen(all, c, s.lanes(), s.levels());
    if (use == algorithm::node_leaders || use == algorithm::node_shares)
        return in_levels::build(s, c, use);
    if (use != algorithm::over_lanes)
        return by_messages::build(s, all, c, use);
    over_lanes::build(s, c, t.is_crowded());
    if (over_lanes::may_leave(*s.lanes(), c))
        s.otherwise([&] {
            return [again = kept(s, c), all](schedule& messages) { by_messages::build(messages, all, again); };
        });
}

call kept(schedule& s, call const& c)
{
    call again = c;
    if (c.sending.is_listed() || c.receiving.is_listed() || c.what == routine::exchange) {
        again.sending = kept(s, c.sending);
        again.receiving = kept(s, c.receiving);
        again.with = {kept(s, c.with.sources), kept(s, c.with.destinations), kept(s, c.with.receive_order)};
    }
    return again;
}

void by_messages::build(schedule& s, members const& m, call const& c)
{
    build(s, m, c, chosen(m, c, nullptr, nullptr));
}

bool wished_in_order()
{
    static bool const keep = base::setting_switch("TOWLINE_DETERMINISTIC", false);
    return keep;
}

} // namespace towline::collective
