#pragma once
// The shared heap: memory that every process of the job on this node can load and store.
//
// Each rank owns one arena: its segment of the job file behind the inbox. A process reserves one window of addresses for all
// segments (inaccessible), and opens each as far as it is used. So an address in any arena is
// {rank, offset} on the wire and a pointer again on the other side, by arithmetic; nothing is registered per message.
// Blocks are allocated from the own arena only, may be freed by any process that owns them (see `deallocate`), and stay
// readable after their arena's owner died.
//
// Thread-safe. Functions that the preload allocator calls never allocate big blocks themselves.
//
// Settings: TOWLINE_HEAP=off (no preload allocator), TOWLINE_HEAP_THRESHOLD (from which size it uses the arena, 32K), TOWLINE_HEAP_KEEP
// (how much freed memory stays warm before the kernel gets it back; a quarter of the memory shared among the ranks, 64M at least),
// TOWLINE_SEGMENT.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace towline::heap {

/// Where a byte is, for every process of the job on this node. `offset` counts from the start of the rank's segment.
struct address {
    std::uint32_t arena = 0;  ///< the rank that owns the segment
    std::uint32_t reserved = 0;
    std::uint64_t offset = 0;
    friend bool operator==(address const&, address const&) = default;
};
static_assert(sizeof(address) == 16);

/// Every block begins at a multiple of this.
inline constexpr std::size_t block_alignment = 64;

/// `size` bytes, aligned to `alignment` (a power of two; at least 64 is given; beyond 2 MiB it holds in this process only), from this
/// process's arena. Pages come from a warm pool where possible; their content is undefined. Joins the job if the process has not yet.
/// Throws std::bad_alloc (what() says more) when the arena is full, and what membership::instance and the mapping of the heap throw.
[[nodiscard]] void* allocate(std::size_t size, std::size_t alignment = 64);
/// The same without throwing; null on failure.
[[nodiscard]] void* try_allocate(std::size_t size, std::size_t alignment = 64) noexcept;

/// Gives a block back, from whichever process owns it now: a block of the own arena goes to the pool, a block of a peer's arena
/// goes into that arena's return box (in the arena itself, which its owner empties when it allocates).
/// A block of a dead peer's arena is forgotten. Null is allowed.
void deallocate(void* block) noexcept;

/// True if free and the global operator delete also release blocks of the heap, of any arena: the preload allocator serves this process,
/// and nothing else has replaced free or the operators. Then objects that release by them may own a block. Looked up once; false in a
/// forked child.
[[nodiscard]] bool delete_releases() noexcept;

/// Notes that an object which releases by free or delete now owns a block of `size` bytes. The size of a block of a peer's arena is kept
/// until the release, and a child that is forked meanwhile gets a copy of the block, as of other memory.
void note_owned(void const* block, std::size_t size) noexcept;

/// Bytes that the block at `block` can hold (at least what was asked for); of a peer's arena 0, unless note_owned said how many.
[[nodiscard]] std::size_t usable_size(void const* block) noexcept;
/// Makes a block of the own arena `size` bytes long where it is, if that is possible; its content stays. Contents of new bytes are
/// undefined.
[[nodiscard]] bool try_resize(void* block, std::size_t size) noexcept;

/// True if the byte is in the window (any rank's segment): a subtraction and a compare. False in a program that never used the heap.
[[nodiscard]] bool contains(void const* pointer) noexcept;
/// True if peers read and write the byte where it is: the window contains it, or it was adopted (adopted.hpp).
[[nodiscard]] bool reaches(void const* pointer) noexcept;
/// The shared address of a range, if the whole of it lies in one segment, or in one range that was adopted.
[[nodiscard]] std::optional<address> find(void const* pointer, std::size_t size) noexcept;
/// The pointer of a shared range in this process; maps the peer's segment on first use. Throws error if the range is not inside one
/// segment of the job (a corrupt or hostile address), system_error if mapping is refused. Costs a load and compares after the first use.
[[nodiscard]] void* attach(address where, std::size_t size);

/// An address in one word: arena << 44 | offset. 0 is none, as offsets begin behind the inbox; 0, too, where the address does not fit.
[[nodiscard]] constexpr std::uint64_t pack(address a) noexcept
{
    return a.arena >> 20 != 0 || a.offset >> 44 != 0 ? 0 : std::uint64_t{a.arena} << 44 | a.offset;
}
[[nodiscard]] constexpr address unpack(std::uint64_t word) noexcept
{
    return {static_cast<std::uint32_t>(word >> 44), 0, word & ((std::uint64_t{1} << 44) - 1)};
}
/// `find`, in one word.
[[nodiscard]] inline std::uint64_t find_packed(void const* pointer, std::size_t size) noexcept
{
    auto const where = find(pointer, size);
    return where ? pack(*where) : 0;
}

/// The inbox area at the head of a rank's segment (header().inbox_bytes, zero at first), mapped on first use. For the shm transport.
[[nodiscard]] std::span<std::byte> inbox(int rank);

/// Faults pages in ahead of use (MADV_POPULATE_WRITE where the kernel has it). A hint; never fails.
void prefault(void* pointer, std::size_t size) noexcept;

struct statistics {
    std::uint64_t arena_bytes = 0;        ///< address space of the own arena
    std::uint64_t in_use = 0;             ///< big blocks that are allocated, regions that the pool of small blocks holds, what was adopted
    std::uint64_t adopted = 0;            ///< static data of the program whose pages are the arena's
    std::uint64_t extents = 0;            ///< in_use, and freed memory that is kept warm
    std::uint64_t returned_by_peers = 0;  ///< blocks, so far
    std::uint32_t attached = 0;           ///< peers' segments mapped
};
/// Zeros in a program that never used the heap.
[[nodiscard]] statistics stats() noexcept;

/// For the preload allocator: memory from the arena if this process is a rank that a launcher started, else (and when the arena is
/// full) null. Calls no malloc of this size. `clean` says whether the block reads as zeros.
[[nodiscard]] void* allocate_if_launched(std::size_t size, std::size_t alignment, bool& clean) noexcept;

// After fork the child has a snapshot of its own arena and private views of the peers', at the same addresses: its writes stay its own.
// Its `allocate` returns plain private memory from then on; `deallocate` of inherited blocks does nothing. fork returns in the parent when
// the used part of the arena, and noted blocks of peers' arenas, have been copied, or when the child has executed a program or ended within
// the time that fork.cpp gives it. posix_spawn, vfork, system and popen copy nothing. Other handed-over blocks lie in the peers' arenas: a
// child sees later changes of those by its parent, until it writes to their pages itself.

} // namespace towline::heap
