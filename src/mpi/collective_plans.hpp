#pragma once
// The plan of each collective operation: checks the arguments as the standard says (6) and describes this rank's part. Plans read only the
// arguments that are significant at this rank. They read arrays and keep no reference to them.

#include "mpi/collective_operation.hpp"
#include "mpi/wide_array.hpp"

namespace towline::mpi::plans {

using work = collective_operation;

void barrier(work&, communicator&);
void bcast(work&, communicator&, void* buffer, MPI_Count count, MPI_Datatype datatype, int root);
void gather(work&, communicator&, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
            MPI_Datatype recvtype, int root);
void gatherv(work&, communicator&, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, wide_array recvcounts,
             wide_array displs, MPI_Datatype recvtype, int root);
void scatter(work&, communicator&, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
             MPI_Datatype recvtype, int root);
void scatterv(work&, communicator&, void const* sendbuf, wide_array sendcounts, wide_array displs, MPI_Datatype sendtype, void* recvbuf,
              MPI_Count recvcount, MPI_Datatype recvtype, int root);
void allgather(work&, communicator&, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
               MPI_Datatype recvtype);
void allgatherv(work&, communicator&, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, wide_array recvcounts,
                wide_array displs, MPI_Datatype recvtype);
void alltoall(work&, communicator&, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
              MPI_Datatype recvtype);
void alltoallv(work&, communicator&, void const* sendbuf, wide_array sendcounts, wide_array sdispls, MPI_Datatype sendtype, void* recvbuf,
               wide_array recvcounts, wide_array rdispls, MPI_Datatype recvtype);
void alltoallw(work&, communicator&, void const* sendbuf, wide_array sendcounts, wide_array sdispls, MPI_Datatype const* sendtypes,
               void* recvbuf, wide_array recvcounts, wide_array rdispls, MPI_Datatype const* recvtypes);

void reduce(work&, communicator&, void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root);
void allreduce(work&, communicator&, void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op);
void reduce_scatter(work&, communicator&, void const* sendbuf, void* recvbuf, wide_array recvcounts, MPI_Datatype datatype, MPI_Op op);
void reduce_scatter_block(work&, communicator&, void const* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op);
void scan(work&, communicator&, void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op);
void exscan(work&, communicator&, void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op);

// Among neighbours in a topology (8.6; neighbourhoods.cpp).

void neighbor_allgather(work&, communicator&, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                        void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype);
void neighbor_allgatherv(work&, communicator&, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                         void* recvbuf, wide_array recvcounts, wide_array displs, MPI_Datatype recvtype);
void neighbor_alltoall(work&, communicator&, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       MPI_Count recvcount, MPI_Datatype recvtype);
void neighbor_alltoallv(work&, communicator&, void const* sendbuf, wide_array sendcounts, wide_array sdispls,
                        MPI_Datatype sendtype, void* recvbuf, wide_array recvcounts, wide_array rdispls, MPI_Datatype recvtype);
void neighbor_alltoallw(work&, communicator&, void const* sendbuf, wide_array sendcounts, MPI_Aint const* sdispls,
                        MPI_Datatype const* sendtypes, void* recvbuf, wide_array recvcounts, MPI_Aint const* rdispls,
                        MPI_Datatype const* recvtypes);

} // namespace towline::mpi::plans
