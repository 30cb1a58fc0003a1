#pragma once
// The forms for intercommunicators. Rank 0 of a group speaks for it where that pays; within a group the algorithms of algorithms.hpp are
// used.

#include "collective/operations.hpp"

namespace towline::collective::between {

void barrier(schedule&, team const&);
void bcast(schedule&, team const&, void* data, std::uint64_t bytes, int root);
/// `bytes` are this rank's, `blocks` the root's.
void gather(schedule&, team const&, void const* send, std::uint64_t bytes, void* receive, layout_of_blocks const& blocks, int root);
void scatter(schedule&, team const&, void const* send, layout_of_blocks const& blocks, void* receive, std::uint64_t bytes, int root);
void allgather(schedule&, team const&, void const* send, std::uint64_t bytes, void* receive, layout_of_blocks const& blocks);
void alltoall(schedule&, team const&, void const* send, layout_of_blocks const& sending, void* receive, layout_of_blocks const& receiving);
void reduce(schedule&, team const&, void const* send, void* receive, std::uint64_t count, combination const&, int root);
void allreduce(schedule&, team const&, void const* send, void* receive, std::uint64_t count, combination const&);
/// `blocks` in elements, next to each other.
void reduce_scatter(schedule&, team const&, void const* send, void* receive, layout_of_blocks const& blocks, combination const&);

} // namespace towline::collective::between
