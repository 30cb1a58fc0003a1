#pragma once
// Copying a big block from memory of one process into memory of another, or so that another can read it.

#include <cstddef>

namespace towline::base {

namespace copy_ways {
enum class way : unsigned char;
}

/// memcpy, for blocks of many KiB: the ranges do not overlap, any alignment, both may be null with 0 bytes. When it returns, whoever sees a
/// later store of this thread sees the copy. Any thread.
void copy_block(void* to, void const* from, std::size_t bytes) noexcept;

/// How a block of `whole` bytes is copied the fastest that goes to `to`, by its size and by whether what is there lies in a cache. The
/// caller will copy `bytes` of it from `at` on first; other parts may be others' to copy. May read there, and writes nothing.
[[nodiscard]] copy_ways::way way_of_copy(std::byte const* to, std::size_t whole, std::size_t at, std::size_t bytes) noexcept;
/// The same by the size alone.
[[nodiscard]] copy_ways::way way_of_copy(std::size_t whole) noexcept;
/// copy_block for a part of such a block.
void copy_part(void* to, void const* from, std::size_t bytes, copy_ways::way) noexcept;

// Taking lines. A line that one core wrote and another has read stays in both caches, and costs the writer 7 to 10 ns when it writes it
// again: it must ask the reader first. A line that the reader has written goes back at once, in 1.5 ns, and taking it that way costs the
// reader nothing (Zen 4, both cores of one last cache; of two: 28 to 36 ns, and 4). So whoever copies what another process writes again and again writes a byte of each
// line back as it is. Who wrote the block must leave it alone meanwhile, and it must be mapped for writing. What came from memory is
// better left as it is: it would have to be written there again.

/// How a block that another process wrote is received.
enum class receipt : unsigned char {
    any,     ///< copy_block, with its sender's help if he is there
    near,    ///< it lies in this core's own caches: copy_block, and nobody else had better touch it
    taking,  ///< it lies in another core's: copy_taking
};
/// For a block that will be copied to `to`. A few ns, and 30 from 8 KiB on.
[[nodiscard]] receipt way_to_receive(void const* to, void const* from, std::size_t bytes) noexcept;
/// copy_block, and takes the lines of `from`.
void copy_taking(void* to, void const* from, std::size_t bytes) noexcept;
/// Takes the lines of a block that was just read in another way, if the processor is one for which that pays.
void take_lines(void const* block, std::size_t bytes) noexcept;

} // namespace towline::base
