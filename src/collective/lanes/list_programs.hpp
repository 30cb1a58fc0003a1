#pragma once
// The programs over lanes (programs.hpp) of operations in which only the two ranks of a block know its size. A rank offers a table
// (lane_tables.hpp) that says what it has for whom; an empty one, too, so that a rank which expects a block finds the mismatch. Blocks of
// no bytes are skipped.

#include "collective/call.hpp"
#include "collective/lanes/block_table.hpp"
#include "collective/lanes/lent.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

namespace towline::collective::programs {

/// The rank that is `i` further around the ring. Each rank begins with the next one, so that no two ranks read the same rank first.
template <class X>
[[nodiscard]] int around(X const& x, int i) noexcept
{
    return (x.rank() + i) % x.size();
}

template <class X>
void gatherv(X& x, void const* own, std::uint64_t bytes, void* receive, layout_of_blocks const& blocks, int root)
{
    x.goes_one_way();
    if (x.rank() != root) {
        if constexpr (X::is_polled)
            if (!x.shows(bytes))
                return lent::give_block(x, own, bytes, root);
        x.show(own, bytes, bytes, x.told(root));
        x.agree();
        if (x.is_lent())
            x.stay(root);
        return;
    }
    std::uint64_t const mine = std::min(bytes, blocks.size(root));
    if constexpr (X::is_polled)
        if (int const other = 1 - root; x.size() == 2 && !x.shows(blocks.size(other)))
            return lent::take_parts(x, blocks.at(receive, root), own, mine, blocks.at(receive, other), blocks.size(other));
    // Ranks with bigger blocks write them into the root's buffer, all at the same time.
    block_table big(x, X::is_polled ? static_cast<std::size_t>(x.size()) : 0);
    for (int r = 0; r < x.size(); ++r)
        if (r != root && !x.shows(blocks.size(r)))
            big.want(r, blocks.at(receive, r), blocks.size(r));
    big.offer();
    x.agree();
    x.copy(blocks.at(receive, root), own, mine);
    for (int i = 1; i < x.size(); ++i) {
        int const r = around(x, i);
        if (std::uint64_t const size = blocks.size(r); size != 0 && x.shows(size)) {
            x.meet(r);
            x.take(r, blocks.at(receive, r), 0, size, size);
        }
    }
    big.finish();
}

/// Those of `blocks` for others.
template <class X>
[[gnu::always_inline]] inline void give_others(X& x, block_table<X>& table, void const* send, layout_of_blocks const& blocks)
{
    for (int r = 0; r < x.size(); ++r)
        if (r != x.rank() && blocks.size(r) != 0)
            table.give(r, blocks.at(send, r), blocks.size(r));
}

template <class X>
void scatterv(X& x, void const* send, layout_of_blocks const& blocks, void* receive, std::uint64_t bytes, int root)
{
    x.goes_one_way();
    if (x.rank() != root) {
        if (bytes == 0) {
            x.tell(x.told(root), 0);
            return x.agree();
        }
        if constexpr (X::is_polled)
            if (lent::is_moved_by_both(x, bytes))
                return lent::take_parts(x, nullptr, nullptr, 0, receive, bytes);
        x.agree_without_offer();
        x.meet(root);
        return x.take_block(root, 0, receive, bytes);
    }
    std::uint64_t const mine = std::min(bytes, blocks.size(root));
    if constexpr (X::is_polled)
        if (int const other = 1 - root; x.size() == 2 && !x.shows(blocks.size(other)))
            return lent::give_parts(x, receive, blocks.at(send, root), mine, blocks.at(send, other), blocks.size(other));
    block_table given(x, static_cast<std::size_t>(x.size() - 1));
    give_others(x, given, send, blocks);
    given.offer();
    x.agree();
    x.copy(receive, blocks.at(send, root), mine);
    given.finish();
}

template <class X>
[[gnu::always_inline]]
inline void alltoallv(X& x, void const* send, layout_of_blocks const& sending, void* receive, layout_of_blocks const& receiving,
                      bool in_its_place)
{
    int const me = x.rank();
    block_table given(x, static_cast<std::size_t>(x.size() - 1));
    give_others(x, given, send, sending);
    given.offer(!in_its_place);
    x.agree();
    if (!in_its_place)
        x.copy(receiving.at(receive, me), sending.at(send, me), std::min(sending.size(me), receiving.size(me)));
    for (int i = 1; i < x.size(); ++i) {
        int const r = around(x, i);
        if (receiving.size(r) == 0)
            continue;
        x.meet(r);
        x.take_block(r, 0, receiving.at(receive, r), receiving.size(r));
    }
    given.finish();
}

/// A block that comes in: the order of those from one rank counts.
struct incoming {
    int from;
    int order;
    int at;  ///< in the list of sources
    friend auto operator<=>(incoming const&, incoming const&) = default;
};

/// Those from everybody, in the order of ranks.
template <class X>
[[nodiscard]] std::span<incoming> incoming_of(X& x, neighbourhood const& n)
{
    incoming* const all = x.template room<incoming>(n.sources.size());
    std::size_t count = 0;
    for (std::size_t i = 0; i < n.sources.size(); ++i) {
        int const at = n.receive_order.empty() ? static_cast<int>(i) : n.receive_order[i];
        if (int const from = n.sources[static_cast<std::size_t>(at)]; from >= 0)
            all[count++] = {from, static_cast<int>(i), at};
    }
    std::span<incoming> const found{all, count};
    if (!std::ranges::is_sorted(found))
        std::ranges::sort(found);
    return found;
}

template <class X>
void exchange(X& x, neighbourhood const& n, void const* send, layout_of_blocks const& sending, void* receive,
              layout_of_blocks const& receiving)
{
    int const me = x.rank();
    block_table given(x, n.destinations.size());
    for (std::size_t i = 0; i < n.destinations.size(); ++i)
        if (int const at = static_cast<int>(i), to = n.destinations[i]; to >= 0 && to != me)
            given.give(to, sending.at(send, at), sending.size(at));
    given.offer();
    x.agree();
    auto const in = incoming_of(x, n);
    // What this rank sends itself. No table has a block for its owner, so that taking one fails.
    auto const [own, own_end] = std::ranges::equal_range(in, me, {}, &incoming::from);
    auto mine = own;
    bool fits = true;
    for (std::size_t i = 0; i < n.destinations.size() && fits; ++i) {
        int const at = static_cast<int>(i);
        if (n.destinations[i] != me)
            continue;
        fits = mine != own_end && receiving.size(mine->at) == sending.size(at);
        if (fits)
            x.copy(receiving.at(receive, mine++->at), sending.at(send, at), sending.size(at));
    }
    if (!fits || mine != own_end)
        x.take_block(me, 0, nullptr, 0);
    // Each rank begins with another: those behind it, then those before.
    auto const take = [&](auto first, auto last) {
        std::uint64_t nth = 0;
        for (auto i = first; i != last; ++i) {
            nth = i != first && i->from == std::prev(i)->from ? nth + 1 : 0;
            std::uint64_t const size = receiving.size(i->at);
            if (size == 0)
                continue;
            x.meet(i->from);
            x.take_block(i->from, nth, receiving.at(receive, i->at), size);
        }
    };
    take(own_end, in.end());
    take(in.begin(), own);
    given.finish();
}

} // namespace towline::collective::programs
