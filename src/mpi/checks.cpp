// Error texts for wrong tags and ranks.

#include "mpi/checks.hpp"

#include <fmt/format.h>

namespace towline::mpi {

void throw_tag(int tag, char const* parameter, bool any_allowed)
{
    if (tag == MPI_ANY_TAG)
        throw failure(MPI_ERR_TAG, fmt::format("{} is MPI_ANY_TAG, which only receives and probes may ask for", parameter));
    throw failure(MPI_ERR_TAG,
                  fmt::format("{} is {}; tags are 0 or more{}", parameter, tag, any_allowed ? ", or MPI_ANY_TAG" : ""));
}

void throw_rank(communicator const& c, int rank, char const* parameter, bool any_allowed)
{
    std::string const name = c.name().empty() ? "the communicator" : c.name();
    if (rank == MPI_ANY_SOURCE && !any_allowed)
        throw failure(MPI_ERR_RANK, fmt::format("{} is MPI_ANY_SOURCE, which only receives and probes may ask for", parameter));
    throw failure(MPI_ERR_RANK, fmt::format("{} is {}, and {} has the {}ranks 0 to {}", parameter, rank, name,
                                            c.is_inter() ? "remote " : "", c.peers() - 1));
}

} // namespace towline::mpi
