#pragma once
// external32, the standard's canonical form of data (MPI-5.0, "Packing and Unpacking: canonical MPI_PACK and MPI_UNPACK" and "External Data
// Representation: external32"): big-endian, no gaps, long in 4 bytes, wchar_t in 2, long double as IEEE binary128.
//
// Whole messages only; sizes by datatype::external_size. Buffers as in stream.hpp. Any thread, nothing is allocated.

#include "layout/datatype.hpp"

#include <cstddef>
#include <cstdint>

namespace towline::layout {

/// Bytes of a message in external32. Throws usage_error if count is negative, limit_error if the size does not fit 64 bits.
[[nodiscard]] std::int64_t external32_size(datatype const&, std::int64_t count);

/// Converts `count` elements of the buffer into external32_size bytes at `to`. Returns how many values did not fit (a long beyond 4 bytes,
/// a wchar_t beyond 2): of those the low bytes are written; MPI calls this MPI_ERR_CONVERSION.
[[nodiscard]] std::int64_t pack_external32(datatype const&, std::int64_t count, void const* buffer, void* to) noexcept;

/// The way back. Everything fits; a binary128 is rounded to nearest where long double is shorter.
void unpack_external32(datatype const&, std::int64_t count, void* buffer, void const* from) noexcept;

} // namespace towline::layout
