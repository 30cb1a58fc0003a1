#pragma once
// The control block: the first bytes of the job file (docs/wire.md, "The job file").
// One sealed memfd per job and node holds everything that the processes of a node share: this block, the boards of ways, then one segment
// per rank.
// The launcher creates it; each rank inherits its descriptor. Offsets are bytes from the start of the file.
//
// There is a slot for every rank of the job. The slots of ranks on other nodes are copies that this node's keeper brings up to date: who,
// except for pid and cpu, and the card. Their segments are holes of the file that nobody maps.

#include "base/event_count.hpp"
#include "job/counters.hpp"
#include "job/waits.hpp"
#include "job/ways.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace towline::job {

inline constexpr std::uint64_t control_magic = 0x31656e696c776f74;  // "towline1"
inline constexpr std::uint32_t control_version = 8;

enum class rank_state : std::uint32_t { empty = 0, joined = 1, left = 2, dead = 3 };

/// rank_slot::status of a rank whose end nobody could ask for; no wait(2) status of an end is this.
inline constexpr std::int32_t status_unknown = 0x7f;

/// What whoever watches a rank should know of it; bits of rank_slot::marks.
enum rank_mark : std::uint32_t {
    mark_explained = 1,   ///< it has said itself why it is about to end
    mark_unfinished = 2,  ///< its exit before it clears this is no good end: it has called MPI_Init, and not MPI_Finalize
};

/// One per rank; 4096 bytes.
struct alignas(4096) rank_slot {
    // who
    std::atomic<std::uint32_t> state;  ///< rank_state
    std::atomic<std::int32_t> pid;
    std::atomic<std::int32_t> status;  ///< wait(2) status once the launcher reaped it
    std::atomic<std::uint32_t> cpu;    ///< core + 1 where the launcher bound it, 0 otherwise
    std::atomic<std::uint32_t> fences; ///< fences that the rank has arrived at
    std::atomic<std::uint32_t> program; ///< number + 1 of the program among those that the launcher was given; 0: it does not say
    std::atomic<std::uint64_t> pid_namespace; ///< in which `pid` counts (inode of the namespace)
    std::atomic<std::uint32_t> marks;  ///< of rank_mark
    std::uint32_t node;                ///< on which the rank runs; written by the launcher before the rank starts
    std::atomic<std::int64_t> xpmem_segment;  ///< over its address space; 0: none
    // sleeping; on a line of its own
    base::event_count event;
    /// Where a blocked rank says what it waits for ("future of count() from rank 3"); NUL-terminated, torn reads tolerated.
    alignas(64) std::array<char, 192> waiting_for;
    alignas(64) std::array<std::atomic<std::uint64_t>, 32> counters;
    /// Key-value card written by the rank before a fence: "key=value\n" lines.
    alignas(64) std::atomic<std::uint32_t> card_bytes;
    std::array<char, 2044> card;
    /// What it waits for, told by a wait that lasts.
    wait_board waits;
};
static_assert(sizeof(rank_slot) == 4096);
static_assert(static_cast<std::size_t>(counter::count_) <= 32);

struct alignas(4096) control_header {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t size;           ///< ranks
    std::uint64_t segments_begin; ///< offset of rank 0's segment
    std::uint64_t segment_bytes;  ///< power of two; rank r's segment begins at segments_begin + r * segment_bytes
    std::uint64_t inbox_bytes;    ///< head of each segment, reserved for the shared-memory transport; the heap's arena begins behind it
    std::array<char, 32> job_id;  ///< printable, unique on this machine
    std::array<std::byte, 32> key; ///< secret of the job
    base::fence_side fences;
    std::uint32_t cores;          ///< cores (after cgroup quota) that the ranks on this node share
    std::uint32_t keep_going;     ///< 1: a dead rank turns into errors at calls; 0: it ends the job
    std::uint32_t bound;          ///< 1: ranks are pinned to cores
    std::uint32_t beside;         ///< ranks of other nodes that run on the same cores
    // changing
    alignas(64) std::atomic<std::uint32_t> deaths;   ///< bumped whenever a rank_slot becomes dead; ranks look at it when they wait
    /// Futex word: bumped when a fence may be complete, and when a rank leaves or dies.
    alignas(64) std::atomic<std::uint32_t> fence_generation;
    /// Futex word for the keeper, in a job of several nodes: bumped when a rank of this node has arrived at a fence, or left.
    std::atomic<std::uint32_t> news;
    /// Bumped, and `news` with it, by who wants to know what ranks of other nodes wait for (questions.hpp).
    std::atomic<std::uint32_t> asked;
    /// Futex word: the last value of `asked` to which all other nodes have answered. Written by the keeper.
    std::atomic<std::uint32_t> answered;
    // again as the launcher wrote it
    alignas(64) std::uint64_t tuned;         ///< 1: `tuning` holds for all ranks; 0: nobody has looked for measured sizes
    std::array<std::uint64_t, 31> tuning;    ///< what the engines choose by, as engine/tuning.hpp writes it
    std::uint32_t node;           ///< whose file this is
    std::uint32_t nodes;          ///< machines, or parts of machines that share no memory
    std::uint32_t here;           ///< ranks on this node
    /// IP addresses at which other nodes reach this one, in digits, with commas between: one for each network; empty: the loopback.
    std::array<char, 192> addresses;
    /// Names of the nodes' hosts as the user wrote them, in order, with a NUL behind each; cut where there are too many.
    std::array<char, 3376> hosts;
};
static_assert(sizeof(control_header) == 4096);

/// Bytes of the header, a slot for each rank and a board for each rank: what is mapped of a job file but for its segments.
[[nodiscard]] constexpr std::uint64_t mapped_bytes(std::uint64_t size) noexcept
{
    return sizeof(control_header) + size * (sizeof(rank_slot) + sizeof(way_board));
}
[[nodiscard]] inline way_board* boards_behind(rank_slot* slots, std::uint32_t size) noexcept
{
    return reinterpret_cast<way_board*>(slots + size);
}

/// Bytes reserved at the head of every segment for `size` ranks (a 64-byte mailbox per sender, rounded up to 64 KiB).
[[nodiscard]] constexpr std::uint64_t inbox_bytes_for(std::uint32_t size) noexcept
{
    return (4096 + std::uint64_t{size} * 64 + 65535) / 65536 * 65536;
}

} // namespace towline::job
