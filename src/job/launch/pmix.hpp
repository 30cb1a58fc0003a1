#pragma once
// PMIx: Slurm's srun --mpi=pmix, Open MPI's mpirun and prterun speak it. Its library is loaded when such a launcher is there, so that
// nothing needs it elsewhere; a build without its header (libpmix-dev) does not know it.

#include "job/launch/launcher.hpp"

namespace towline::job::launch {

/// Why PMIx cannot be used in this process, whatever launcher there is; empty: it can. Loads the library.
[[nodiscard]] std::string why_no_pmix();

/// Greets the launcher. Throws error.
[[nodiscard]] std::unique_ptr<launcher> connect_pmix(patience);

} // namespace towline::job::launch
