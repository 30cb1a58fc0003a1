#pragma once
// Collective operations: each fills a cleared schedule with this rank's part, by the algorithm that the table names (choice.hpp). All
// ranks of the team call the same, with arguments that fit together. Then basic_request::start.
//
// Buffers are contiguous packed bytes, or elements of a reduction; sizes are bytes unless said. Lists are looked at here and not kept;
// buffers must stay until the operation has ended. `send` may be `in_place` (as MPI_IN_PLACE: the contribution is where the result will
// be) as MPI allows it. Throws usage_error for a root or neighbour that is no rank; std::bad_alloc.
//
// With an intercommunicator each group's result comes from the other group. The rank with the root's part gives `root_is_here`, others in
// its group `root_is_beside`, and the other group the root's rank. Scans and neighbourhoods have no such form (usage_error).

#include "collective/algorithms.hpp"
#include "collective/team.hpp"

#include <cstdint>
#include <span>

namespace towline::collective {

inline constexpr int root_is_here = -3;
inline constexpr int root_is_beside = -2;

using sizes = std::span<std::uint64_t const>;

void barrier(schedule&, team const&);
void bcast(schedule&, team const&, void* data, std::uint64_t bytes, int root);

/// `bytes` are one rank's, the same on all ranks. At the root in place for gather: `send`; for scatter: `receive`, with const_cast.
void gather(schedule&, team const&, void const* send, void* receive, std::uint64_t bytes, int root);
void scatter(schedule&, team const&, void const* send, void* receive, std::uint64_t bytes, int root);
/// `bytes` are this rank's; the lists are looked at by the root only.
void gatherv(schedule&, team const&, void const* send, std::uint64_t bytes, void* receive, sizes counts, sizes offsets, int root);
void scatterv(schedule&, team const&, void const* send, sizes counts, sizes offsets, void* receive, std::uint64_t bytes, int root);

/// `bytes` are one rank's. In an intercommunicator the groups may give different sizes: `receive_bytes` are one remote rank's.
void allgather(schedule&, team const&, void const* send, std::uint64_t bytes, void* receive, std::uint64_t receive_bytes);
/// The lists say how the blocks of all (intercommunicator: remote) ranks lie in `receive`; `bytes` are this rank's.
void allgatherv(schedule&, team const&, void const* send, std::uint64_t bytes, void* receive, sizes counts, sizes offsets);

void alltoall(schedule&, team const&, void const* send, std::uint64_t bytes, void* receive, std::uint64_t receive_bytes);
/// For alltoallw, too. In place: the first two lists are not looked at.
void alltoallv(schedule&, team const&, void const* send, sizes send_counts, sizes send_offsets, void* receive, sizes counts, sizes offsets);

/// `count` in elements.
void reduce(schedule&, team const&, void const* send, void* receive, std::uint64_t count, combination const&, int root);
void allreduce(schedule&, team const&, void const* send, void* receive, std::uint64_t count, combination const&);
/// `count` in elements per rank (of the local group).
void reduce_scatter_block(schedule&, team const&, void const* send, void* receive, std::uint64_t count, combination const&);
/// `counts` in elements, of the ranks of the local group; `send` has their sum (the same in both groups).
void reduce_scatter(schedule&, team const&, void const* send, void* receive, sizes counts, combination const&);
void scan(schedule&, team const&, void const* send, void* receive, std::uint64_t count, combination const&);
void exscan(schedule&, team const&, void const* send, void* receive, std::uint64_t count, combination const&);

/// Neighbours: ranks from which this one receives, and to which it sends; negative ones are nobody, their blocks stay as they are. Where
/// the same two ranks are neighbours more than once, the n-th message meets the n-th receive. `receive_order` (empty: as listed) says in
/// which order of the sources' indexes they are posted: in a Cartesian topology, what goes out in a negative direction is received from the
/// positive one, so that the order within each dimension is turned around: 1, 0, 3, 2, ...
struct neighbourhood {
    std::span<int const> sources;
    std::span<int const> destinations;
    std::span<int const> receive_order{};
};

void neighbour_allgather(schedule&, team const&, neighbourhood const&, void const* send, std::uint64_t bytes, void* receive,
                         std::uint64_t receive_bytes);
void neighbour_allgatherv(schedule&, team const&, neighbourhood const&, void const* send, std::uint64_t bytes, void* receive, sizes counts,
                          sizes offsets);
void neighbour_alltoall(schedule&, team const&, neighbourhood const&, void const* send, std::uint64_t bytes, void* receive,
                        std::uint64_t receive_bytes);
/// For neighbour_alltoallw, too.
void neighbour_alltoallv(schedule&, team const&, neighbourhood const&, void const* send, sizes send_counts, sizes send_offsets,
                         void* receive, sizes counts, sizes offsets);

} // namespace towline::collective
