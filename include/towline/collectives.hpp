#pragma once
// The collective operations of teams, shared by `team` (team.hpp) and the operations that it starts.

#include <towline/detail/team_api.hpp>
#include <towline/detail/team_rows.hpp>
#include <towline/reductions.hpp>
#include <towline/strided_view.hpp>

#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace towline {

/// The partners of a rank in team_operations::exchange: ranks of the team; negative ones stand for none. If the same two ranks are
/// neighbours several times, the n-th block sent matches the n-th received.
struct neighbours {
    std::vector<int> sources;
    std::vector<int> destinations;
};

/// The operations of a team, modelled on MPI and std. Every rank of the team calls each one, in the same order, with matching arguments,
/// from one thread at a time. Rows are contiguous ranges (vector, rma_vector, array, span, ...) of elements whose bytes are their value
/// (towline::bitwise). A row that only the root reads may be empty elsewhere. Rows may not overlap. A strided_view is a row of its elements
/// in row-major order; it is packed and unpacked on the way unless it is contiguous.
///
/// Operations of `team` block until this rank's part is done and its rows may be reused. Those of `team::start()` return futures: do not
/// touch the rows until the future is ready. They progress whenever this process calls or waits for anything, and in the background while
/// it computes.
///
/// Errors: usage_error for rows whose sizes do not match, a root out of range, a wait inside a small function, or after the world's end;
/// peer_error if a rank of the team died; error if its memory cannot be read. The other ranks throw, too, if they need data of the failing
/// rank: usage_error if its rows were wrong. If a rank passed a root out of range, or called inside a small function, the others wait for
/// it. After an error the content of rows is undefined.
///
/// The function of a reduction takes two elements and returns one. It must be associative, because elements are grouped in any way; the
/// order of ranks is kept (reductions.hpp). It must not throw, wait, or call Towline. Integer results do not depend on the algorithm.
/// Floating-point results have the same bits on every rank, and in every run if TOWLINE_DETERMINISTIC=1.
template <class Team>
class team_operations {
public:
    /// Returns when all ranks have called it.
    auto barrier() { return own().submit({.what = op::barrier}); }

    /// Sends the root's row to all; it has the same length on all ranks.
    template <detail::writable_row Data>
    auto broadcast(Data&& data, int root = 0)
    {
        auto c = calls<Data>(op::broadcast, root);
        detail::receive_in(c, data);
        return own().submit(c);
    }

    /// Collects rows of one size, in the order of ranks, in the root's `out`.
    template <detail::row In, detail::writable_row Out>
    auto gather(In const& in, Out&& out, int root = 0)
    {
        return own().submit(both<In, Out>(op::gather, in, out, root));
    }
    /// Rows of different sizes, which the root passes as `counts`.
    template <detail::row In, detail::writable_row Out>
    auto gather(In const& in, Out&& out, std::span<std::size_t const> counts, int root)
    {
        return own().submit(by_counts(both<In, Out>(op::gather, in, out, root), {}, counts));
    }

    /// Sends blocks of one size from the root's row to the ranks in order.
    template <detail::row In, detail::writable_row Out>
    auto scatter(In const& in, Out&& out, int root = 0)
    {
        return own().submit(both<In, Out>(op::scatter, in, out, root));
    }
    template <detail::row In, detail::writable_row Out>
    auto scatter(In const& in, std::span<std::size_t const> counts, Out&& out, int root)
    {
        return own().submit(by_counts(both<In, Out>(op::scatter, in, out, root), counts, {}));
    }

    /// As gather, to all ranks.
    template <detail::row In, detail::writable_row Out>
    auto all_gather(In const& in, Out&& out)
    {
        return own().submit(both<In, Out>(op::all_gather, in, out));
    }
    template <detail::row In, detail::writable_row Out>
    auto all_gather(In const& in, Out&& out, std::span<std::size_t const> counts)
    {
        return own().submit(by_counts(both<In, Out>(op::all_gather, in, out), {}, counts));
    }
    /// Each rank's row is already in its place in `data`.
    template <detail::writable_row Data>
    auto all_gather(Data&& data)
    {
        return own().submit(in_place<Data>(op::all_gather, data));
    }

    /// Exchanges a block with each rank, in the order of ranks.
    template <detail::row In, detail::writable_row Out>
    auto all_to_all(In const& in, Out&& out)
    {
        return own().submit(both<In, Out>(op::all_to_all, in, out));
    }
    /// `counts` are the sizes of the blocks that arrive, as their senders send them.
    template <detail::row In, detail::writable_row Out>
    auto all_to_all(In const& in, std::span<std::size_t const> sent, Out&& out, std::span<std::size_t const> counts)
    {
        return own().submit(by_counts(both<In, Out>(op::all_to_all, in, out), sent, counts));
    }

    /// Exchanges a block with each neighbour, in the order of the lists.
    template <detail::row In, detail::writable_row Out>
    auto exchange(neighbours const& n, In const& in, Out&& out)
    {
        return own().submit(among(n, both<In, Out>(op::exchange, in, out)));
    }
    template <detail::row In, detail::writable_row Out>
    auto exchange(neighbours const& n, In const& in, std::span<std::size_t const> sent, Out&& out, std::span<std::size_t const> counts)
    {
        return own().submit(among(n, by_counts(both<In, Out>(op::exchange, in, out), sent, counts)));
    }

    /// Combines element by element, x0 op x1 op x2 ... over the ranks, into the root's `out`.
    template <detail::row In, detail::writable_row Out, detail::single Op = std::plus<>>
    auto reduce(In const& in, Out&& out, Op combine = {}, int root = 0)
    {
        return submit<In>(both<In, Out>(op::reduce, in, out, root), std::move(combine));
    }

    /// The same into `out` of all ranks.
    template <detail::row In, detail::writable_row Out, detail::single Op = std::plus<>>
    auto all_reduce(In const& in, Out&& out, Op combine = {})
    {
        return submit<In>(both<In, Out>(op::all_reduce, in, out), std::move(combine));
    }
    /// The result replaces each rank's contribution.
    template <detail::writable_row Data, detail::single Op = std::plus<>>
    auto all_reduce(Data&& data, Op combine = {})
    {
        return submit<Data>(in_place<Data>(op::all_reduce, data), std::move(combine));
    }

    /// Splits the result into blocks of one size, or of `counts`, one for each rank.
    template <detail::row In, detail::writable_row Out, detail::single Op = std::plus<>>
    auto reduce_scatter(In const& in, Out&& out, Op combine = {})
    {
        return submit<In>(both<In, Out>(op::reduce_scatter, in, out), std::move(combine));
    }
    template <detail::row In, detail::writable_row Out, detail::single Op = std::plus<>>
    auto reduce_scatter(In const& in, std::span<std::size_t const> counts, Out&& out, Op combine = {})
    {
        return submit<In>(by_counts(both<In, Out>(op::reduce_scatter, in, out), {}, counts), std::move(combine));
    }

    /// Combines over the ranks up to this one.
    template <detail::row In, detail::writable_row Out, detail::single Op = std::plus<>>
    auto inclusive_scan(In const& in, Out&& out, Op combine = {})
    {
        return submit<In>(both<In, Out>(op::inclusive_scan, in, out), std::move(combine));
    }
    /// Combines over the ranks before this one; the first rank's `out` stays unchanged.
    template <detail::row In, detail::writable_row Out, detail::single Op = std::plus<>>
    auto exclusive_scan(In const& in, Out&& out, Op combine = {})
    {
        return submit<In>(both<In, Out>(op::exclusive_scan, in, out), std::move(combine));
    }

private:
    friend Team;
    team_operations() = default;
    using op = detail::team_operation;

    Team& own() noexcept { return static_cast<Team&>(*this); }

    template <class... Rows>
    [[nodiscard]] static detail::team_call calls(op what, int root)
    {
        using T = typename detail::element_of_rows<Rows...>::type;
        detail::check_element<T>();
        return {.what = what, .element = sizeof(T), .root = root};
    }
    template <class In, class Out>
    [[nodiscard]] static detail::team_call both(op what, In const& in, Out& out, int root = 0)
    {
        auto c = calls<In, Out>(what, root);
        detail::send_from(c, in);
        detail::receive_in(c, out);
        return c;
    }
    template <class Data>
    [[nodiscard]] static detail::team_call in_place(op what, Data& data)
    {
        auto c = calls<Data>(what, 0);
        detail::receive_in(c, data);
        c.in_place = true;
        return c;
    }
    [[nodiscard]] static detail::team_call by_counts(detail::team_call c, std::span<std::size_t const> sent,
                                                     std::span<std::size_t const> received)
    {
        c.by_counts = true;
        c.send_counts = sent;
        c.receive_counts = received;
        return c;
    }
    [[nodiscard]] static detail::team_call among(neighbours const& n, detail::team_call c)
    {
        c.sources = n.sources;
        c.destinations = n.destinations;
        return c;
    }
    template <class Row, class Op>
    auto submit(detail::team_call c, Op combine)
    {
        return own().template submit<typename detail::element_of_rows<Row>::type>(c, std::move(combine));
    }
};

} // namespace towline
