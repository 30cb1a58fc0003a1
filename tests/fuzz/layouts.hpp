#pragma once
// Layouts in shared memory that nobody meant. The input is a list of words of 8 bytes, little-endian: how many bytes of data the layout is
// said to have, how large its segment is, then its form (layout/serial.hpp).

#include <cstddef>
#include <cstdint>
#include <span>

namespace towline::test {

inline constexpr std::int64_t most_layout_bytes = 1 << 16;  ///< of data, and of the segment; both numbers are taken modulo this and one

/// Reads the layout. True: it was accepted; then it moves so many bytes, all inside its segment, and is the same after it was written
/// down and read again, or the process aborts. Nothing but bad_layout is thrown inside.
bool feed_layout(std::span<std::uint8_t const> input);

} // namespace towline::test
