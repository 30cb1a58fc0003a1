#pragma once
// The short way of blocking operations of a few KiB (collective/at_once.hpp). Each looks whether it may be taken: ranks that show each
// other their lanes, predefined datatypes and operations, nothing wrong with the arguments, nothing else under way. False: it may not, and
// nothing was begun; the usual way does it, or says what is wrong. Throws what the usual way throws.

#include "mpi/communicator.hpp"
#include "mpi/wide_array.hpp"

namespace towline::mpi::at_once {

[[nodiscard]] bool barrier(communicator&, char const* call);
[[nodiscard]] bool bcast(communicator&, char const* call, void* buffer, MPI_Count count, MPI_Datatype datatype, int root);
[[nodiscard]] bool gather(communicator&, char const* call, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                          MPI_Count recvcount, MPI_Datatype recvtype, int root);
[[nodiscard]] bool scatter(communicator&, char const* call, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                           MPI_Count recvcount, MPI_Datatype recvtype, int root);
[[nodiscard]] bool allgather(communicator&, char const* call, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                             void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype);
[[nodiscard]] bool alltoall(communicator&, char const* call, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                            MPI_Count recvcount, MPI_Datatype recvtype);
[[nodiscard]] bool gatherv(communicator&, char const* call, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                           wide_array recvcounts, wide_array displs, MPI_Datatype recvtype, int root);
[[nodiscard]] bool scatterv(communicator&, char const* call, void const* sendbuf, wide_array sendcounts, wide_array displs,
                            MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root);
[[nodiscard]] bool allgatherv(communicator&, char const* call, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                              void* recvbuf, wide_array recvcounts, wide_array displs, MPI_Datatype recvtype);
[[nodiscard]] bool alltoallv(communicator&, char const* call, void const* sendbuf, wide_array sendcounts, wide_array sdispls,
                             MPI_Datatype sendtype, void* recvbuf, wide_array recvcounts, wide_array rdispls, MPI_Datatype recvtype);
[[nodiscard]] bool neighbor_allgather(communicator&, char const* call, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                      void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype);
[[nodiscard]] bool neighbor_allgatherv(communicator&, char const* call, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                       void* recvbuf, wide_array recvcounts, wide_array displs, MPI_Datatype recvtype);
[[nodiscard]] bool neighbor_alltoallv(communicator&, char const* call, void const* sendbuf, wide_array sendcounts, wide_array sdispls,
                                      MPI_Datatype sendtype, void* recvbuf, wide_array recvcounts, wide_array rdispls,
                                      MPI_Datatype recvtype);
[[nodiscard]] bool neighbor_alltoall(communicator&, char const* call, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                     void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype);
[[nodiscard]] bool reduce(communicator&, char const* call, void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                          MPI_Op op, int root);
[[nodiscard]] bool allreduce(communicator&, char const* call, void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                             MPI_Op op);
[[nodiscard]] bool reduce_scatter_block(communicator&, char const* call, void const* sendbuf, void* recvbuf, MPI_Count recvcount,
                                        MPI_Datatype datatype, MPI_Op op);
[[nodiscard]] bool scan(communicator&, char const* call, void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                        MPI_Op op);

} // namespace towline::mpi::at_once
