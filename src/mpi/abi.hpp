#pragma once
// mpi.h, with everything that it declares visible outside the library: all else of the face is hidden.

#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop
