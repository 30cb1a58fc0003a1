#pragma once
// The internal fields of a status (3.2.5): how many bytes arrived, and whether the operation was cancelled. They are in the ints that the
// ABI leaves to the library, because programs copy statuses and Fortran accesses them as arrays.

#include "mpi/abi.hpp"

#include <cstdint>
#include <cstring>

namespace towline::mpi {

/// MPI_internal: [0], [1] the bytes; [2] cancelled.
inline void set_bytes(MPI_Status& status, std::int64_t bytes) noexcept
{
    std::memcpy(&status.MPI_internal[0], &bytes, sizeof bytes);
}

[[nodiscard]] inline std::int64_t bytes_of(MPI_Status const& status) noexcept
{
    std::int64_t bytes = 0;
    std::memcpy(&bytes, &status.MPI_internal[0], sizeof bytes);
    return bytes;
}

inline void set_cancelled(MPI_Status& status, bool cancelled) noexcept
{
    status.MPI_internal[2] = cancelled ? 1 : 0;
}

[[nodiscard]] inline bool is_cancelled(MPI_Status const& status) noexcept
{
    return status.MPI_internal[2] != 0;
}

} // namespace towline::mpi
