#pragma once
// The header and trailer of an index: docs/wire.md, "The archive".

#include <cstddef>
#include <cstdint>

namespace towline {

inline constexpr std::uint8_t archive_version = 1;     // the low four bits of the first byte
inline constexpr std::uint8_t version_mask = 0x0F;
inline constexpr std::uint8_t flag_threshold = 0x10;   // the threshold follows, 8 bytes; without the flag it is 8192
inline constexpr std::uint8_t flag_chunks = 0x20;      // there are chunks: their number (4 bytes) and total size (8) end the index
inline constexpr std::size_t chunk_trailer_size = 12;

} // namespace towline
