// Collective operations that block (6.3 to 6.11).

#include "mpi/calls.hpp"
#include "mpi/collective_calls.hpp"
#include "mpi/collective_checks.hpp"
#include "mpi/collective_plans.hpp"
#include "mpi/collectives_at_once.hpp"

namespace towline::mpi {

void throw_ending(int code)
{
    throw failure(code, collective_operation::meaning_of(code));
}

namespace calls {

void barrier(MPI_Comm comm)
{
    if (!at_once::barrier(get(comm, "comm"), "MPI_Barrier")) [[unlikely]]
        run("MPI_Barrier", comm, plans::barrier);
}

void bcast(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    if (!at_once::bcast(get(comm, "comm"), "MPI_Bcast", buffer, count, datatype, root))
        run("MPI_Bcast", comm, plans::bcast, buffer, count, datatype, root);
}

void gather(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
            int root, MPI_Comm comm)
{
    if (!at_once::gather(get(comm, "comm"), "MPI_Gather", sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root))
        run("MPI_Gather", comm, plans::gather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root);
}

void gatherv(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, wide_array recvcounts, wide_array displs,
             MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    if (!at_once::gatherv(get(comm, "comm"), "MPI_Gatherv", sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root))
        run("MPI_Gatherv", comm, plans::gatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root);
}

void scatter(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
             int root, MPI_Comm comm)
{
    if (!at_once::scatter(get(comm, "comm"), "MPI_Scatter", sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root))
        run("MPI_Scatter", comm, plans::scatter, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root);
}

void scatterv(void const* sendbuf, wide_array sendcounts, wide_array displs, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
              MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    if (!at_once::scatterv(get(comm, "comm"), "MPI_Scatterv", sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root))
        run("MPI_Scatterv", comm, plans::scatterv, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root);
}

void allgather(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
               MPI_Comm comm)
{
    if (!at_once::allgather(get(comm, "comm"), "MPI_Allgather", sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype))
        run("MPI_Allgather", comm, plans::allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype);
}

void allgatherv(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, wide_array recvcounts, wide_array displs,
                MPI_Datatype recvtype, MPI_Comm comm)
{
    if (!at_once::allgatherv(get(comm, "comm"), "MPI_Allgatherv", sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype))
        run("MPI_Allgatherv", comm, plans::allgatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype);
}

void alltoall(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
              MPI_Comm comm)
{
    if (!at_once::alltoall(get(comm, "comm"), "MPI_Alltoall", sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype))
        run("MPI_Alltoall", comm, plans::alltoall, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype);
}

void alltoallv(void const* sendbuf, wide_array sendcounts, wide_array sdispls, MPI_Datatype sendtype, void* recvbuf, wide_array recvcounts,
               wide_array rdispls, MPI_Datatype recvtype, MPI_Comm comm)
{
    if (!at_once::alltoallv(get(comm, "comm"), "MPI_Alltoallv", sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                            recvtype))
        run("MPI_Alltoallv", comm, plans::alltoallv, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype);
}

void alltoallw(void const* sendbuf, wide_array sendcounts, wide_array sdispls, MPI_Datatype const* sendtypes, void* recvbuf,
               wide_array recvcounts, wide_array rdispls, MPI_Datatype const* recvtypes, MPI_Comm comm)
{
    run("MPI_Alltoallw", comm, plans::alltoallw, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes);
}

void reduce(void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm)
{
    if (!at_once::reduce(get(comm, "comm"), "MPI_Reduce", sendbuf, recvbuf, count, datatype, op, root))
        run("MPI_Reduce", comm, plans::reduce, sendbuf, recvbuf, count, datatype, op, root);
}

void allreduce(void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    if (!at_once::allreduce(get(comm, "comm"), "MPI_Allreduce", sendbuf, recvbuf, count, datatype, op))
        run("MPI_Allreduce", comm, plans::allreduce, sendbuf, recvbuf, count, datatype, op);
}

void reduce_scatter(void const* sendbuf, void* recvbuf, wide_array recvcounts, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    run("MPI_Reduce_scatter", comm, plans::reduce_scatter, sendbuf, recvbuf, recvcounts, datatype, op);
}

void reduce_scatter_block(void const* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    if (!at_once::reduce_scatter_block(get(comm, "comm"), "MPI_Reduce_scatter_block", sendbuf, recvbuf, recvcount, datatype, op))
        run("MPI_Reduce_scatter_block", comm, plans::reduce_scatter_block, sendbuf, recvbuf, recvcount, datatype, op);
}

void scan(void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    if (!at_once::scan(get(comm, "comm"), "MPI_Scan", sendbuf, recvbuf, count, datatype, op))
        run("MPI_Scan", comm, plans::scan, sendbuf, recvbuf, count, datatype, op);
}

void exscan(void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    run("MPI_Exscan", comm, plans::exscan, sendbuf, recvbuf, count, datatype, op);
}

void reduce_local(void const* inbuf, void* inoutbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op)
{
    pooled_operation const o;
    reduction& r = o->reduction();
    r.set(op, datatype);
    if (inbuf == MPI_IN_PLACE || inoutbuf == MPI_IN_PLACE)
        throw failure(MPI_ERR_BUFFER, "MPI_IN_PLACE has no meaning here");
    auto const in = r.of(inbuf, count, {"inbuf", "count", "datatype"});
    (void)r.of(inoutbuf, count, {"inoutbuf", "count", "datatype"});
    if (inbuf == inoutbuf && inbuf != nullptr && in.bytes != 0)
        throw failure(MPI_ERR_BUFFER, "inbuf and inoutbuf are the same memory");
    r.apply_here(inbuf, inoutbuf, count);
}

} // namespace calls
} // namespace towline::mpi
