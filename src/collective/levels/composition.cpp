// Operations in two levels: parts of a schedule that are operations within this rank's node, and messages along a line, which are the ranks
// of equal index on all nodes. With one leader a node, one line does all of it, mostly line 0; with shares, every line does its part of the
// data at the same time, so that all ranks of a node send and receive (the multi-root operations of the field).
//
// Every rank of a node has as many parts over its lanes in an operation, whatever the sizes: ranks that disagree about those end with an
// error, and the next operation finds all of them at the same place. `skip` stands for a part that is not needed.

#include "collective/levels/levels.hpp"
#include "collective/operations.hpp"
#include "collective/share.hpp"

#include <utility>
#include <vector>

namespace towline::collective {
namespace {

using list = std::vector<std::uint64_t>;

/// Sizes of blocks that lie next to each other.
struct row_of_blocks {
    list sizes, offsets;
    std::uint64_t total = 0;
    void add(std::uint64_t size)
    {
        sizes.push_back(size);
        offsets.push_back(std::exchange(total, total + size));
    }
};

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
    void allgather();
    void alltoall();
    void reduce();
    void allreduce();

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
    /// All blocks of so many bytes, node by node. Where that is their order in the team: the program's buffer.
    [[nodiscard]] std::byte* by_nodes(void* buffer, std::uint64_t bytes)
    {
        return v_.are_in_order() ? static_cast<std::byte*>(buffer) : s_.scratch(bytes * ranks());
    }
    /// Copies those of `size` bytes from byte `first` of that row on to where they belong in the program's buffer, or from there.
    void place(std::uint64_t first, std::uint64_t size, std::byte* row, void* buffer, std::uint64_t block, bool from_buffer = false);

    /// This node's operands combined, each line's share at its rank: `result`.
    void reduce_here(row_of_blocks const& shares, void* result);

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

void composition::place(std::uint64_t first, std::uint64_t size, std::byte* row, void* buffer, std::uint64_t block, bool from_buffer)
{
    while (size != 0) {
        std::uint64_t number = first / block;
        std::uint64_t const inside = first % block;
        std::byte* const there = static_cast<std::byte*>(buffer) + n(v_.order()[number]) * block + inside;
        std::uint64_t bytes = block - inside;
        // As long as ranks follow each other.
        while (bytes < size && v_.order()[number + 1] == v_.order()[number] + 1) {
            bytes += block;
            ++number;
        }
        bytes = std::min(bytes, size);
        from_buffer ? s_.copy(row, there, bytes) : s_.copy(there, row, bytes);
        row += bytes;
        first += bytes;
        size -= bytes;
    }
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
    if (!is_root() || b == 0)
        return;
    if (!has_shares())
        return place(0, nodes.total, all, c_.receive, b);
    for (int i = 0; i < lines_; ++i)
        for (int m = 0; m < v_.nodes(); ++m)
            place((n(v_.begin_of(m)) + n(i)) * b, b, all + (n(i) * n(v_.nodes()) + n(m)) * b, c_.receive, b);
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
        auto* const buffer = const_cast<void*>(c_.send);
        if (is_root() && b != 0 && !has_shares())
            place(0, nodes.total, all, buffer, b, true);
        for (int i = 0; is_root() && b != 0 && has_shares() && i < lines_; ++i)
            for (int m = 0; m < v_.nodes(); ++m)
                place((n(v_.begin_of(m)) + n(i)) * b, b, all + (n(i) * n(v_.nodes()) + n(m)) * b, buffer, b, true);
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
    std::uint64_t const b = c_.receiving.size(0), here = n(v_.ranks_on(node())), first = n(v_.begin_of(node())) * b;
    void const* const own = c_.send == in_place ? c_.receiving.at(c_.receive, v_.ranks_of(node())[n(index())]) : c_.send;
    // Of nodes that have it in order, the row of all blocks is the program's buffer.
    std::byte* const all = by_nodes(c_.receive, b);
    std::byte* const packed = all + first;
    bool const is_there = own == packed + n(index()) * b;
    auto const from = [&](bool may_be_in_place) { return may_be_in_place && is_there ? in_place : own; };
    if (!has_shares()) {
        row_of_blocks nodes;
        for (int m = 0; m < v_.nodes(); ++m)
            nodes.add(b * n(v_.ranks_on(m)));
        within(collective::gather(from(index() == 0), packed, b, 0));
        if (is_in_a_line())
            along(collective::allgatherv(in_place, b * here, all, nodes.sizes, nodes.offsets));
        within(collective::bcast(all, b * ranks(), 0));
        if (!v_.are_in_order() && b != 0)
            place(0, b * ranks(), all, c_.receive, b);
        return;
    }
    // Line i brings the i-th share of every node's blocks.
    within(collective::allgather(from(true), b, packed, b));
    auto const begin = [&](int m, int line) { return share_begin(b * n(v_.ranks_on(m)), line); };
    std::vector<row_of_blocks> lines(n(lines_));
    row_of_blocks brought;
    for (int i = 0; i < v_.ranks_on(node()); ++i) {
        for (int m = 0; i < lines_ && m < v_.nodes(); ++m)
            lines[n(i)].add(begin(m, i + 1) - begin(m, i));
        brought.add(i < lines_ ? lines[n(i)].total : 0);
    }
    std::byte* const row = s_.scratch(brought.total);
    std::uint64_t const mine = brought.sizes[n(index())];
    if (is_in_a_line()) {
        row_of_blocks const& line = lines[n(index())];
        along(collective::allgatherv(packed + begin(node(), index()), line.sizes[n(node())], row + brought.offsets[n(index())], line.sizes,
                                     line.offsets));
    }
    within(collective::allgatherv(in_place, mine, row, brought.sizes, brought.offsets));
    for (int i = 0; i < lines_; ++i)
        for (int m = 0; m < v_.nodes(); ++m)
            place(n(v_.begin_of(m)) * b + begin(m, i), lines[n(i)].sizes[n(m)], row + brought.offsets[n(i)] + lines[n(i)].offsets[n(m)],
                  c_.receive, b);
}

void composition::alltoall()
{
    // All nodes have as many ranks. Blocks go first to the rank of this node whose line their receiver is in.
    std::uint64_t const b = c_.receiving.size(0), lines = n(lines_), nodes = n(v_.nodes()), all = b * ranks();
    auto* const own = const_cast<void*>(c_.send == in_place ? c_.receive : c_.send);
    std::byte* const a = s_.scratch(all);
    std::byte* const other = s_.scratch(all);
    auto const each = [&](auto&& put) {
        for (std::uint64_t i = 0; i < lines; ++i)
            for (std::uint64_t m = 0; m < nodes; ++m)
                put(i * nodes + m, m * lines + i);
    };
    if (b != 0)
        each([&](std::uint64_t by_line, std::uint64_t by_node) { place(by_node * b, b, a + by_line * b, own, b, true); });
    within(collective::alltoall(a, b * nodes, other, b * nodes));
    each([&](std::uint64_t by_line, std::uint64_t by_node) { s_.copy(a + by_node * b, other + by_line * b, b); });
    along(collective::alltoall(a, b * lines, other, b * lines));
    if (b != 0)
        place(0, all, other, c_.receive, b);
}

void composition::reduce_here(row_of_blocks const& shares, void* result)
{
    void const* const own = c_.send == in_place ? c_.receive : c_.send;
    if (has_shares())
        return within(collective::reduce_scatter(own, result, shares.sizes, c_.how));
    within(collective::reduce(own == result && index() == 0 ? in_place : own, result, c_.bytes, c_.how, 0));
}

void composition::reduce()
{
    std::uint64_t const bytes = c_.bytes * c_.how.element;
    row_of_blocks shares = shares_of(bytes, c_.how.element, v_.ranks_on(node()));
    row_of_blocks counts;
    for (std::uint64_t const size : shares.sizes)
        counts.add(size / c_.how.element);
    bool const is_there = !has_shares() && is_root() && index() == 0;
    std::uint64_t const mine = shares.sizes[n(index())];
    std::byte* const part = is_there ? static_cast<std::byte*>(c_.receive) : s_.scratch(mine);
    reduce_here(counts, part);
    if (is_in_a_line())
        along(collective::reduce(is_beside_root() ? in_place : part, part, counts.sizes[n(index())], c_.how, root().node));
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
    row_of_blocks counts;
    for (std::uint64_t const size : shares.sizes)
        counts.add(size / c_.how.element);
    std::uint64_t const mine = shares.sizes[n(index())];
    std::byte* const part = has_shares() ? s_.scratch(mine) : static_cast<std::byte*>(c_.receive);
    reduce_here(counts, part);
    if (is_in_a_line())
        along(collective::allreduce(in_place, part, counts.sizes[n(index())], c_.how));
    if (has_shares())
        within(collective::allgatherv(part, mine, c_.receive, shares.sizes, shares.offsets));
    else
        within(collective::bcast(c_.receive, bytes, 0));
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
    case routine::allgather: x.allgather(); break;
    case routine::alltoall: x.alltoall(); break;
    case routine::reduce: x.reduce(); break;
    default: x.allreduce();
    }
    s.end_part();
}

} // namespace towline::collective
