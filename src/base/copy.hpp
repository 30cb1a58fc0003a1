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

/// How a block of `whole` bytes is copied the fastest that goes to `to`, by its size and by whether what is there lies in a cache. The
/// caller will copy `bytes` of it from `at` on first; other parts may be others' to copy. May read there, and writes nothing.
[[nodiscard]] copy_ways::way way_of_copy(std::byte const* to, std::size_t whole, std::size_t at, std::size_t bytes) noexcept;
/// The same by the size alone.
[[nodiscard]] copy_ways::way way_of_copy(std::size_t whole) noexcept;
/// copy_block for a part of such a block.
void copy_part(void* to, void const* from, std::size_t bytes, copy_ways::way) noexcept;

// Taking lines. A line that one core wrote and another has read stays in both caches, and its writer must ask the reader before it writes
// it again. A line that the reader has written goes back at once and whole, at a fraction of that time, and taking it that way costs the
// reader nothing (Zen 4; `bench/mpi`, by_hand/taking). So whoever copies what another process writes again and again writes a byte of each
// line back as it is. Who wrote the block must leave it alone meanwhile, and it must be mapped for writing. What came from memory is better
// left as it is: it would have to be written there again. So is what nobody writes: whoever lent it would miss it, should he read it, too.

/// A number made of up to four words of the block (of any size): another one, most likely, once somebody has written the block anew.
[[nodiscard]] std::uint64_t sample(void const* block, std::size_t bytes) noexcept;
/// Whether taking the lines of a block that another process lent pays: it was here lately, and looks as if it was written since (a few of
/// its words are compared with those of that time). From 1 KiB on. Costs a few ns, and what it takes to bring four lines of the block.
[[nodiscard]] bool is_rewritten(void const* block, std::size_t bytes) noexcept;
/// copy_block, and takes the lines of `from`.
void copy_taking(void* to, void const* from, std::size_t bytes) noexcept;
/// copy_block, with stores that go past the caches where the processor has them: for who will not look there again.
void copy_past(void* to, void const* from, std::size_t bytes) noexcept;
/// The processor is one on which taking lines pays.
[[nodiscard]] bool takes_lines() noexcept;
/// Takes the lines of a block that was just read in another way, if so.
void take_lines(void const* block, std::size_t bytes) noexcept;

} // namespace towline::base
