// Plans of neighbourhood collectives.

#include "mpi/collective_plans.hpp"

#include "collective/call.hpp"
#include "mpi/collective_blocks.hpp"
#include "mpi/collective_checks.hpp"

#include <fmt/format.h>

namespace towline::mpi::plans {
namespace {

using work = collective_operation;

constexpr block_names received_named_displs{received_blocks.each, "displs"};
constexpr block_names sent_with_types{{"sendbuf", "sendcounts", "sendtypes"}, "sdispls"};
constexpr block_names received_with_types{{"recvbuf", "recvcounts", "recvtypes"}, "rdispls"};

[[nodiscard]] collective::neighbourhood neighbours_in(communicator& c)
{
    if (c.topology() == nullptr) [[unlikely]]
        throw failure(MPI_ERR_TOPOLOGY, fmt::format("comm is {}, which has no topology, and so no neighbours",
                                                    c.name().empty() ? "a communicator without a name" : c.name()));
    return c.topology()->neighbours();
}

/// Sends one block to all neighbours. The incoming blocks are added already.
void gather(work& o, collective::neighbourhood const& n, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype)
{
    payload const out(sendbuf, sendcount, sendtype, send_names);
    work::blocks& in = o.receiving();
    o.calls(collective::exchange(n, o.input(out), {static_cast<std::uint64_t>(out.bytes()), std::uint64_t{0}}, nullptr,
                                 {in.sizes, in.addresses}));
}

void exchange(work& o, collective::neighbourhood const& n)
{
    work::blocks& out = o.sending();
    work::blocks& in = o.receiving();
    o.calls(collective::exchange(n, nullptr, {out.sizes, out.addresses}, nullptr, {in.sizes, in.addresses}));
}

} // namespace

void neighbor_allgather(work& o, communicator& c, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                        MPI_Count recvcount, MPI_Datatype recvtype)
{
    o.describe({"MPI_Neighbor_allgather"});
    auto const n = neighbours_in(c);
    add_blocks(o, o.receiving(), partners(n.sources), recvbuf, recvcount, recvtype, use::received, receive_names);
    gather(o, n, sendbuf, sendcount, sendtype);
}

void neighbor_allgatherv(work& o, communicator& c, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                         wide_array recvcounts, wide_array displs, MPI_Datatype recvtype)
{
    o.describe({"MPI_Neighbor_allgatherv"});
    auto const n = neighbours_in(c);
    add_blocks(o, o.receiving(), partners(n.sources), recvbuf, recvcounts, displs, recvtype, use::received, received_named_displs);
    gather(o, n, sendbuf, sendcount, sendtype);
}

void neighbor_alltoall(work& o, communicator& c, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       MPI_Count recvcount, MPI_Datatype recvtype)
{
    o.describe({"MPI_Neighbor_alltoall"});
    auto const n = neighbours_in(c);
    add_blocks(o, o.receiving(), partners(n.sources), recvbuf, recvcount, recvtype, use::received, receive_names);
    add_blocks(o, o.sending(), partners(n.destinations), sendbuf, sendcount, sendtype, use::sent, send_names);
    exchange(o, n);
}

void neighbor_alltoallv(work& o, communicator& c, void const* sendbuf, wide_array sendcounts, wide_array sdispls, MPI_Datatype sendtype,
                        void* recvbuf, wide_array recvcounts, wide_array rdispls, MPI_Datatype recvtype)
{
    o.describe({"MPI_Neighbor_alltoallv"});
    auto const n = neighbours_in(c);
    add_blocks(o, o.receiving(), partners(n.sources), recvbuf, recvcounts, rdispls, recvtype, use::received, received_blocks);
    add_blocks(o, o.sending(), partners(n.destinations), sendbuf, sendcounts, sdispls, sendtype, use::sent, sent_blocks);
    exchange(o, n);
}

void neighbor_alltoallw(work& o, communicator& c, void const* sendbuf, wide_array sendcounts, MPI_Aint const* sdispls,
                        MPI_Datatype const* sendtypes, void* recvbuf, wide_array recvcounts, MPI_Aint const* rdispls,
                        MPI_Datatype const* recvtypes)
{
    o.describe({"MPI_Neighbor_alltoallw"});
    auto const n = neighbours_in(c);
    add_blocks(o, o.receiving(), partners(n.sources), recvbuf, recvcounts, rdispls, recvtypes, use::received, received_with_types);
    add_blocks(o, o.sending(), partners(n.destinations), sendbuf, sendcounts, sdispls, sendtypes, use::sent, sent_with_types);
    exchange(o, n);
}

} // namespace towline::mpi::plans
