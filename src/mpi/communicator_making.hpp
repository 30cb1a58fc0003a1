#pragma once
// The last steps of every call that makes a communicator.

#include "mpi/agreement.hpp"
#include "mpi/communicator.hpp"
#include "mpi/handles.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace towline::mpi {

/// A communicator with a number that was agreed on; its error handler is the parent's (9.3).
[[nodiscard]] ref<communicator> make_communicator(communicator& parent, ref<group> local, ref<group> remote, std::uint32_t number,
                                                  ref<topology> = {});

/// Gives it a handle.
[[nodiscard]] MPI_Comm publish(ref<communicator>);
/// The end of a handle; null afterwards.
void unpublish(MPI_Comm&);

/// Some ranks of an intracommunicator, in this order, make one of their own; all ranks call, each with those that it will be with. Those
/// with an empty list, or one that they are not in, take no part: MPI_COMM_NULL.
[[nodiscard]] MPI_Comm make_of_ranks(communicator&, std::span<int const> ranks, char const* call, ref<topology> = {});

/// A number for a communicator of some ranks of an intracommunicator, of which this one has that place, without the others: under a tag.
/// Calls of a series have their tags for themselves; series 0 is that of MPI_Intercomm_create.
[[nodiscard]] std::uint32_t agree_under_tag(communicator const&, std::span<int const> ranks, int place, int tag, int series,
                                            char const* call);

/// An intercommunicator of a whole intracommunicator and another of the same process's job; all its ranks call. `leader` meets the other
/// side's leader, who is a rank of `peers`, under a tag: both are what `other` says, which only the leader calls, and which may throw.
struct other_leader {
    communicator const* peers;
    int rank;
};
[[nodiscard]] ref<communicator> make_between(communicator&, int leader, int tag, std::function<other_leader()> const& other,
                                             char const* call);

/// MPI_Comm_split; a color may be MPI_UNDEFINED.
[[nodiscard]] MPI_Comm split(communicator&, int color, int key, char const* call);

/// The ranks in the communicator's local group of a group's members; throws where one is not in it.
[[nodiscard]] std::vector<int> ranks_of(group const& members, communicator const&);

/// Throws where it is an intercommunicator.
communicator& intra(MPI_Comm, char const* parameter);

} // namespace towline::mpi
