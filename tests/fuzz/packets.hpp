#pragma once
// Packets that nobody meant, for a rank that has met two peers. The input is a list of them: 2 bytes of length, little-endian, then the
// bytes. The number by which the receiver knows its peer, which no stranger can guess, is written into each, so that what is behind it is
// reached; a length with its highest bit set leaves the packet as it is.

#include <cstddef>
#include <cstdint>
#include <span>

namespace towline::test {

/// Gives the packets to the rank as coming from one peer. Then the other peer must still be heard, or the process aborts.
void feed_packets(std::span<std::uint8_t const> input);

} // namespace towline::test
