// Neighbourhood collectives (8.6): blocking, nonblocking, persistent.

#include "mpi/calls.hpp"
#include "mpi/collective_calls.hpp"
#include "mpi/collective_plans.hpp"

namespace towline::mpi::calls {

using collective::routine;

void neighbor_allgather(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                        MPI_Datatype recvtype, MPI_Comm comm)
{
    run<routine::exchange, plain::neighbor_allgather, plans::neighbor_allgather>("MPI_Neighbor_allgather", comm, sendbuf, sendcount,
        sendtype, recvbuf, recvcount, recvtype);
}

void neighbor_allgatherv(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, wide_array recvcounts,
                         wide_array displs, MPI_Datatype recvtype, MPI_Comm comm)
{
    run<routine::exchange, plain::neighbor_allgatherv, plans::neighbor_allgatherv>("MPI_Neighbor_allgatherv", comm, sendbuf, sendcount,
        sendtype, recvbuf, recvcounts, displs, recvtype);
}

void neighbor_alltoall(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                       MPI_Datatype recvtype, MPI_Comm comm)
{
    run<routine::exchange, plain::neighbor_alltoall, plans::neighbor_alltoall>("MPI_Neighbor_alltoall", comm, sendbuf, sendcount, sendtype,
        recvbuf, recvcount, recvtype);
}

void neighbor_alltoallv(void const* sendbuf, wide_array sendcounts, wide_array sdispls, MPI_Datatype sendtype, void* recvbuf,
                        wide_array recvcounts, wide_array rdispls, MPI_Datatype recvtype, MPI_Comm comm)
{
    run<routine::exchange, plain::neighbor_alltoallv, plans::neighbor_alltoallv>("MPI_Neighbor_alltoallv", comm, sendbuf, sendcounts,
        sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype);
}

void neighbor_alltoallw(void const* sendbuf, wide_array sendcounts, MPI_Aint const* sdispls, MPI_Datatype const* sendtypes, void* recvbuf,
                        wide_array recvcounts, MPI_Aint const* rdispls, MPI_Datatype const* recvtypes, MPI_Comm comm)
{
    run<plans::neighbor_alltoallw>("MPI_Neighbor_alltoallw", comm, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
        recvtypes);
}

void ineighbor_allgather(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                         MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request)
{
    begin(comm, request, plans::neighbor_allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype);
}

void ineighbor_allgatherv(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, wide_array recvcounts,
                          wide_array displs, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request)
{
    begin(comm, request, plans::neighbor_allgatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype);
}

void ineighbor_alltoall(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                        MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request)
{
    begin(comm, request, plans::neighbor_alltoall, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype);
}

void ineighbor_alltoallv(void const* sendbuf, wide_array sendcounts, wide_array sdispls, MPI_Datatype sendtype, void* recvbuf,
                         wide_array recvcounts, wide_array rdispls, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request)
{
    begin(comm, request, plans::neighbor_alltoallv, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype);
}

void ineighbor_alltoallw(void const* sendbuf, wide_array sendcounts, MPI_Aint const* sdispls, MPI_Datatype const* sendtypes, void* recvbuf,
                         wide_array recvcounts, MPI_Aint const* rdispls, MPI_Datatype const* recvtypes, MPI_Comm comm, MPI_Request* request)
{
    begin(comm, request, plans::neighbor_alltoallw, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes);
}

void neighbor_allgather_init(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                             MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request)
{
    prepare(comm, info, request, plans::neighbor_allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype);
}

void neighbor_allgatherv_init(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, wide_array recvcounts,
                              wide_array displs, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request)
{
    prepare(comm, info, request, plans::neighbor_allgatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype);
}

void neighbor_alltoall_init(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                            MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request)
{
    prepare(comm, info, request, plans::neighbor_alltoall, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype);
}

void neighbor_alltoallv_init(void const* sendbuf, wide_array sendcounts, wide_array sdispls, MPI_Datatype sendtype, void* recvbuf,
                             wide_array recvcounts, wide_array rdispls, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                             MPI_Request* request)
{
    prepare(comm, info, request, plans::neighbor_alltoallv, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype);
}

void neighbor_alltoallw_init(void const* sendbuf, wide_array sendcounts, MPI_Aint const* sdispls, MPI_Datatype const* sendtypes,
                             void* recvbuf, wide_array recvcounts, MPI_Aint const* rdispls, MPI_Datatype const* recvtypes, MPI_Comm comm,
                             MPI_Info info, MPI_Request* request)
{
    prepare(comm, info, request, plans::neighbor_alltoallw, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
            recvtypes);
}

} // namespace towline::mpi::calls
