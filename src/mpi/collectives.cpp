// Blocking collective operations (6.3 to 6.11).

#include "mpi/calls.hpp"
#include "mpi/collective_calls.hpp"
#include "mpi/collective_checks.hpp"
#include "mpi/collective_plans.hpp"

namespace towline::mpi {

void throw_ending(int code)
{
    throw failure(code, collective_operation::meaning_of(code));
}

void throw_ending(collective::lanes& l, collective::ending why)
{
    if (auto const different = l.take_difference())
        throw failure(code_of(*different), text_of(*different));
    throw_ending(code_of(why));
}

namespace calls {

using collective::routine;

void barrier(MPI_Comm comm)
{
    run<routine::barrier, plain::barrier, plans::barrier>("MPI_Barrier", comm);
}

void bcast(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    run<routine::bcast, plain::bcast, plans::bcast>("MPI_Bcast", comm, buffer, count, datatype, root);
}

void gather(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
            int root, MPI_Comm comm)
{
    run<routine::gather, plain::gather, plans::gather>("MPI_Gather", comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
        root);
}

void gatherv(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, wide_array recvcounts, wide_array displs,
             MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    run<routine::gatherv, plain::gatherv, plans::gatherv>("MPI_Gatherv", comm, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
        recvtype, root);
}

void scatter(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
             int root, MPI_Comm comm)
{
    run<routine::scatter, plain::scatter, plans::scatter>("MPI_Scatter", comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
        root);
}

void scatterv(void const* sendbuf, wide_array sendcounts, wide_array displs, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
              MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    run<routine::scatterv, plain::scatterv, plans::scatterv>("MPI_Scatterv", comm, sendbuf, sendcounts, displs, sendtype, recvbuf,
        recvcount, recvtype, root);
}

void allgather(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
               MPI_Comm comm)
{
    run<routine::allgather, plain::allgather, plans::allgather>("MPI_Allgather", comm, sendbuf, sendcount, sendtype, recvbuf, recvcount,
        recvtype);
}

void allgatherv(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, wide_array recvcounts, wide_array displs,
                MPI_Datatype recvtype, MPI_Comm comm)
{
    run<routine::allgatherv, plain::allgatherv, plans::allgatherv>("MPI_Allgatherv", comm, sendbuf, sendcount, sendtype, recvbuf,
        recvcounts, displs, recvtype);
}

void alltoall(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
              MPI_Comm comm)
{
    run<routine::alltoall, plain::alltoall, plans::alltoall>("MPI_Alltoall", comm, sendbuf, sendcount, sendtype, recvbuf, recvcount,
        recvtype);
}

void alltoallv(void const* sendbuf, wide_array sendcounts, wide_array sdispls, MPI_Datatype sendtype, void* recvbuf, wide_array recvcounts,
               wide_array rdispls, MPI_Datatype recvtype, MPI_Comm comm)
{
    run<routine::alltoallv, plain::alltoallv, plans::alltoallv>("MPI_Alltoallv", comm, sendbuf, sendcounts, sdispls, sendtype, recvbuf,
        recvcounts, rdispls, recvtype);
}

void alltoallw(void const* sendbuf, wide_array sendcounts, wide_array sdispls, MPI_Datatype const* sendtypes, void* recvbuf,
               wide_array recvcounts, wide_array rdispls, MPI_Datatype const* recvtypes, MPI_Comm comm)
{
    run<plans::alltoallw>("MPI_Alltoallw", comm, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes);
}

void reduce(void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm)
{
    run<routine::reduce, plain::reduce, plans::reduce>("MPI_Reduce", comm, sendbuf, recvbuf, count, datatype, op, root);
}

void allreduce(void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    run<routine::allreduce, plain::allreduce, plans::allreduce>("MPI_Allreduce", comm, sendbuf, recvbuf, count, datatype, op);
}

void reduce_scatter(void const* sendbuf, void* recvbuf, wide_array recvcounts, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    run<plans::reduce_scatter>("MPI_Reduce_scatter", comm, sendbuf, recvbuf, recvcounts, datatype, op);
}

void reduce_scatter_block(void const* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    run<routine::reduce_scatter, plain::reduce_scatter_block, plans::reduce_scatter_block>("MPI_Reduce_scatter_block", comm, sendbuf,
        recvbuf, recvcount, datatype, op);
}

void scan(void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    run<routine::scan, plain::scan, plans::scan>("MPI_Scan", comm, sendbuf, recvbuf, count, datatype, op);
}

void exscan(void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    run<routine::exscan, plain::exscan, plans::exscan>("MPI_Exscan", comm, sendbuf, recvbuf, count, datatype, op);
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
