// Local calls on communicators (7.4.1, 7.6.1, 7.4.4), and their names (7.8).

#include "mpi/calls.hpp"
#include "mpi/handles.hpp"
#include "mpi/process.hpp"
#include "mpi/strings.hpp"

#include <cstring>
#include <fmt/format.h>

namespace towline::mpi::calls {
namespace {

communicator& inter(MPI_Comm comm)
{
    communicator& c = get(comm, "comm");
    if (!c.is_inter())
        throw failure(MPI_ERR_COMM, fmt::format("comm is {}, an intracommunicator, which has no remote group", c.name()));
    return c;
}

} // namespace

void comm_size(MPI_Comm comm, int* size)
{
    *size = get(comm, "comm").size();
}

void comm_rank(MPI_Comm comm, int* rank)
{
    *rank = get(comm, "comm").rank();
}

void comm_compare(MPI_Comm comm1, MPI_Comm comm2, int* result)
{
    communicator& a = get(comm1, "comm1");
    communicator& b = get(comm2, "comm2");
    if (&a == &b) {
        *result = MPI_IDENT;
        return;
    }
    if (a.is_inter() != b.is_inter()) {
        *result = MPI_UNEQUAL;
        return;
    }
    // The constants grow with the difference: identical groups make congruent communicators.
    int worst = compare(a.local(), b.local());
    if (a.is_inter())
        worst = std::max(worst, compare(a.remote(), b.remote()));
    *result = std::max<int>(worst, MPI_CONGRUENT);
}

void comm_group(MPI_Comm comm, MPI_Group* group)
{
    *group = give<MPI_Group>(ref<mpi::group>(get(comm, "comm").local()));
}

void comm_test_inter(MPI_Comm comm, int* flag)
{
    *flag = get(comm, "comm").is_inter();
}

void comm_remote_size(MPI_Comm comm, int* size)
{
    *size = inter(comm).remote().size();
}

void comm_remote_group(MPI_Comm comm, MPI_Group* group)
{
    *group = give<MPI_Group>(ref<mpi::group>(inter(comm).remote()));
}

void comm_set_info(MPI_Comm comm, MPI_Info info)
{
    communicator& c = get(comm, "comm");
    if (info != MPI_INFO_NULL)
        c.hints().merge(get(info, "info"));
}

void comm_get_info(MPI_Comm comm, MPI_Info* info_used)
{
    *info_used = give<MPI_Info>(get(comm, "comm").hints().copy());
}

void comm_set_name(MPI_Comm comm, char const* comm_name)
{
    get(comm, "comm").set_name({comm_name, ::strnlen(comm_name, MPI_MAX_OBJECT_NAME - 1)});
}

void comm_get_name(MPI_Comm comm, char* comm_name, int* resultlen)
{
    *resultlen = copy_string(comm == MPI_COMM_NULL ? "MPI_COMM_NULL" : get(comm, "comm").name(), comm_name, MPI_MAX_OBJECT_NAME);
}

/// Dynamic processes are not implemented: there is no parent.
void comm_get_parent(MPI_Comm* parent)
{
    *parent = MPI_COMM_NULL;
}

} // namespace towline::mpi::calls
