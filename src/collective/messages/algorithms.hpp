#pragma once
// The algorithms: each adds the steps of one rank to a schedule. All ranks of a group call the same with arguments that fit together.
//
// Sizes are bytes unless said; blocks are packed elements. `send` may be `in_place` where it says so: the rank's own contribution is where
// its result will be (as MPI_IN_PLACE). Spans are looked at while building only; buffers until the schedule has ended.
//
// p is the number of ranks. Sources:
//   [T]  Thakur, Rabenseifner, Gropp: "Optimization of collective communication operations in MPICH", IJHPCA 19(1), 2005
//   [R]  Rabenseifner: "Optimization of collective reduction operations", ICCS 2004
//   [B]  Bruck, Ho, Kipnis, Upfal, Weathersby: "Efficient algorithms for all-to-all communications in multiport message-passing systems",
//        IEEE TPDS 8(11), 1997
//   [H]  Hensgen, Finkel, Manber: "Two algorithms for barrier synchronization", IJPP 17(1), 1988
//   [G]  van de Geijn, Barnett, Shuler, Payne, Watts: "Building a high-performance collective communication library", SC 1994
//   [S]  Sanders, Träff: "Parallel prefix (scan) algorithms for MPI", EuroPVM/MPI 2006

#include "collective/call.hpp"

#include <cstdint>

namespace towline::collective::algorithms {

// Barrier.

/// Dissemination [H]: ceil(log2 p) rounds, everybody sends and receives one message in each.
void barrier_dissemination(schedule&, position);
/// All to rank 0, and back: 2 (p-1) messages, the fewest, in two steps. In an oversubscribed job each step costs a turn of all ranks.
void barrier_linear(schedule&, position);
/// Up a binomial tree: rank 0 goes on when all have arrived. And down it: all go on when rank 0 has come.
void arrive(schedule&, position);
void leave(schedule&, position);

// Broadcast.

/// Binomial tree [T]: log2 p rounds of the whole.
void bcast_binomial(schedule&, position, void* data, std::uint64_t bytes, int root);
/// Binomial scatter, then a ring that gathers all [G]: about twice the bytes through each rank, whatever p is.
void bcast_scatter_ring(schedule&, position, void* data, std::uint64_t bytes, int root);

// Gather and scatter. Blocks of `bytes` each, in the order of ranks, at the root. At the root `send` (gather) or `receive` (scatter, null)
// may be in place.

/// Binomial trees [T]: log2 p rounds; inner nodes hold their subtrees' blocks.
void gather_binomial(schedule&, position, void const* send, std::uint64_t bytes, void* receive, int root);
void scatter_binomial(schedule&, position, void const* send, void* receive, std::uint64_t bytes, int root);
/// Everybody with the root. `bytes` is this rank's own, `blocks` is looked at by the root only.
void gather_linear(schedule&, position, void const* send, std::uint64_t bytes, void* receive, layout_of_blocks const& blocks, int root);
void scatter_linear(schedule&, position, void const* send, layout_of_blocks const& blocks, void* receive, std::uint64_t bytes, int root);

// Allgather. The blocks of all ranks, on all ranks. `send` may be in place.

/// log2 p rounds between partners whose distance doubles [T]. p is a power of two, blocks are equal.
void allgather_doubling(schedule&, position, void const* send, void* receive, std::uint64_t bytes);
/// ceil(log2 p) rounds for any p and any blocks [B]; through scratch memory.
void allgather_bruck(schedule&, position, void const* send, void* receive, layout_of_blocks const& blocks);
/// p-1 rounds around a ring [T]; every byte goes straight to its place.
void allgather_ring(schedule&, position, void const* send, void* receive, layout_of_blocks const& blocks);

// All to all. `send` may be in place: block i of `receive` goes to rank i.

/// ceil(log2 p) rounds of p/2 blocks each [B]; for small equal blocks.
void alltoall_bruck(schedule&, position, void const* send, void* receive, std::uint64_t bytes);
/// Pairwise exchange [T]: straight, the i-th message to the rank i further; `at_once` of them under way at a time.
void alltoall_pairwise(schedule&, position, void const* send, layout_of_blocks const& sending, void* receive,
                       layout_of_blocks const& receiving, int at_once);

// Reductions. Operands stay in the order of ranks unless `commutative`. Where several ranks get the same result, it is the same bits.

/// Binomial tree [T]. If not commutative, the tree ends at rank 0, which sends the result to the root. `send` may be in place at the root,
/// `receive` is looked at there only.
void reduce_binomial(schedule&, position, void const* send, void* receive, std::uint64_t count, combination const&, int root);
/// Pairwise reduce-scatter, then everybody's part to the root (as [R]); commutative; for p elements or more. In place as above.
void reduce_scatter_gather(schedule&, position, void const* send, void* receive, std::uint64_t count, combination const&, int root);

/// Recursive doubling [T]; what exceeds a power of two is folded in between neighbours first, so that the order is kept.
void allreduce_doubling(schedule&, position, void const* send, void* receive, std::uint64_t count, combination const&);
/// Reduce-scatter by recursive halving, allgather by recursive doubling [R]; commutative.
void allreduce_rabenseifner(schedule&, position, void const* send, void* receive, std::uint64_t count, combination const&);

// Reduce-scatter: all blocks of `send` lie as `blocks` says, in elements; this rank's block of the result to `receive`. In place:
// all blocks are in `receive`, and the result comes to its begin.

/// Everybody sends every block straight to its owner, who combines in the order of ranks; for any operation.
void reduce_scatter_direct(schedule&, position, void const* send, void* receive, layout_of_blocks const& blocks, combination const&);
/// Pairwise, combining as it comes [T]; commutative, needs little memory.
void reduce_scatter_pairwise(schedule&, position, void const* send, void* receive, layout_of_blocks const& blocks, combination const&);
/// Recursive halving with the fold of allreduce_doubling [T]; commutative, blocks next to each other.
void reduce_scatter_halving(schedule&, position, void const* send, void* receive, layout_of_blocks const& blocks, combination const&);

// Those above that combine in the order of lanes/programs.hpp, x0 op (x1 op (x2 ...)): reduce_scatter_direct, and these, which have each
// rank combine its part by it. Any operation; in place as above.

void reduce_direct(schedule&, position, void const* send, void* receive, std::uint64_t count, combination const&, int root);
void allreduce_direct(schedule&, position, void const* send, void* receive, std::uint64_t count, combination const&);
/// Everybody sends to all behind it.
void scan_direct(schedule&, position, void const* send, void* receive, std::uint64_t count, combination const&);
void exscan_direct(schedule&, position, void const* send, void* receive, std::uint64_t count, combination const&);

// Prefix reductions [S] by recursive doubling; the order is kept. `send` may be in place. exscan leaves `receive` of rank 0 alone.

void scan_doubling(schedule&, position, void const* send, void* receive, std::uint64_t count, combination const&);
void exscan_doubling(schedule&, position, void const* send, void* receive, std::uint64_t count, combination const&);

} // namespace towline::collective::algorithms
