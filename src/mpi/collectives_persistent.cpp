// Persistent collective operations (6.13).

#include "mpi/calls.hpp"
#include "mpi/collective_calls.hpp"
#include "mpi/collective_plans.hpp"

namespace towline::mpi::calls {

void barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request* request)
{
    prepare(comm, info, request, plans::barrier);
}

void bcast_init(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request)
{
    prepare(comm, info, request, plans::bcast, buffer, count, datatype, root);
}

void gather_init(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                 int root, MPI_Comm comm, MPI_Info info, MPI_Request* request)
{
    prepare(comm, info, request, plans::gather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root);
}

void gatherv_init(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, wide_array recvcounts, wide_array displs,
                  MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request)
{
    prepare(comm, info, request, plans::gatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root);
}

void scatter_init(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                  MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request)
{
    prepare(comm, info, request, plans::scatter, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root);
}

void scatterv_init(void const* sendbuf, wide_array sendcounts, wide_array displs, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                   MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request)
{
    prepare(comm, info, request, plans::scatterv, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root);
}

void allgather_init(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request)
{
    prepare(comm, info, request, plans::allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype);
}

void allgatherv_init(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, wide_array recvcounts,
                     wide_array displs, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request)
{
    prepare(comm, info, request, plans::allgatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype);
}

void alltoall_init(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                   MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request)
{
    prepare(comm, info, request, plans::alltoall, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype);
}

void alltoallv_init(void const* sendbuf, wide_array sendcounts, wide_array sdispls, MPI_Datatype sendtype, void* recvbuf,
                    wide_array recvcounts, wide_array rdispls, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request)
{
    prepare(comm, info, request, plans::alltoallv, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype);
}

void alltoallw_init(void const* sendbuf, wide_array sendcounts, wide_array sdispls, MPI_Datatype const* sendtypes, void* recvbuf,
                    wide_array recvcounts, wide_array rdispls, MPI_Datatype const* recvtypes, MPI_Comm comm, MPI_Info info,
                    MPI_Request* request)
{
    prepare(comm, info, request, plans::alltoallw, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes);
}

void reduce_init(void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm,
                 MPI_Info info, MPI_Request* request)
{
    prepare(comm, info, request, plans::reduce, sendbuf, recvbuf, count, datatype, op, root);
}

void allreduce_init(void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                    MPI_Request* request)
{
    prepare(comm, info, request, plans::allreduce, sendbuf, recvbuf, count, datatype, op);
}

void reduce_scatter_init(void const* sendbuf, void* recvbuf, wide_array recvcounts, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                         MPI_Info info, MPI_Request* request)
{
    prepare(comm, info, request, plans::reduce_scatter, sendbuf, recvbuf, recvcounts, datatype, op);
}

void reduce_scatter_block_init(void const* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                               MPI_Info info, MPI_Request* request)
{
    prepare(comm, info, request, plans::reduce_scatter_block, sendbuf, recvbuf, recvcount, datatype, op);
}

void scan_init(void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
               MPI_Request* request)
{
    prepare(comm, info, request, plans::scan, sendbuf, recvbuf, count, datatype, op);
}

void exscan_init(void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                 MPI_Request* request)
{
    prepare(comm, info, request, plans::exscan, sendbuf, recvbuf, count, datatype, op);
}

} // namespace towline::mpi::calls
