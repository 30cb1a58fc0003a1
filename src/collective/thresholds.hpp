#pragma once
// Every size and count by which collective operations choose, but for the algorithms of messages: those are the table in choice.cpp.

#include <cstddef>
#include <cstdint>

namespace towline::collective::thresholds {

inline constexpr std::uint64_t line = 64, page = 4096;

// What ranks offer over lanes (lanes.hpp), in bytes. Where every rank has a core, both wait for each other sooner than one copies more than
// `posted`, and few payloads that stay in the nearest caches are better. In an oversubscribed job a wait is a change of ranks: ranks that
// offer copies run ahead, the further the better.

inline constexpr std::uint64_t posted = 1024, shown = 8192, payloads = 8;
inline constexpr std::uint64_t slots_oversubscribed = 256, payloads_oversubscribed = 64;
/// Up to so many ranks, and not crowded, all look at all others; else by way of rank 0.
inline constexpr int looks_around = 8;
/// Memory is tight where the segments of ranks are smaller than this.
inline constexpr std::uint64_t tight_segment = std::uint64_t{1} << 30;

// Operations in two levels, in bytes. Data are divided among the ranks of a node where sending a share takes longer than beginning a
// message to another node. Assumed, not measured: 10 us to begin one, 1 GB/s between nodes.

/// Below so much of a vector, or of one rank's block, one rank of each node exchanges messages with other nodes; from it on every rank.
inline constexpr std::uint64_t leader_bytes = 16 * 1024, leader_block = 4 * 1024;
/// The same of blocks of any size, of all ranks together.
inline constexpr std::uint64_t leader_row = 64 * 1024;

// Copies over lanes, in bytes.

/// From this size on a copy asks base::copy_block for its way; below it that costs more than it saves.
inline constexpr std::uint64_t block_copy = 4096;
/// The next payload is fetched for writing, up to this much of it.
inline constexpr std::uint64_t payload_ahead = 8 * line;
/// Of two ranks, the reader of a copy takes its cache lines between these sizes: smaller, it costs more than it saves, and larger ones are
/// in no near cache when their owner writes them again.
inline constexpr std::uint64_t taken_least = 1024, taken_most = 256 * 1024;
/// A block that two ranks move is cut into at most so many units, of whole pages and at least two: a claim costs a cache line's way.
inline constexpr std::uint64_t claimed_units = 32, claimed_least = 2 * page;
/// Of a combination at a time, or one element: what stays in the first cache while all ranks' bytes come by. And where the result is copied
/// to others.
inline constexpr std::uint64_t piece = 16 * 1024, copied_piece = 4 * 1024;
/// Entries of a table that a rank lends; more is nonsense.
inline constexpr std::uint64_t table_most = std::uint64_t{1} << 32;

// Waiting over lanes.

/// Looks at a slot before a blocking operation waits: where ranks have cores the others are about to come. About 2 us.
inline constexpr int looks = 200, looks_crowded = 1;
/// Looks for a stage between two looks for ranks that died, or finished the operation without it: of a wait, and of a polled step. Who
/// sleeps looks at them each time (seldom.hpp).
inline constexpr std::uint32_t looks_at_others = 256, polls_at_others = 8;
/// Operations that never wait make no progress for the engine: their caller polls after so many.
inline constexpr std::uint64_t progress_every = 32;
/// Operations between two publications of a lane's counters; a power of two.
inline constexpr std::uint64_t operations_per_publication = 64;

} // namespace towline::collective::thresholds
