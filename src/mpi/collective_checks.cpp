// Error texts for arguments of collective operations.

#include "mpi/collective_checks.hpp"

#include "collective/operations.hpp"

#include <fmt/format.h>

namespace towline::mpi {

void throw_root(communicator const& c, int root)
{
    std::string const name = c.name().empty() ? "the communicator" : c.name();
    if (root == MPI_ROOT && !c.is_inter())
        throw failure(MPI_ERR_ROOT, fmt::format("root is MPI_ROOT, and {} is no intercommunicator", name));
    if (root == MPI_PROC_NULL && !c.is_inter())
        throw failure(MPI_ERR_ROOT, fmt::format("root is MPI_PROC_NULL, and {} is no intercommunicator", name));
    throw failure(MPI_ERR_ROOT,
                  fmt::format("root is {}, and {} has the {}ranks 0 to {}", root, name, c.is_inter() ? "remote " : "", c.peers() - 1));
}

void throw_in_place(char const* parameter)
{
    throw failure(MPI_ERR_BUFFER, fmt::format("{} is MPI_IN_PLACE, which has no meaning in an intercommunicator", parameter));
}

void throw_alias()
{
    throw failure(MPI_ERR_BUFFER, "sendbuf and recvbuf are the same memory; MPI_IN_PLACE says that they shall be");
}

void spoil_unlike(collective_operation& o, std::uint64_t sent, std::uint64_t expected)
{
    o.spoil(fmt::format("this rank sends itself {} bytes, and expects {}", sent, expected));
}

void throw_too_many(std::int64_t count, std::int64_t times)
{
    throw failure(MPI_ERR_COUNT, fmt::format("{} elements for each of {} ranks are more than can be counted", count, times));
}

void throw_only_within(communicator const& c)
{
    throw failure(MPI_ERR_COMM, fmt::format("comm is {}, an intercommunicator, for which this operation is not defined",
                                            c.name().empty() ? "without a name" : c.name()));
}

rooted rooted_at(communicator const& c, int root)
{
    if (c.is_inter()) {
        if (root == MPI_ROOT)
            return {collective::root_is_here, true, true};
        if (root == MPI_PROC_NULL)
            return {collective::root_is_beside, false, false};
    }
    if (!c.has_peer(root)) [[unlikely]]
        throw_root(c, root);
    return {root, !c.is_inter() && root == c.rank(), true};
}

void throw_no_array(char const* parameter)
{
    throw failure(MPI_ERR_ARG, fmt::format("{} is a null pointer", parameter));
}

std::int64_t count_at(wide_array a, int i, char const* parameter)
{
    std::int64_t const count = a[static_cast<std::size_t>(i)];
    if (count < 0) [[unlikely]]
        throw failure(MPI_ERR_COUNT, fmt::format("{}[{}] is {}, and a count cannot be negative", parameter, i, count));
    return count;
}

} // namespace towline::mpi
