#pragma once
// Whether MPI runs in this process: after MPI_Init and before MPI_Finalize (11.2).

#include <atomic>

namespace towline::mpi {

enum class phase : int { before, running, after };

inline constinit std::atomic<phase> current_phase{phase::before};

/// True if only one thread at a time calls MPI (MPI_Init gave less than MPI_THREAD_MULTIPLE); false while MPI does not run.
inline constinit bool one_thread = false;

[[noreturn, gnu::cold]] void throw_not_running();

/// Entry check of calls that need MPI to run.
inline void enter()
{
    if (current_phase.load(std::memory_order_acquire) != phase::running) [[unlikely]]
        throw_not_running();
}

} // namespace towline::mpi
