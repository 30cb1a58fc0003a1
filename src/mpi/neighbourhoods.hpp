#pragma once
// Plans of the operations among neighbours in a topology (8.6), as in collective_plans.hpp.

#include "mpi/collective_operation.hpp"
#include "mpi/wide_array.hpp"

namespace towline::mpi::plans {

void neighbor_allgather(collective_operation&, communicator&, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                        void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype);
void neighbor_allgatherv(collective_operation&, communicator&, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                         void* recvbuf, wide_array recvcounts, wide_array displs, MPI_Datatype recvtype);
void neighbor_alltoall(collective_operation&, communicator&, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       MPI_Count recvcount, MPI_Datatype recvtype);
void neighbor_alltoallv(collective_operation&, communicator&, void const* sendbuf, wide_array sendcounts, wide_array sdispls,
                        MPI_Datatype sendtype, void* recvbuf, wide_array recvcounts, wide_array rdispls, MPI_Datatype recvtype);
void neighbor_alltoallw(collective_operation&, communicator&, void const* sendbuf, wide_array sendcounts, MPI_Aint const* sdispls,
                        MPI_Datatype const* sendtypes, void* recvbuf, wide_array recvcounts, MPI_Aint const* rdispls,
                        MPI_Datatype const* recvtypes);

} // namespace towline::mpi::plans
