// Plans of reductions (6.9 to 6.11).

#include "collective/call.hpp"
#include "mpi/collective_checks.hpp"
#include "mpi/collective_plans.hpp"

namespace towline::mpi::plans {
namespace {

using elements = reduction::elements;

constexpr payload_names in_names{"sendbuf", "count", "datatype"};
constexpr payload_names out_names{"recvbuf", "count", "datatype"};
constexpr payload_names block_in_names{"sendbuf", "recvcount", "datatype"};
constexpr payload_names block_out_names{"recvbuf", "recvcount", "datatype"};

void check_alias(elements const& in, elements const& out)
{
    mpi::check_alias(in.at, out.at, out.bytes);
}

void only_within(communicator const& c)
{
    if (c.is_inter()) [[unlikely]]
        throw_only_within(c);
}

/// A rank's contribution and its result, with equally many elements.
struct buffers {
    void const* send;
    void* receive;
};

[[nodiscard]] buffers both(work& o, communicator const& c, void const* sendbuf, void* recvbuf, MPI_Count count)
{
    elements const out = o.reduction().of(recvbuf, count, out_names);
    if (is_in_place(c, sendbuf, "sendbuf"))
        return {collective::in_place, o.inout(out)};
    elements const in = o.reduction().of(sendbuf, count, in_names);
    check_alias(in, out);
    void const* const send = o.input(in);
    return {send, o.output(out)};
}

/// The same if the result is a part of the contribution: `total` elements in, `count` out.
[[nodiscard]] buffers part(work& o, communicator const& c, void const* sendbuf, void* recvbuf, MPI_Count total, MPI_Count count)
{
    elements const out = o.reduction().of(recvbuf, count, block_out_names);
    if (!is_in_place(c, sendbuf, "sendbuf")) {
        elements const in = o.reduction().of(sendbuf, total, block_in_names);
        check_alias(in, out);
        void const* const send = o.input(in);
        return {send, o.output(out)};
    }
    elements const in = o.reduction().of(recvbuf, total, block_out_names);
    if (!in.packed)
        return {collective::in_place, in.at};
    std::byte* const all = o.staging(in.bytes);
    o.pack_before(in.data, all);
    if (count != 0)
        o.unpack_after(out.data, all);
    return {collective::in_place, all};
}

} // namespace

void reduce(work& o, communicator& c, void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root)
{
    o.describe({"MPI_Reduce", root, count, datatype, op});
    rooted const r = rooted_at(c, root);
    if (!r.takes_part)
        return;
    o.reduction().set(op, datatype);
    auto const n = static_cast<std::uint64_t>(count);
    collective::combination const& how = o.reduction().how();
    if (!r.is_root) {
        void const* const send = o.input(o.reduction().of(sendbuf, count, in_names));
        return o.calls(collective::reduce(send, nullptr, n, how, r.root));
    }
    if (c.is_inter())
        return o.calls(collective::reduce(nullptr, o.output(o.reduction().of(recvbuf, count, out_names)), n, how, r.root));
    buffers const b = both(o, c, sendbuf, recvbuf, count);
    o.calls(collective::reduce(b.send, b.receive, n, how, r.root));
}

void allreduce(work& o, communicator& c, void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op)
{
    o.describe({"MPI_Allreduce", -1, count, datatype, op});
    o.reduction().set(op, datatype);
    buffers const b = both(o, c, sendbuf, recvbuf, count);
    o.calls(collective::allreduce(b.send, b.receive, static_cast<std::uint64_t>(count), o.reduction().how()));
}

void reduce_scatter(work& o, communicator& c, void const* sendbuf, void* recvbuf, wide_array recvcounts, MPI_Datatype datatype, MPI_Op op)
{
    o.describe({.name = "MPI_Reduce_scatter", .op = op});
    o.reduction().set(op, datatype);
    check_array(recvcounts.is_null(), c.size(), "recvcounts");
    std::int64_t total = 0;
    for (int i = 0; i < c.size(); ++i) {
        std::int64_t const count = count_at(recvcounts, i, "recvcounts");
        o.receiving().add(static_cast<std::uint64_t>(count));
        if (__builtin_add_overflow(total, count, &total))
            throw_too_many(count, c.size());
    }
    buffers const b = part(o, c, sendbuf, recvbuf, total, recvcounts[static_cast<std::size_t>(c.rank())]);
    o.calls(collective::reduce_scatter(b.send, b.receive, o.receiving().sizes, o.reduction().how()));
}

void reduce_scatter_block(work& o, communicator& c, void const* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                          MPI_Op op)
{
    o.describe({"MPI_Reduce_scatter_block", -1, recvcount, datatype, op});
    o.reduction().set(op, datatype);
    check_count(recvcount, "recvcount");
    buffers const b = part(o, c, sendbuf, recvbuf, times(recvcount, c.size()), recvcount);
    o.calls(collective::reduce_scatter_block(b.send, b.receive, static_cast<std::uint64_t>(recvcount), o.reduction().how()));
}

void scan(work& o, communicator& c, void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op)
{
    o.describe({"MPI_Scan", -1, count, datatype, op});
    only_within(c);
    o.reduction().set(op, datatype);
    buffers const b = both(o, c, sendbuf, recvbuf, count);
    o.calls(collective::scan(b.send, b.receive, static_cast<std::uint64_t>(count), o.reduction().how()));
}

void exscan(work& o, communicator& c, void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op)
{
    o.describe({"MPI_Exscan", -1, count, datatype, op});
    only_within(c);
    o.reduction().set(op, datatype);
    auto const n = static_cast<std::uint64_t>(count);
    if (c.rank() != 0) {
        buffers const b = both(o, c, sendbuf, recvbuf, count);
        return o.calls(collective::exscan(b.send, b.receive, n, o.reduction().how()));
    }
    // The receive buffer of the first rank keeps its content; only in place is it read.
    void const* const mine = is_in_place(c, sendbuf, "sendbuf") ? recvbuf : sendbuf;
    elements const in = o.reduction().of(mine, count, in_names);
    // If send and receive memory are equal here, they are so on the other ranks, which refuse them; this rank must refuse them, too. On one
    // rank anything is allowed.
    if (sendbuf != MPI_IN_PLACE && c.size() > 1)
        mpi::check_alias(sendbuf, recvbuf, in.bytes);
    void const* const send = o.input(in);
    o.calls(collective::exscan(send, nullptr, n, o.reduction().how()));
}

} // namespace towline::mpi::plans
