#pragma once
// mpi.h with default visibility for its declarations; everything else in the MPI face is hidden.

#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop
