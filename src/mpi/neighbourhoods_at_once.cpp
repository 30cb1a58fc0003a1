// The short ways of operations among neighbours.

#include "collective/at_once_lists.hpp"
#include "mpi/collectives_at_once.hpp"
#include "mpi/collectives_at_once_parts.hpp"
#include "mpi/topology.hpp"

#include <algorithm>

namespace towline::mpi::at_once {
namespace {

using lists = collective::at_once_lists;

/// Blocks of one size, or the same block for everybody.
struct equal_blocks {
    std::byte* buffer;
    std::uint64_t each;
    std::uint64_t step;  ///< from one to the next
    [[nodiscard]] bool are_good(int) const noexcept { return each != 0 && is_memory(buffer); }
    [[nodiscard]] std::uint64_t size(int) const noexcept { return each; }
    [[nodiscard]] std::byte* at(int i) const noexcept { return buffer + step * static_cast<std::uint64_t>(i); }
};
[[nodiscard]] equal_blocks in_a_row(void const* buffer, MPI_Count count, MPI_Datatype type) noexcept
{
    std::uint64_t const bytes = bytes_of(count, type);
    return {static_cast<std::byte*>(const_cast<void*>(buffer)), bytes, bytes};
}
[[nodiscard]] equal_blocks for_everybody(void const* buffer, MPI_Count count, MPI_Datatype type) noexcept
{
    return {static_cast<std::byte*>(const_cast<void*>(buffer)), bytes_of(count, type), 0};
}

template <class Out, class In>
[[nodiscard]] bool exchange(communicator& c, char const* call, Out const& out, In const& in)
{
    if (c.topology() == nullptr)
        return false;
    auto const n = c.topology()->neighbours();
    auto const is_other = [&](int rank) { return rank != c.rank(); };
    if (n.destinations.size() > lists::most_given || n.sources.size() > lists::most_given)
        return false;
    auto const given = static_cast<int>(n.destinations.size()), taken = static_cast<int>(n.sources.size());
    if (!out.are_good(given) || !in.are_good(taken) || !std::ranges::all_of(n.destinations, is_other) ||
        !std::ranges::all_of(n.sources, is_other))
        return false;
    std::uint64_t largest = 0, sent = 0;
    for (int i = 0; i < given; ++i) {
        sent += out.size(i);
        largest = std::max(largest, out.size(i));
    }
    for (int i = 0; i < taken; ++i)
        largest = std::max(largest, in.size(i));
    std::uint64_t const table = lists::table_bytes(n.destinations.size(), sent);
    if (table > collective::lanes::payload_bytes || !may_begin_lists(c, lists::most_of(table, largest)))
        return false;
    run<lists>(c, call, [&](auto& o) { return o.exchange(n, out, in); });
    return true;
}

} // namespace

bool neighbor_allgather(communicator& c, char const* call, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                        MPI_Count recvcount, MPI_Datatype recvtype)
{
    return exchange(c, call, for_everybody(sendbuf, sendcount, sendtype), in_a_row(recvbuf, recvcount, recvtype));
}

bool neighbor_allgatherv(communicator& c, char const* call, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                         void* recvbuf, wide_array recvcounts, wide_array displs, MPI_Datatype recvtype)
{
    return exchange(c, call, for_everybody(sendbuf, sendcount, sendtype), listed_blocks(recvbuf, recvcounts, displs, recvtype));
}

bool neighbor_alltoall(communicator& c, char const* call, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       MPI_Count recvcount, MPI_Datatype recvtype)
{
    return exchange(c, call, in_a_row(sendbuf, sendcount, sendtype), in_a_row(recvbuf, recvcount, recvtype));
}

bool neighbor_alltoallv(communicator& c, char const* call, void const* sendbuf, wide_array sendcounts, wide_array sdispls,
                        MPI_Datatype sendtype, void* recvbuf, wide_array recvcounts, wide_array rdispls, MPI_Datatype recvtype)
{
    return exchange(c, call, listed_blocks(sendbuf, sendcounts, sdispls, sendtype), listed_blocks(recvbuf, recvcounts, rdispls, recvtype));
}

} // namespace towline::mpi::at_once
