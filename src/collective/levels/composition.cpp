// Operations in two levels: parts of a schedule that are operations within this rank's node, and messages along a line, which are the ranks
// of equal index on all nodes. With one leader a node, one line does all of it, mostly line 0; with shares, every line does its part of the
// data at the same time, so that all ranks of a node send and receive (the multi-root operations of the field).
//
// Every rank of a node has as many parts over its lanes in an operation, whatever the sizes: ranks that disagree about those end with an
// error, and the next operation finds all of them at the same place. `skip` stands for a part that is not needed.

#include "collective/levels/levels.hpp"
#include "collective/levels/row_of_ranks.hpp"
#include "collective/operations.hpp"
#include "collective/share.hpp"

#include <vector>

namespace towline::collective {
namespace {

class composition {
public:
    composition(schedule& s, call const& c, int lines) : s_(s), v_(*s.levels()), c_(c), lines_(lines)
    {
        s.allow(v_.lanes(), &v_);
        s.combine_with(c.how);
    }
    void barrier();
    void bcast();
    void gather();
    void scatter();
    void allgather();  ///< allgatherv, too
    void alltoall();
    void reduce();
    void allreduce();
    void reduce_scatter();
    void scan();  ///< exscan, too

private:
    // Parts.

    void within(call const&);
    void skip() { within({}); }
    /// Of this rank's line; roots are numbers of nodes.
    void along(call const&);

    // Who this rank is.

    [[nodiscard]] int node() const noexcept { return v_.here().node; }
    [[nodiscard]] int index() const noexcept { return v_.here().index; }
    [[nodiscard]] bool is_in_a_line() const noexcept { return index() < lines_; }
    [[nodiscard]] bool has_shares() const noexcept { return lines_ > 1; }
    [[nodiscard]] levels::place root() const noexcept { return v_.place_of(c_.root); }
    [[nodiscard]] bool is_beside_root() const noexcept { return node() == root().node; }
    [[nodiscard]] bool is_root() const noexcept { return is_beside_root() && index() == root().index; }
    [[nodiscard]] static std::uint64_t n(int count) noexcept { return static_cast<std::uint64_t>(count); }
    [[nodiscard]] std::uint64_t ranks() const noexcept { return v_.order().size(); }

    // Data.

    /// The shares of lines in so many bytes, for all ranks of this node, or the first so many lines.
    [[nodiscard]] row_of_blocks shares_of(std::uint64_t bytes, std::uint64_t element, int count) const;
    [[nodiscard]] std::uint64_t share_begin(std::uint64_t bytes, int line) const noexcept { return share(bytes, 1, line, lines_); }
    /// Copies `size` bytes of a row of ranks, from its byte `first` on, which lies at `at`, to where they belong in the program's buffer;
    /// and back.
    void put(row_of_ranks const& row, std::uint64_t first, std::uint64_t size, std::byte const* at, void* buffer)
    {
        row.for_each(first, size, buffer, [&](std::uint64_t from, std::byte* there, std::uint64_t bytes) {
            s_.copy(there, at + (from - first), bytes);
        });
    }
    void fetch(row_of_ranks const& row, std::uint64_t first, std::uint64_t size, std::byte* at, void const* buffer)
    {
        row.for_each(first, size, const_cast<void*>(buffer), [&](std::uint64_t from, std::byte const* there, std::uint64_t bytes) {
            s_.copy(at + (from - first), there, bytes);
        });
    }
    /// Blocks before that of the rank in such a row.
    [[nodiscard]] std::uint64_t number_of(int node, int index) const noexcept { return n(v_.begin_of(node)) + n(index); }

    /// This node's operands combined, each line's share at its rank: `result`.
    void reduce_here(std::vector<std::uint64_t> const& counts, void* result);
    /// Sizes in elements of the reduction.
    [[nodiscard]] std::vector<std::uint64_t> in_elements(row_of_blocks const& blocks) const
    {
        std::vector<std::uint64_t> counts;
        for (std::uint64_t const size : blocks.sizes)
            counts.push_back(size / c_.how.element);
        return counts;
    }

    schedule& s_;
    levels const& v_;
    call const c_;
    int const lines_;
};

void composition::within(call const& c)
{
    s_.end_part();
    std::span<int const> const here = v_.ranks_of(node());
    by_messages::members const all{{index(), static_cast<int>(here.size())}};
    auto const exchange = [all, &v = v_, node = node()](schedule& s, call const& what) {
        s.among(v.ranks_of(node));
        by_messages::build(s, all, what);
        s.among({});
    };
    if (v_.lanes() == nullptr) {
        exchange(s_, c);
    } else {
        over_lanes::build(s_, c, v_.is_crowded());
        s_.is_called({c_.what, c_.root});
        if (over_lanes::may_leave(*v_.lanes(), c))
            s_.otherwise([&] { return [again = kept(s_, c), exchange](schedule& s) { exchange(s, again); }; });
    }
    s_.end_part();
}

void composition::along(call const& c)
{
    s_.among(v_.line());
    by_messages::build(s_, {{node(), v_.nodes()}}, c);
    s_.among({});
}

row_of_blocks composition::shares_of(std::uint64_t bytes, std::uint64_t element, int count) const
{
    row_of_blocks all;
    for (int i = 0; i < count; ++i)
        all.add(i < lines_ ? share(bytes, element, i + 1, lines_) - share(bytes, element, i, lines_) : 0);
    return all;
}

void composition::barrier()
{
    auto* const flags = s_.own_scratch(ranks());
    within(collective::gather(index() == 0 ? in_place : flags, flags, 1, 0));
    if (is_in_a_line())
        along(collective::barrier());
    within(collective::bcast(flags, 1, 0));
}

void composition::bcast()
{
    // Without shares, the line of the root does it, if there is one: its messages wait for nobody on their node.
    int const leader = root().index < v_.fewest() ? root().index : 0;
    auto* const data = static_cast<std::byte*>(c_.receive);
    row_of_blocks const shares = shares_of(c_.bytes, 1, v_.ranks_on(node()));
    auto const send_on = [&] {
        if (has_shares() && is_in_a_line())
            along(collective::bcast(data + shares.offsets[n(index())], shares.sizes[n(index())], root().node));
        else if (!has_shares() && index() == leader)
            along(collective::bcast(data, c_.bytes, root().node));
    };
    if (is_beside_root()) {
        bool const has_data = !has_shares() && is_root() && index() == leader;
        if (has_data)
            send_on();
        within(collective::bcast(data, c_.bytes, root().index));
        if (!has_data)
            send_on();
        return;
    }
    send_on();
    if (has_shares())
        within(collective::allgatherv(in_place, shares.sizes[n(index())], data, shares.sizes, shares.offsets));
    else
        within(collective::bcast(data, c_.bytes, leader));
}

void composition::gather()
{
    std::uint64_t const b = c_.bytes, here = n(v_.ranks_on(node()));
    void const* const own = c_.send == in_place ? c_.receiving.at(c_.receive, c_.root) : c_.send;
    row_of_blocks nodes;
    for (int m = 0; m < v_.nodes(); ++m)
        nodes.add(has_shares() ? b : b * n(v_.ranks_on(m)));
    // What a line brings to the root's node.
    std::byte* const brought = is_beside_root() && is_in_a_line() ? s_.scratch(nodes.total) : nullptr;
    if (has_shares()) {
        skip();
        along(collective::gather(own, brought, b, root().node));
    } else {
        std::byte* const packed = is_in_a_line() ? s_.scratch(b * here) : nullptr;
        within(collective::gather(own, packed, b, 0));
        if (is_in_a_line())
            along(collective::gatherv(packed, b * here, brought, nodes.sizes, nodes.offsets, root().node));
    }
    if (!is_beside_root())
        return;
    row_of_blocks lines;
    for (std::uint64_t i = 0; i < here; ++i)
        lines.add(i < n(lines_) ? nodes.total : 0);
    std::byte* all = brought;
    if (!has_shares() && root().index == 0) {
        skip();
    } else {
        all = is_root() ? s_.scratch(lines.total) : nullptr;
        within(collective::gatherv(brought, lines.sizes[n(index())], all, lines.sizes, lines.offsets, root().index));
    }
    if (!is_root())
        return;
    row_of_ranks const row(v_, layout_of_blocks(b));
    if (!has_shares())
        return put(row, 0, nodes.total, all, c_.receive);
    for (int i = 0; i < lines_; ++i)
        for (int m = 0; m < v_.nodes(); ++m)
            put(row, number_of(m, i) * b, b, all + (n(i) * n(v_.nodes()) + n(m)) * b, c_.receive);
}

void composition::scatter()
{
    std::uint64_t const b = c_.bytes, here = n(v_.ranks_on(node()));
    bool const keeps_own = c_.receive == in_place;
    void* const landing = keeps_own ? s_.scratch(b) : c_.receive;
    row_of_blocks nodes;
    for (int m = 0; m < v_.nodes(); ++m)
        nodes.add(has_shares() ? b : b * n(v_.ranks_on(m)));
    std::byte* brought = nullptr;  // what a line sends from the root's node
    if (is_beside_root()) {
        row_of_blocks lines;
        for (std::uint64_t i = 0; i < here; ++i)
            lines.add(i < n(lines_) ? nodes.total : 0);
        std::byte* const all = is_root() ? s_.scratch(lines.total) : nullptr;
        row_of_ranks const row(v_, layout_of_blocks(b));
        if (is_root() && !has_shares())
            fetch(row, 0, nodes.total, all, c_.send);
        for (int i = 0; is_root() && has_shares() && i < lines_; ++i)
            for (int m = 0; m < v_.nodes(); ++m)
                fetch(row, number_of(m, i) * b, b, all + (n(i) * n(v_.nodes()) + n(m)) * b, c_.send);
        brought = is_in_a_line() && !(is_root() && !has_shares()) ? s_.scratch(nodes.total) : all;
        if (!has_shares() && root().index == 0)
            skip();
        else
            within(collective::scatterv(all, lines.sizes, lines.offsets, brought, lines.sizes[n(index())], root().index));
    }
    if (has_shares()) {
        skip();
        return along(collective::scatter(brought, landing, b, root().node));
    }
    std::byte* const packed = is_in_a_line() ? s_.scratch(b * here) : nullptr;
    if (is_in_a_line())
        along(collective::scatterv(brought, nodes.sizes, nodes.offsets, packed, b * here, root().node));
    within(collective::scatter(packed, landing, b, 0));
}

void composition::allgather()
{
    row_of_ranks const row(v_, c_.receiving);
    row_of_blocks const here = row.ranks_of(node());
    std::uint64_t const b = here.sizes[n(index())];
    void const* const own = c_.send == in_place ? c_.receiving.at(c_.receive, v_.ranks_of(node())[n(index())]) : c_.send;
    // Of nodes that have it in order, the row of all blocks is the program's buffer.
    std::byte* const there = row.found_in(c_.receive);
    std::byte* const all = there != nullptr ? there : s_.scratch(row.total());
    std::byte* const packed = all + row.begin_of(node());
    bool const is_there = own == packed + here.offsets[n(index())];
    auto const from = [&](bool may_be_in_place) { return may_be_in_place && is_there ? in_place : own; };
    if (!has_shares()) {
        row_of_blocks const nodes = row.nodes();
        if (c_.receiving.is_listed())
            within(collective::gatherv(from(index() == 0), b, packed, here.sizes, here.offsets, 0));
        else
            within(collective::gather(from(index() == 0), packed, b, 0));
        if (is_in_a_line())
            along(collective::allgatherv(in_place, here.total, all, nodes.sizes, nodes.offsets));
        within(collective::bcast(all, row.total(), 0));
        if (all != there)
            put(row, 0, row.total(), all, c_.receive);
        return;
    }
    // Line i brings the i-th share of every node's blocks.
    within(collective::allgatherv(from(true), b, packed, here.sizes, here.offsets));
    auto const begin = [&](int m, int line) { return share_begin(row.bytes_of(m), line); };
    std::vector<row_of_blocks> lines(n(lines_));
    row_of_blocks brought;
    for (int i = 0; i < v_.ranks_on(node()); ++i) {
        for (int m = 0; i < lines_ && m < v_.nodes(); ++m)
            lines[n(i)].add(begin(m, i + 1) - begin(m, i));
        brought.add(i < lines_ ? lines[n(i)].total : 0);
    }
    std::byte* const shares = s_.scratch(brought.total);
    std::uint64_t const mine = brought.sizes[n(index())];
    if (is_in_a_line()) {
        row_of_blocks const& line = lines[n(index())];
        along(collective::allgatherv(packed + begin(node(), index()), line.sizes[n(node())], shares + brought.offsets[n(index())],
                                     line.sizes, line.offsets));
    }
    within(collective::allgatherv(in_place, mine, shares, brought.sizes, brought.offsets));
    for (int i = 0; i < lines_; ++i)
        for (int m = 0; m < v_.nodes(); ++m)
            put(row, row.begin_of(m) + begin(m, i), lines[n(i)].sizes[n(m)], shares + brought.offsets[n(i)] + lines[n(i)].offsets[n(m)],
                c_.receive);
}

void composition::alltoall()
{
    // All nodes have as many ranks. Blocks go first to the rank of this node whose line their receiver is in.
    std::uint64_t const b = c_.receiving.size(0), lines = n(lines_), nodes = n(v_.nodes()), all = b * ranks();
    row_of_ranks const row(v_, layout_of_blocks(b));
    void const* const own = c_.send == in_place ? c_.receive : c_.send;
    std::byte* const a = s_.scratch(all);
    std::byte* const other = s_.scratch(all);
    auto const each = [&](auto&& put) {
        for (std::uint64_t i = 0; i < lines; ++i)
            for (std::uint64_t m = 0; m < nodes; ++m)
                put(i * nodes + m, m * lines + i);
    };
    each([&](std::uint64_t by_line, std::uint64_t by_node) { fetch(row, by_node * b, b, a + by_line * b, own); });
    within(collective::alltoall(a, b * nodes, other, b * nodes));
    each([&](std::uint64_t by_line, std::uint64_t by_node) { s_.copy(a + by_node * b, other + by_line * b, b); });
    along(collective::alltoall(a, b * lines, other, b * lines));
    put(row, 0, all, other, c_.receive);
}

void composition::reduce_here(std::vector<std::uint64_t> const& counts, void* result)
{
    void const* const own = c_.send == in_place ? c_.receive : c_.send;
    if (has_shares())
        return within(collective::reduce_scatter(own, result, counts, c_.how));
    within(collective::reduce(own == result && index() == 0 ? in_place : own, result, c_.bytes, c_.how, 0));
}

void composition::reduce()
{
    std::uint64_t const bytes = c_.bytes * c_.how.element;
    row_of_blocks const shares = shares_of(bytes, c_.how.element, v_.ranks_on(node()));
    std::vector<std::uint64_t> const counts = in_elements(shares);
    bool const is_there = !has_shares() && is_root() && index() == 0;
    std::uint64_t const mine = shares.sizes[n(index())];
    std::byte* const part = is_there ? static_cast<std::byte*>(c_.receive) : s_.scratch(mine);
    reduce_here(counts, part);
    if (is_in_a_line())
        along(collective::reduce(is_beside_root() ? in_place : part, part, counts[n(index())], c_.how, root().node));
    if (!is_beside_root())
        return;
    if (!has_shares() && root().index == 0)
        return skip();
    within(collective::gatherv(part, mine, c_.receive, shares.sizes, shares.offsets, root().index));
}

void composition::allreduce()
{
    std::uint64_t const bytes = c_.bytes * c_.how.element;
    row_of_blocks const shares = shares_of(bytes, c_.how.element, v_.ranks_on(node()));
    std::vector<std::uint64_t> const counts = in_elements(shares);
    std::uint64_t const mine = shares.sizes[n(index())];
    std::byte* const part = has_shares() ? s_.scratch(mine) : static_cast<std::byte*>(c_.receive);
    reduce_here(counts, part);
    if (is_in_a_line())
        along(collective::allreduce(in_place, part, counts[n(index())], c_.how));
    if (has_shares())
        within(collective::allgatherv(part, mine, c_.receive, shares.sizes, shares.offsets));
    else
        within(collective::bcast(c_.receive, bytes, 0));
}

void composition::reduce_scatter()
{
    // Blocks in elements, next to each other in the order of the team.
    row_of_blocks team;
    for (int rank = 0; rank < static_cast<int>(ranks()); ++rank)
        team.add(c_.receiving.size(rank) * c_.how.element);
    layout_of_blocks const blocks(team.sizes, team.offsets);
    void const* const own = c_.send == in_place ? c_.receive : c_.send;
    row_of_ranks const row(v_, blocks);
    if (!has_shares()) {
        row_of_blocks const nodes = row.nodes(), here = row.ranks_of(node());
        std::byte* sum = is_in_a_line() ? s_.scratch(team.total) : nullptr;
        std::byte* const packed = is_in_a_line() ? s_.scratch(here.total) : nullptr;
        within(collective::reduce(own, sum, team.total / c_.how.element, c_.how, 0));
        if (is_in_a_line()) {
            if (row.found_in(sum) == nullptr && team.total != 0) {
                std::byte* const by_node = s_.scratch(team.total);
                fetch(row, 0, team.total, by_node, sum);
                sum = by_node;
            }
            along(collective::reduce_scatter(sum, packed, in_elements(nodes), c_.how));
        }
        return within(collective::scatterv(packed, here.sizes, here.offsets, c_.receive, here.sizes[n(index())], 0));
    }
    // All nodes have as many ranks: line i combines what belongs to its ranks.
    row_of_blocks lines, mine;
    std::byte* const by_line = s_.scratch(team.total);
    for (int i = 0; i < lines_; ++i) {
        std::uint64_t size = 0;
        for (int m = 0; m < v_.nodes(); ++m) {
            int const rank = v_.ranks_of(m)[n(i)];
            s_.copy(by_line + lines.total + size, blocks.at(own, rank), blocks.size(rank));
            size += blocks.size(rank);
            if (i == index())
                mine.add(blocks.size(rank));
        }
        lines.add(size);
    }
    std::byte* const part = s_.scratch(mine.total);
    within(collective::reduce_scatter(by_line, part, in_elements(lines), c_.how));
    along(collective::reduce_scatter(part, c_.receive, in_elements(mine), c_.how));
    skip();
}

void composition::scan()
{
    // Ranks of a node follow each other in the team, so that what is before a node is the sum of the nodes before it.
    std::uint64_t const bytes = c_.bytes * c_.how.element;
    void const* const own = c_.send == in_place ? c_.receive : c_.send;
    std::byte* const before = s_.scratch(bytes);
    std::byte* const sum = is_in_a_line() ? s_.scratch(bytes) : nullptr;
    within(collective::reduce(own, sum, c_.bytes, c_.how, 0));
    within(c_);
    if (is_in_a_line())
        along(collective::exscan(sum, before, c_.bytes, c_.how));
    if (node() == 0)
        return skip();
    within(collective::bcast(before, bytes, 0));
    if (c_.what == routine::exscan && index() == 0)
        s_.copy(c_.receive, before, bytes);
    else
        s_.combine(c_.how, before, c_.receive, c_.bytes);
}

} // namespace

void in_levels::build(schedule& s, call const& c, algorithm use)
{
    composition x(s, c, use == algorithm::node_shares ? s.levels()->fewest() : 1);
    switch (c.what) {
    case routine::barrier: x.barrier(); break;
    case routine::bcast: x.bcast(); break;
    case routine::gather: x.gather(); break;
    case routine::scatter: x.scatter(); break;
    case routine::allgather:
    case routine::allgatherv: x.allgather(); break;
    case routine::alltoall: x.alltoall(); break;
    case routine::reduce: x.reduce(); break;
    case routine::reduce_scatter: x.reduce_scatter(); break;
    case routine::scan:
    case routine::exscan: x.scan(); break;
    default: x.allreduce();
    }
    s.end_part();
}

} // namespace towline::collective
