#pragma once
// The operations that the ranks of a team do together: what `team` (team.hpp) and what it starts have in common.

#include <towline/detail/team_api.hpp>
#include <towline/detail/team_rows.hpp>
#include <towline/reductions.hpp>
#include <towline/strided_view.hpp>

#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace towline {

/// Whom a rank of a team exchanges blocks with (team_operations::exchange): ranks of the team, negative ones are nobody. Where the same two
/// are neighbours more than once, the n-th block that is sent is the n-th that is received.
struct neighbours {
    std::vector<int> sources;
    std::vector<int> destinations;
};

/// The operations of a team, after those of MPI and of std. Each is called by all ranks of the team, in the same order and with arguments
/// that fit together, from one thread at a time. Rows are contiguous ranges (vector, rma_vector, array, span, ...) of elements whose bytes
/// are their value (towline::bitwise); a row that is only looked at by the root may be empty elsewhere. Rows may not overlap. A
/// strided_view is a row, too: of its elements in row-major order, which are packed and unpacked on the way unless they lie in a row.
///
/// `team` has them as they are: they block until this rank's part is done, and its rows may be used again. `team::start()` gives the same
/// operations as futures: leave the rows alone until the future is ready. They go on whenever this process calls or waits for anything, and
/// in the background while it computes.
///
/// Throw usage_error for rows whose sizes do not fit together, a root that is no rank, a wait inside a small function, after the world's
/// end; peer_error when a rank of the team died; error when its memory could not be reached. The other ranks then throw, too, unless
/// they need nothing of the one in trouble: usage_error where its rows were wrong. Only for one that gave a root that is no rank, or that
/// called inside a small function, they wait. Rows have no particular content then.
///
/// Operations of reductions take two elements and give one; they are grouped in any way, so they must be associative, and keep the order of
/// ranks (reductions.hpp). They must not throw, wait, or call anything of Towline. Results do not depend on the algorithm for integers; for
/// floating-point numbers they have the same bits on every rank, and from run to run if TOWLINE_DETERMINISTIC=1.
template <class Team>
class team_operations {
public:
    /// Returns when all ranks have come here.
    auto barrier() { return own().submit({.what = op::barrier}); }

    /// The root's row, as long on all ranks, to all.
    template <detail::writable_row Data>
    auto broadcast(Data&& data, int root = 0)
    {
        auto c = calls<Data>(op::broadcast, root);
        detail::receive_in(c, data);
        return own().submit(c);
    }

    /// Rows of one size, one behind the other in the order of ranks, to the root's `out`.
    template <detail::row In, detail::writable_row Out>
    auto gather(In const& in, Out&& out, int root = 0)
    {
        return own().submit(both<In, Out>(op::gather, in, out, root));
    }
    /// Rows of different sizes: `counts` says them, at the root.
    template <detail::row In, detail::writable_row Out>
    auto gather(In const& in, Out&& out, std::span<std::size_t const> counts, int root)
    {
        return own().submit(by_counts(both<In, Out>(op::gather, in, out, root), {}, counts));
    }

    /// The root's row in blocks of one size, in the order of ranks.
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
    /// Each rank's row is already in its place.
    template <detail::writable_row Data>
    auto all_gather(Data&& data)
    {
        return own().submit(in_place<Data>(op::all_gather, data));
    }

    /// A block to each rank and from each rank, in their order.
    template <detail::row In, detail::writable_row Out>
    auto all_to_all(In const& in, Out&& out)
    {
        return own().submit(both<In, Out>(op::all_to_all, in, out));
    }
    /// `counts` are of the blocks that come in: what their senders send.
    template <detail::row In, detail::writable_row Out>
    auto all_to_all(In const& in, std::span<std::size_t const> sent, Out&& out, std::span<std::size_t const> counts)
    {
        return own().submit(by_counts(both<In, Out>(op::all_to_all, in, out), sent, counts));
    }

    /// A block to and from each neighbour, in the order of the lists.
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

    /// Element by element: x0 op x1 op x2 ... over the ranks, to the root's `out`.
    template <detail::row In, detail::writable_row Out, detail::single Op = std::plus<>>
    auto reduce(In const& in, Out&& out, Op combine = {}, int root = 0)
    {
        return submit<In>(both<In, Out>(op::reduce, in, out, root), std::move(combine));
    }

    /// The same to all ranks.
    template <detail::row In, detail::writable_row Out, detail::single Op = std::plus<>>
    auto all_reduce(In const& in, Out&& out, Op combine = {})
    {
        return submit<In>(both<In, Out>(op::all_reduce, in, out), std::move(combine));
    }
    /// In place of what each rank brings.
    template <detail::writable_row Data, detail::single Op = std::plus<>>
    auto all_reduce(Data&& data, Op combine = {})
    {
        return submit<Data>(in_place<Data>(op::all_reduce, data), std::move(combine));
    }

    /// The result in blocks, of one size, or of `counts`, each to its rank.
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

    /// Over the ranks up to this one.
    template <detail::row In, detail::writable_row Out, detail::single Op = std::plus<>>
    auto inclusive_scan(In const& in, Out&& out, Op combine = {})
    {
        return submit<In>(both<In, Out>(op::inclusive_scan, in, out), std::move(combine));
    }
    /// Over the ranks before this one; the first one's `out` stays as it is.
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
