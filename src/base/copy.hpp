#pragma once
// Copying a big block from memory of one process into memory of another, or so that another can read it.

#include <cstddef>
#include <cstdint>

namespace towline::base {

namespace copy_ways {
enum class way : unsigned char;
}

/// memcpy, for blocks of many KiB: the ranges do not overlap, any alignment, both may be null with 0 bytes. When it returns, whoever sees a
/// later store of this thread sees the copy. Any thread.
void copy_block(void* to, void const* from, std::size_t bytes) noexcept;

/// The fastest way to copy a block of `whole` bytes to `to`, by its size and by whether the destination is cached. The caller copies the
/// `bytes` from `at` on first; other threads or processes may copy the rest. May read the destination, and writes nothing.
[[nodiscard]] copy_ways::way way_of_copy(std::byte const* to, std::size_t whole, std::size_t at, std::size_t bytes) noexcept;
/// The same by the size alone.
[[nodiscard]] copy_ways::way way_of_copy(std::size_t whole) noexcept;
/// copy_block for a part of such a block.
void copy_part(void* to, void const* from, std::size_t bytes, copy_ways::way) noexcept;

// Taking lines: the reader of a block takes ownership of its cache lines. A line that one core wrote and another read is shared by both
// caches, and its writer must invalidate the reader's copy before it writes again. A line that the reader owns moves back whole, in a
// fraction of that time, and taking it costs the reader nothing (Zen 4; `bench/mpi`, by_hand/taking). So the reader of a block that another
// process keeps rewriting writes one byte of each line back unchanged. The block must be mapped for writing, and its writer must leave it
// alone meanwhile. Blocks from memory (they would be written back there) and those that nobody rewrites (their owner may read them) stay.

/// A hash of up to four words of the block (of any size): most likely it changes when the block is rewritten.
[[nodiscard]] std::uint64_t sample(void const* block, std::size_t bytes) noexcept;
/// Whether taking the lines of a lent block pays: the block came recently, and its sample has changed since, so that its owner keeps
/// rewriting it. False below 1 KiB. Costs a few ns, and the transfer of four lines of the block.
[[nodiscard]] bool is_rewritten(void const* block, std::size_t bytes) noexcept;
/// copy_block, and takes the lines of `from`.
void copy_taking(void* to, void const* from, std::size_t bytes) noexcept;
/// copy_block with non-temporal stores, where the processor has them: for a destination that is not read again soon.
void copy_past(void* to, void const* from, std::size_t bytes) noexcept;
/// The processor is one on which taking lines pays.
[[nodiscard]] bool takes_lines() noexcept;
/// Takes the lines of a block that was just read by other means, on such a processor.
void take_lines(void const* block, std::size_t bytes) noexcept;

} // namespace towline::base
