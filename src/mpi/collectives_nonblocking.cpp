// Nonblocking collective operations (6.12).

#include "mpi/calls.hpp"
#include "mpi/collective_calls.hpp"
#include "mpi/collective_plans.hpp"

namespace towline::mpi::calls {

void ibarrier(MPI_Comm comm, MPI_Request* request)
{
    begin(comm, request, plans::barrier);
}

void ibcast(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Request* request)
{
    begin(comm, request, plans::bcast, buffer, count, datatype, root);
}

void igather(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
             int root, MPI_Comm comm, MPI_Request* request)
{
    begin(comm, request, plans::gather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root);
}

void igatherv(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, wide_array recvcounts, wide_array displs,
              MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request)
{
    begin(comm, request, plans::gatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root);
}

void iscatter(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
              int root, MPI_Comm comm, MPI_Request* request)
{
    begin(comm, request, plans::scatter, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root);
}

void iscatterv(void const* sendbuf, wide_array sendcounts, wide_array displs, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
               MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request)
{
    begin(comm, request, plans::scatterv, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root);
}

void iallgather(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                MPI_Comm comm, MPI_Request* request)
{
    begin(comm, request, plans::allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype);
}

void iallgatherv(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, wide_array recvcounts, wide_array displs,
                 MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request)
{
    begin(comm, request, plans::allgatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype);
}

void ialltoall(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
               MPI_Comm comm, MPI_Request* request)
{
    begin(comm, request, plans::alltoall, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype);
}

void ialltoallv(void const* sendbuf, wide_array sendcounts, wide_array sdispls, MPI_Datatype sendtype, void* recvbuf, wide_array recvcounts,
                wide_array rdispls, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request)
{
    begin(comm, request, plans::alltoallv, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype);
}

void ialltoallw(void const* sendbuf, wide_array sendcounts, wide_array sdispls, MPI_Datatype const* sendtypes, void* recvbuf,
                wide_array recvcounts, wide_array rdispls, MPI_Datatype const* recvtypes, MPI_Comm comm, MPI_Request* request)
{
    begin(comm, request, plans::alltoallw, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes);
}

void ireduce(void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm,
             MPI_Request* request)
{
    begin(comm, request, plans::reduce, sendbuf, recvbuf, count, datatype, op, root);
}

void iallreduce(void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request* request)
{
    begin(comm, request, plans::allreduce, sendbuf, recvbuf, count, datatype, op);
}

void ireduce_scatter(void const* sendbuf, void* recvbuf, wide_array recvcounts, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                     MPI_Request* request)
{
    begin(comm, request, plans::reduce_scatter, sendbuf, recvbuf, recvcounts, datatype, op);
}

void ireduce_scatter_block(void const* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                           MPI_Request* request)
{
    begin(comm, request, plans::reduce_scatter_block, sendbuf, recvbuf, recvcount, datatype, op);
}

void iscan(void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request* request)
{
    begin(comm, request, plans::scan, sendbuf, recvbuf, count, datatype, op);
}

void iexscan(void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request* request)
{
    begin(comm, request, plans::exscan, sendbuf, recvbuf, count, datatype, op);
}

} // namespace towline::mpi::calls
