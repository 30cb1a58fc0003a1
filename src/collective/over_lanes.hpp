#pragma once
// The algorithms over lanes: each adds this rank's steps to a schedule whose lanes may be used, as those of operations.hpp; the same
// conventions. False: there is none for this case, which all ranks find in the same way, and nothing was added.
//
// Small ones are offered in the rank's slot, by copy; whoever wants them reads them there, and nobody waits for its readers. Those between
// are shown: read where they are, if others reach them there and do not write there, else offered by copy. Big ones are read and written
// where they are ("lent"): the bytes move once, by whichever rank has nothing else to do, and everybody stays until nobody needs its
// buffers any more. Where only the two ranks of a block know its size, tables say what is offered to whom (lane_tables.hpp).
//
// Reductions combine in the order of ranks whatever the size: ((x0 op (x1 op (x2 ...))), the same on every rank, so that results are the
// same from run to run.
//
// Source of the partitioned reduction that writes into every rank's result: J. Hashmi et al., "Designing efficient shared address space
// reduction collectives for multi-/many-cores", IPDPS 2018.

#include "collective/algorithms.hpp"

#include <cstdint>

namespace towline::collective {
struct neighbourhood;
}

namespace towline::collective::over_lanes {

[[nodiscard]] bool barrier(schedule&, bool crowded);
[[nodiscard]] bool bcast(schedule&, void* data, std::uint64_t bytes, int root);
[[nodiscard]] bool gather(schedule&, void const* send, void* receive, std::uint64_t bytes, int root);
[[nodiscard]] bool scatter(schedule&, void const* send, void* receive, std::uint64_t bytes, int root);
[[nodiscard]] bool allgather(schedule&, void const* send, void* receive, layout_of_blocks const&);
[[nodiscard]] bool alltoall(schedule&, void const* send, void* receive, std::uint64_t bytes);
/// `bytes` are this rank's; the blocks are looked at by the root only.
[[nodiscard]] bool gatherv(schedule&, void const* send, std::uint64_t bytes, void* receive, layout_of_blocks const&, int root);
[[nodiscard]] bool scatterv(schedule&, void const* send, layout_of_blocks const&, void* receive, std::uint64_t bytes, int root);
[[nodiscard]] bool alltoallv(schedule&, void const* send, layout_of_blocks const& sending, void* receive,
                             layout_of_blocks const& receiving);
/// Blocks of neighbours, in their lists' order; the lists make sense.
[[nodiscard]] bool exchange(schedule&, neighbourhood const&, void const* send, layout_of_blocks const& sending, void* receive,
                            layout_of_blocks const& receiving);
[[nodiscard]] bool reduce(schedule&, void const* send, void* receive, std::uint64_t count, combination const&, int root);
[[nodiscard]] bool allreduce(schedule&, void const* send, void* receive, std::uint64_t count, combination const&, bool crowded);
/// Blocks in elements.
[[nodiscard]] bool reduce_scatter(schedule&, void const* send, void* receive, layout_of_blocks const&, std::uint64_t total,
                                  combination const&);
[[nodiscard]] bool scan(schedule&, void const* send, void* receive, std::uint64_t count, combination const&);
[[nodiscard]] bool exscan(schedule&, void const* send, void* receive, std::uint64_t count, combination const&);

} // namespace towline::collective::over_lanes
