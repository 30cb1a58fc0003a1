// Calls on statuses that need no datatype (3.2.5, 3.8.4, 13.3).

#include "mpi/calls.hpp"
#include "mpi/status.hpp"

namespace towline::mpi::calls {

void status_get_source(MPI_Status const* status, int* source)
{
    *source = status->MPI_SOURCE;
}

void status_get_tag(MPI_Status const* status, int* tag)
{
    *tag = status->MPI_TAG;
}

void status_get_error(MPI_Status const* status, int* error)
{
    *error = status->MPI_ERROR;
}

void status_set_source(MPI_Status* status, int source)
{
    status->MPI_SOURCE = source;
}

void status_set_tag(MPI_Status* status, int tag)
{
    status->MPI_TAG = tag;
}

void status_set_error(MPI_Status* status, int error)
{
    status->MPI_ERROR = error;
}

void status_set_cancelled(MPI_Status* status, int flag)
{
    set_cancelled(*status, flag != 0);
}

void test_cancelled(MPI_Status const* status, int* flag)
{
    *flag = is_cancelled(*status);
}

} // namespace towline::mpi::calls
