// Plans of the operations that move data: barrier, broadcast, gather, scatter, all to all (6.3 to 6.8).

#include "collective/call.hpp"
#include "mpi/collective_blocks.hpp"
#include "mpi/collective_checks.hpp"
#include "mpi/collective_plans.hpp"

namespace towline::mpi::plans {
namespace {

constexpr payload_names buffer_names{"buffer", "count", "datatype"};

/// Equal contiguous blocks, one for each rank, that this rank gathers or scatters.
struct all_blocks {
    payload all;
    std::uint64_t each;

    all_blocks(void const* buffer, MPI_Count count, MPI_Datatype type, int n, payload_names const& names)
    {
        check_count(count, names.count);
        all = payload(buffer, times(count, n), type, names);
        each = n == 0 ? 0 : static_cast<std::uint64_t>(all.bytes() / n);
    }
};

/// One rank's block in a buffer of equal blocks.
[[nodiscard]] payload block_of(int rank, void const* buffer, MPI_Count count, MPI_Datatype type, payload_names const& names)
{
    std::int64_t const extent = get(type, names.datatype).layout().extent();
    return {moved(buffer, times(count, rank), extent), count, type, names};
}

/// MPI_IN_PLACE: this rank's own block stays in the receive buffer, and is sent from there.
void keep_own(work& o, int rank, void* recvbuf, wide_array recvcounts, wide_array displs, MPI_Datatype recvtype)
{
    auto const i = static_cast<std::size_t>(rank);
    payload const mine(moved(recvbuf, displs[i], get(recvtype, "recvtype").layout().extent()), recvcounts[i], recvtype, receive_names);
    if (!mine.in_a_row())
        o.pack_before(mine, static_cast<std::byte*>(o.receiving().at(i)));
}

constexpr block_names sent_named_displs{sent_blocks.each, "displs"};
constexpr block_names received_named_displs{received_blocks.each, "displs"};
constexpr block_names sent_with_types{{"sendbuf", "sendcounts", "sendtypes"}, "sdispls"};
constexpr block_names received_with_types{{"recvbuf", "recvcounts", "recvtypes"}, "rdispls"};

[[nodiscard]] std::uint64_t bytes(payload const& p) noexcept
{
    return static_cast<std::uint64_t>(p.bytes());
}

/// True if this rank receives only its own block; then moves it directly.
[[nodiscard]] bool moves_all(work& o, communicator const& c, payload const& out, payload const& in)
{
    return c.size() == 1 && !c.is_inter() && o.move_own(in, out);
}

void all_to_all(work& o, own_block const* out, own_block const* in)
{
    if (in != nullptr && in->rank >= 0) {
        auto const rank = static_cast<std::size_t>(in->rank);
        work::blocks &from = o.sending(), &to = o.receiving();
        check_own(o, from.sizes[rank], to.sizes[rank]);
        check_alias(out->data, in->data, false);
        if (o.move_own(in->data, out->data)) {
            from.sizes[rank] = to.sizes[rank] = 0;
        } else {
            from.addresses[rank] = reinterpret_cast<std::uintptr_t>(o.input(out->data));
            to.addresses[rank] = reinterpret_cast<std::uintptr_t>(o.output(in->data));
        }
    }
    o.calls(collective::alltoallv(in == nullptr ? collective::in_place : nullptr, o.sending().sizes, o.sending().addresses, nullptr,
                                  o.receiving().sizes, o.receiving().addresses));
}

/// This rank's index among its destinations; negative if it is none of them.
[[nodiscard]] int own_rank(communicator const& c) noexcept
{
    return c.is_inter() ? -1 : c.rank();
}

} // namespace

void barrier(work& o, communicator&)
{
    o.describe({"MPI_Barrier"});
    o.calls(collective::barrier());
}

void bcast(work& o, communicator& c, void* buffer, MPI_Count count, MPI_Datatype datatype, int root)
{
    o.describe({"MPI_Bcast", root, count, datatype});
    rooted const r = rooted_at(c, root);
    if (!r.takes_part)
        return;
    payload const data(buffer, count, datatype, buffer_names);
    if (!c.is_inter() && c.size() == 1)
        return;
    void* const at = r.is_root ? const_cast<void*>(o.input(data)) : o.output(data);
    o.calls(collective::bcast(at, bytes(data), r.root));
}

void gather(work& o, communicator& c, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
            MPI_Datatype recvtype, int root)
{
    o.describe({"MPI_Gather", root, root == c.rank() ? recvcount : sendcount, root == c.rank() ? recvtype : sendtype});
    rooted const r = rooted_at(c, root);
    if (!r.takes_part)
        return;
    if (!r.is_root) {
        payload const out(sendbuf, sendcount, sendtype, send_names);
        return o.calls(collective::gather(o.input(out), nullptr, bytes(out), r.root));
    }
    all_blocks const in(recvbuf, recvcount, recvtype, c.peers(), receive_names);
    void* const receive = o.output(in.all);
    if (c.is_inter())
        return o.calls(collective::gather(nullptr, receive, in.each, r.root));
    payload const mine = block_of(c.rank(), recvbuf, recvcount, recvtype, receive_names);
    if (sendbuf == MPI_IN_PLACE) {
        if (!in.all.in_a_row())
            o.pack_before(mine, static_cast<std::byte*>(receive) + in.each * static_cast<std::uint64_t>(c.rank()));
        return o.calls(collective::gather(collective::in_place, receive, in.each, r.root));
    }
    payload const out(sendbuf, sendcount, sendtype, send_names);
    check_own(o, bytes(out), in.each);
    check_alias(out, mine, sendtype == recvtype);
    o.calls(collective::gather(o.input(out), receive, in.each, r.root));
}

void gatherv(work& o, communicator& c, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
             wide_array recvcounts, wide_array displs, MPI_Datatype recvtype, int root)
{
    o.describe({"MPI_Gatherv", root});
    rooted const r = rooted_at(c, root);
    if (!r.takes_part)
        return;
    if (!r.is_root) {
        payload const out(sendbuf, sendcount, sendtype, send_names);
        return o.calls(collective::gatherv(o.input(out), bytes(out), nullptr, {}, {}, r.root));
    }
    work::blocks& in = o.receiving();
    add_blocks(o, in, partners(c.peers()), recvbuf, recvcounts, displs, recvtype, use::received, received_named_displs);
    auto const rank = static_cast<std::size_t>(c.rank());
    if (c.is_inter())
        return o.calls(collective::gatherv(nullptr, 0, nullptr, in.sizes, in.addresses, r.root));
    if (sendbuf == MPI_IN_PLACE) {
        keep_own(o, c.rank(), recvbuf, recvcounts, displs, recvtype);
        return o.calls(collective::gatherv(collective::in_place, in.sizes[rank], nullptr, in.sizes, in.addresses, r.root));
    }
    payload const out(sendbuf, sendcount, sendtype, send_names);
    check_own(o, bytes(out), in.sizes[rank]);
    check_alias(out.data(), in.at(rank), in.sizes[rank]);
    o.calls(collective::gatherv(o.input(out), bytes(out), nullptr, in.sizes, in.addresses, r.root));
}

void scatter(work& o, communicator& c, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
             MPI_Datatype recvtype, int root)
{
    o.describe({"MPI_Scatter", root, root == c.rank() ? sendcount : recvcount, root == c.rank() ? sendtype : recvtype});
    rooted const r = rooted_at(c, root);
    if (!r.takes_part)
        return;
    if (!r.is_root) {
        payload const in(recvbuf, recvcount, recvtype, receive_names);
        return o.calls(collective::scatter(nullptr, o.output(in), bytes(in), r.root));
    }
    all_blocks const out(sendbuf, sendcount, sendtype, c.peers(), send_names);
    void const* const send = o.input(out.all);
    if (c.is_inter())
        return o.calls(collective::scatter(send, nullptr, out.each, r.root));
    if (recvbuf == MPI_IN_PLACE)
        return o.calls(collective::scatter(send, const_cast<void*>(collective::in_place), out.each, r.root));
    payload const in(recvbuf, recvcount, recvtype, receive_names);
    check_own(o, out.each, bytes(in));
    check_alias(block_of(c.rank(), sendbuf, sendcount, sendtype, send_names), in, sendtype == recvtype);
    o.calls(collective::scatter(send, o.output(in), out.each, r.root));
}

void scatterv(work& o, communicator& c, void const* sendbuf, wide_array sendcounts, wide_array displs, MPI_Datatype sendtype, void* recvbuf,
              MPI_Count recvcount, MPI_Datatype recvtype, int root)
{
    o.describe({"MPI_Scatterv", root});
    rooted const r = rooted_at(c, root);
    if (!r.takes_part)
        return;
    if (!r.is_root) {
        payload const in(recvbuf, recvcount, recvtype, receive_names);
        return o.calls(collective::scatterv(nullptr, {}, {}, o.output(in), bytes(in), r.root));
    }
    work::blocks& out = o.sending();
    add_blocks(o, out, partners(c.peers()), sendbuf, sendcounts, displs, sendtype, use::sent, sent_named_displs);
    auto const rank = static_cast<std::size_t>(c.rank());
    if (c.is_inter())
        return o.calls(collective::scatterv(nullptr, out.sizes, out.addresses, nullptr, 0, r.root));
    if (recvbuf == MPI_IN_PLACE)
        return o.calls(collective::scatterv(nullptr, out.sizes, out.addresses, const_cast<void*>(collective::in_place),
                                    out.sizes[rank], r.root));
    payload const in(recvbuf, recvcount, recvtype, receive_names);
    check_own(o, out.sizes[rank], bytes(in));
    check_alias(out.at(rank), in.data(), out.sizes[rank]);
    o.calls(collective::scatterv(nullptr, out.sizes, out.addresses, o.output(in), bytes(in), r.root));
}

void allgather(work& o, communicator& c, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
               MPI_Count recvcount, MPI_Datatype recvtype)
{
    o.describe({"MPI_Allgather", -1, recvcount, recvtype});
    all_blocks const in(recvbuf, recvcount, recvtype, c.peers(), receive_names);
    if (is_in_place(c, sendbuf, "sendbuf")) {
        void* const receive = o.output(in.all);
        if (!in.all.in_a_row())
            o.pack_before(block_of(c.rank(), recvbuf, recvcount, recvtype, receive_names),
                          static_cast<std::byte*>(receive) + in.each * static_cast<std::uint64_t>(c.rank()));
        return o.calls(collective::allgather(collective::in_place, in.each, receive, in.each));
    }
    payload const out(sendbuf, sendcount, sendtype, send_names);
    if (!c.is_inter()) {
        check_own(o, bytes(out), in.each);
        check_alias(out, block_of(c.rank(), recvbuf, recvcount, recvtype, receive_names), sendtype == recvtype);
    }
    if (moves_all(o, c, out, in.all))
        return;
    void* const receive = o.output(in.all);
    o.calls(collective::allgather(o.input(out), bytes(out), receive, in.each));
}

void allgatherv(work& o, communicator& c, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                wide_array recvcounts, wide_array displs, MPI_Datatype recvtype)
{
    o.describe({"MPI_Allgatherv"});
    bool const in_place = is_in_place(c, sendbuf, "sendbuf");
    work::blocks& in = o.receiving();
    add_blocks(o, in, partners(c.peers()), recvbuf, recvcounts, displs, recvtype, use::received, received_named_displs);
    auto const rank = static_cast<std::size_t>(c.rank());
    if (in_place) {
        keep_own(o, c.rank(), recvbuf, recvcounts, displs, recvtype);
        return o.calls(collective::allgatherv(collective::in_place, in.sizes[rank], nullptr, in.sizes, in.addresses));
    }
    payload const out(sendbuf, sendcount, sendtype, send_names);
    if (!c.is_inter()) {
        check_own(o, bytes(out), in.sizes[rank]);
        check_alias(out.data(), in.at(rank), in.sizes[rank]);
    }
    o.calls(collective::allgatherv(o.input(out), bytes(out), nullptr, in.sizes, in.addresses));
}

void alltoall(work& o, communicator& c, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
              MPI_Datatype recvtype)
{
    o.describe({"MPI_Alltoall", -1, recvcount, recvtype});
    all_blocks const in(recvbuf, recvcount, recvtype, c.peers(), receive_names);
    if (is_in_place(c, sendbuf, "sendbuf"))
        return o.calls(collective::alltoall(collective::in_place, in.each, o.inout(in.all), in.each));
    all_blocks const out(sendbuf, sendcount, sendtype, c.peers(), send_names);
    if (!c.is_inter()) {
        check_own(o, out.each, in.each);
        check_alias(out.all, in.all, sendtype == recvtype);
    }
    if (moves_all(o, c, out.all, in.all))
        return;
    void const* const send = o.input(out.all);
    o.calls(collective::alltoall(send, out.each, o.output(in.all), in.each));
}

void alltoallv(work& o, communicator& c, void const* sendbuf, wide_array sendcounts, wide_array sdispls, MPI_Datatype sendtype,
               void* recvbuf, wide_array recvcounts, wide_array rdispls, MPI_Datatype recvtype)
{
    o.describe({"MPI_Alltoallv"});
    bool const in_place = is_in_place(c, sendbuf, "sendbuf");
    own_block in{own_rank(c), {}}, out = in;
    add_blocks(o, o.receiving(), partners(c.peers()), recvbuf, recvcounts, rdispls, recvtype, in_place ? use::both : use::received,
               received_blocks, in_place ? nullptr : &in);
    if (!in_place)
        add_blocks(o, o.sending(), partners(c.peers()), sendbuf, sendcounts, sdispls, sendtype, use::sent, sent_blocks, &out);
    all_to_all(o, &out, in_place ? nullptr : &in);
}

void alltoallw(work& o, communicator& c, void const* sendbuf, wide_array sendcounts, wide_array sdispls, MPI_Datatype const* sendtypes,
               void* recvbuf, wide_array recvcounts, wide_array rdispls, MPI_Datatype const* recvtypes)
{
    o.describe({"MPI_Alltoallw"});
    bool const in_place = is_in_place(c, sendbuf, "sendbuf");
    own_block in{own_rank(c), {}}, out = in;
    add_blocks(o, o.receiving(), partners(c.peers()), recvbuf, recvcounts, rdispls, recvtypes, in_place ? use::both : use::received,
               received_with_types, in_place ? nullptr : &in);
    if (!in_place)
        add_blocks(o, o.sending(), partners(c.peers()), sendbuf, sendcounts, sdispls, sendtypes, use::sent, sent_with_types, &out);
    all_to_all(o, &out, in_place ? nullptr : &in);
}

} // namespace towline::mpi::plans
