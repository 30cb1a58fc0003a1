#pragma once
// Whether MPI runs in this process: after MPI_Init and before MPI_Finalize (11.2).

#include <atomic>

namespace towline::mpi {

enum class phase : int { before, running, after };

inline constinit std::atomic<phase> current_phase{phase::before};

[[noreturn, gnu::cold]] void throw_not_running();

/// At the entry of calls that need MPI to run.
inline void enter()
{
    if (current_phase.load(std::memory_order_acquire) != phase::running) [[unlikely]]
        throw_not_running();
}

} // namespace towline::mpi
