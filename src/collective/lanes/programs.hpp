#pragma once
// One program per collective operation over lanes, written over verbs. An executor `X` runs the verbs: `immediate` (immediate.hpp) executes
// each one when it is called and blocks in between; `lane_builder` records each one as a step to be polled. Both write the same slots, so
// each rank chooses its executor by itself. These programs handle bytes that are shown; lent.hpp handles more.
//
//   show, post, table     offer bytes in place or by copy, a copy, or a table of blocks; show_but: of which nobody reads one part
//   meet, meet_all, stay  wait until other ranks reach a stage, or need nothing more from this rank; meet_all: all have offered something
//   take, take_block      copy what another rank offers
//   fold                  combine what several ranks offer
//   tell                  offer nothing, but a number
//   mark, has_read        publish a stage of this rank
//   stays                 wait until the others have read what this rank showed
//
// Bytes are copied into the slot, or a payload; above limits::posted they are read in place, if the other ranks reach that memory.
//
// Reductions combine in rank order, x0 op (x1 op (x2 ...)), for every size and on every rank, so that results are the same from run to run.

#include "collective/call.hpp"
#include "collective/lanes/lent.hpp"
#include "collective/lanes/list_programs.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace towline::collective::programs {

template <class X>
[[gnu::always_inline]] inline void barrier(X& x)
{
    if (x.looks_around()) {
        x.tell(all_ranks, 0, 1);
        x.meet_all();
    } else if (x.rank() == 0) {
        x.meet_all();
        x.tell(all_ranks, 0);
    } else {
        x.tell(0, 0, 1);
        x.stay(0);
    }
}

template <class X>
[[gnu::always_inline]] inline void bcast(X& x, void* data, std::uint64_t bytes, int root)
{
    x.goes_one_way();
    if (x.rank() == root) {
        x.show(data, bytes, bytes);
        return x.stays();
    }
    x.meet(root);
    x.take(root, data, 0, bytes, bytes);
    x.has_read(bytes, root);
}

template <class X>
[[gnu::always_inline]] inline void gather(X& x, void const* own, void* receive, layout_of_blocks blocks, std::uint64_t bytes, int root)
{
    x.goes_one_way();
    if (x.rank() != root) {
        x.show(own, bytes, bytes, root);
        return x.stays(root);
    }
    x.copy(blocks.at(receive, root), own, bytes);
    for (int i = 1; i < x.size(); ++i) {
        int const r = around(x, i);
        x.meet(r);
        x.take(r, blocks.at(receive, r), 0, bytes, bytes);
    }
    x.has_read(bytes);
}

template <class X>
[[gnu::always_inline]] inline void scatter(X& x, void const* send, layout_of_blocks blocks, void* receive, std::uint64_t bytes, int root)
{
    x.goes_one_way();
    std::uint64_t const all = bytes * static_cast<std::uint64_t>(x.size());
    if (x.rank() == root) {
        x.show(send, all, all);
        x.copy(receive, blocks.at(send, root), bytes);
        return x.stays();
    }
    x.meet(root);
    x.take(root, receive, blocks.offset(x.rank()), bytes, all);
    x.has_read(all, root);
}

template <class X>
[[gnu::always_inline]] inline void allgather(X& x, void const* own, void* receive, layout_of_blocks blocks, std::uint64_t largest)
{
    std::uint64_t const mine = blocks.size(x.rank());
    x.show(own, mine, largest);
    x.copy(blocks.at(receive, x.rank()), own, mine);
    for (int i = 1; i < x.size(); ++i) {
        int const r = around(x, i);
        x.meet(r);
        x.take(r, blocks.at(receive, r), 0, blocks.size(r), blocks.size(r));
    }
    x.has_read(largest);
    x.stays();
}

template <class X>
[[gnu::always_inline]] inline void alltoall(X& x, void const* send, void* receive, layout_of_blocks blocks)
{
    std::uint64_t const all = blocks.total(x.size()), bytes = blocks.size(0);
    x.show_but({blocks.offset(x.rank()), bytes}, send, all, send != receive);
    x.copy(blocks.at(receive, x.rank()), blocks.at(send, x.rank()), bytes);
    for (int i = 1; i < x.size(); ++i) {
        int const r = around(x, i);
        x.meet(r);
        x.take(r, blocks.at(receive, r), blocks.offset(x.rank()), bytes, all);
    }
    x.has_read(all);
    x.stays();
}

template <class X>
[[gnu::always_inline]] inline void reduce(X& x, void const* own, void* receive, std::uint64_t count, combination how, int root)
{
    std::uint64_t const bytes = count * how.element;
    x.goes_one_way();
    if (x.rank() != root) {
        x.show(own, bytes, bytes, root);
        return x.stays(root);
    }
    if (own == receive)
        x.post(own, bytes, root);
    x.meet_all();
    x.fold(how, x.size() - 1, own, receive, 0, count, bytes);
    x.has_read(bytes);
}

template <class X>
[[gnu::always_inline]] inline void allreduce(X& x, void const* own, void* receive, std::uint64_t count, combination how)
{
    std::uint64_t const bytes = count * how.element;
    if (x.looks_around()) {
        x.show(own, bytes, bytes, all_ranks, own != receive);
        x.meet_all();
        x.fold(how, x.size() - 1, own, receive, 0, count, bytes);
        x.has_read(bytes);
        x.stays();
    } else if (x.rank() == 0) {
        x.post(own, bytes, 0);
        x.meet_all();
        x.fold(how, x.size() - 1, own, receive, 0, count, bytes);
        x.post(receive, bytes, all_ranks, 2);
    } else {
        x.post(own, bytes, 0);
        x.meet(0, 2);
        x.take(0, receive, 0, bytes, bytes);
    }
}

/// The blocks are of the result, in elements, next to each other; `all` are their bytes.
template <class X>
[[gnu::always_inline]]
inline void reduce_scatter(X& x, void const* own, void* receive, layout_of_blocks blocks, std::uint64_t all, combination how)
{
    std::uint64_t const first = blocks.total(x.rank()) * how.element, count = blocks.size(x.rank());
    // In place, the result overwrites this rank's contribution: the fold reads the posted copy instead.
    bool const is_in_place = own == receive;
    x.show(own, all, all, all_ranks, !is_in_place);
    x.meet_all();
    if (count != 0)
        x.fold(how, x.size() - 1, is_in_place ? receive : static_cast<std::byte const*>(own) + first, receive, first, count, all);
    x.has_read(all);
    x.stays();
}

/// Over the ranks up to this one, or, exclusive, before it.
template <class X>
[[gnu::always_inline]] inline void scan(X& x, void const* own, void* receive, std::uint64_t count, combination how, bool inclusive)
{
    std::uint64_t const bytes = count * how.element;
    x.goes_one_way();
    x.show(own, bytes, bytes, all_ranks, own != receive);
    for (int r = 0; r < x.rank(); ++r)
        x.meet(r);
    if (int const last = inclusive ? x.rank() : x.rank() - 1; last >= 0)
        x.fold(how, last, own, receive, 0, count, bytes);
    x.has_read(bytes);
    if (x.rank() + 1 != x.size())
        x.stays();
}

/// Only the two ranks of a block know its size, so the ranks offer tables.
[[nodiscard]] constexpr bool has_tables(routine what) noexcept
{
    return what == routine::gatherv || what == routine::scatterv || what == routine::alltoallv || what == routine::exchange;
}

/// The most bytes that any rank offers in an operation without tables; all ranks compute the same.
[[nodiscard, gnu::always_inline]] inline std::uint64_t most_offered(routine what, call const& c, int ranks) noexcept
{
    switch (what) {
    case routine::bcast:
    case routine::gather: return c.bytes;
    case routine::scatter: return c.sending.total(ranks);
    case routine::allgather:
    case routine::allgatherv: return c.receiving.largest(ranks);
    case routine::alltoall: return c.receiving.total(ranks);
    case routine::reduce:
    case routine::allreduce:
    case routine::scan:
    case routine::exscan: return c.bytes * c.how.element;
    case routine::reduce_scatter: return c.receiving.total(ranks) * c.how.element;
    default: return 0;
    }
}

/// Runs this rank's program for a call of that routine.
template <routine what, class X>
[[gnu::always_inline]] inline void perform(X& x, call const& c)
{
    using enum routine;
    std::uint64_t const most = most_offered(what, c, x.size());
    if constexpr (!has_tables(what) && what != barrier) {
        if (most == 0)
            return x.tell_nothing();
        if constexpr (X::is_polled)
            if (!x.shows(most))
                return lent::perform(x, c, most);
    }
    // This rank's contribution, where it is not a block of its own. Of gather and the like, its block.
    void const* const own = c.send == in_place ? c.receive : c.send;
    auto const block = [&] { return c.send == in_place ? c.receiving.at(c.receive, x.rank()) : c.send; };
    auto const landing = [&] { return c.receive == in_place ? const_cast<std::byte*>(c.sending.at(c.send, x.rank())) : c.receive; };
    if constexpr (what == barrier)
        programs::barrier(x);
    else if constexpr (what == bcast)
        programs::bcast(x, c.receive, most, c.root);
    else if constexpr (what == gather)
        programs::gather(x, block(), c.receive, c.receiving, most, c.root);
    else if constexpr (what == scatter)
        programs::scatter(x, c.send, c.sending, landing(), c.bytes, c.root);
    else if constexpr (what == allgather || what == allgatherv)
        programs::allgather(x, block(), c.receive, c.receiving, most);
    else if constexpr (what == alltoall)
        programs::alltoall(x, own, c.receive, c.receiving);
    else if constexpr (what == reduce)
        programs::reduce(x, own, c.receive, c.bytes, c.how, c.root);
    else if constexpr (what == allreduce)
        programs::allreduce(x, own, c.receive, c.bytes, c.how);
    else if constexpr (what == reduce_scatter)
        programs::reduce_scatter(x, own, c.receive, c.receiving, most, c.how);
    else if constexpr (what == scan || what == exscan)
        programs::scan(x, own, c.receive, c.bytes, c.how, what == scan);
    else if constexpr (what == gatherv)
        programs::gatherv(x, block(), c.bytes, c.receive, c.receiving, c.root);
    else if constexpr (what == scatterv)
        programs::scatterv(x, c.send, c.sending, landing(), c.bytes, c.root);
    else if constexpr (what == alltoallv)
        programs::alltoallv(x, own, c.send == in_place ? c.receiving : c.sending, c.receive, c.receiving, c.send == in_place);
    else if constexpr (what == exchange)
        programs::exchange(x, c.with, c.send, c.sending, c.receive, c.receiving);
}

/// The same where the routine is not known before the program runs: use(std::integral_constant<routine, ...>).
template <class Use>
decltype(auto) with_routine(routine what, Use&& use)
{
    using enum routine;
    switch (what) {
#define TOWLINE_ROUTINE(name) \
    case name: return use(std::integral_constant<routine, name>{})
        TOWLINE_ROUTINE(nothing);
        TOWLINE_ROUTINE(barrier);
        TOWLINE_ROUTINE(bcast);
        TOWLINE_ROUTINE(gather);
        TOWLINE_ROUTINE(gatherv);
        TOWLINE_ROUTINE(scatter);
        TOWLINE_ROUTINE(scatterv);
        TOWLINE_ROUTINE(allgather);
        TOWLINE_ROUTINE(allgatherv);
        TOWLINE_ROUTINE(alltoall);
        TOWLINE_ROUTINE(alltoallv);
        TOWLINE_ROUTINE(reduce);
        TOWLINE_ROUTINE(allreduce);
        TOWLINE_ROUTINE(reduce_scatter);
        TOWLINE_ROUTINE(scan);
        TOWLINE_ROUTINE(exscan);
        TOWLINE_ROUTINE(exchange);
#undef TOWLINE_ROUTINE
    }
    __builtin_unreachable();
}

} // namespace towline::collective::programs
