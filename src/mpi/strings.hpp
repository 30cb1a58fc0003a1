#pragma once
// Strings returned through the C interface.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace towline::mpi {

/// Copies what fits into `size` bytes, the terminating zero included; returns the length of the copy.
inline int copy_string(std::string_view from, char* to, std::size_t size) noexcept
{
    std::size_t const n = std::min(from.size(), size - 1);
    std::memcpy(to, from.data(), n);
    to[n] = '\0';
    return static_cast<int>(n);
}

} // namespace towline::mpi
