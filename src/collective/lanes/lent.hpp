#pragma once
// Programs over lanes for more bytes than are shown: ranks lend each other buffers, which are read and written in place. Each byte moves
// once, and a rank waits at the end until no other rank uses its buffers. Only as steps: at these sizes building them costs little.
//
// The partitioned reduction that writes into every rank's result is from J. Hashmi et al., "Designing efficient shared address space
// reduction collectives for multi-/many-cores", IPDPS 2018.

#include "collective/call.hpp"
#include "collective/lanes/lane_builder.hpp"

#include <cstdint>

namespace towline::collective::lent {

/// Runs an operation without tables in which a rank offers up to `most` bytes.
void perform(lane_builder&, call const&, std::uint64_t most);

// Parts of the operations by lists.

/// A block of two ranks that is too big to be shown: both ranks copy parts of it, until no part is left.
[[nodiscard]] bool is_moved_by_both(lane_builder const&, std::uint64_t bytes) noexcept;
/// Gives such a block to the other rank, or takes it; meanwhile copies `mine` bytes of this rank's own block.
void give_parts(lane_builder&, void* own_to, void const* own_from, std::uint64_t mine, void const* from, std::uint64_t bytes);
void take_parts(lane_builder&, void* own_to, void const* own_from, std::uint64_t mine, void* to, std::uint64_t bytes);
/// Writes a block that is too big to be shown where the root's table wants it.
void give_block(lane_builder&, void const* own, std::uint64_t bytes, int root);

} // namespace towline::collective::lent
