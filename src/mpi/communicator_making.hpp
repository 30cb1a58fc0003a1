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

/// A communicator with an agreed number; it inherits the parent's error handler (9.3).
[[nodiscard]] ref<communicator> make_communicator(communicator& parent, ref<group> local, ref<group> remote, std::uint32_t number,
                                                  ref<topology> = {});

/// Gives it a handle.
[[nodiscard]] MPI_Comm publish(ref<communicator>);
/// Frees a handle and sets it to null.
void unpublish(MPI_Comm&);

/// Makes a communicator of some ranks of an intracommunicator, in this order. All ranks call, each with the list that it belongs to. Ranks
/// with an empty list, or absent from their list, get MPI_COMM_NULL.
[[nodiscard]] MPI_Comm make_of_ranks(communicator&, std::span<int const> ranks, char const* call, ref<topology> = {});

/// Agrees on a number for a communicator of some ranks of an intracommunicator; the others do not call. `place` is this rank's place in the
/// list. Messages go under a tag; each series has separate tags, series 0 is that of MPI_Intercomm_create.
[[nodiscard]] std::uint32_t agree_under_tag(communicator const&, std::span<int const> ranks, int place, int tag, int series,
                                            char const* call);

/// Makes an intercommunicator of an intracommunicator, all of whose ranks call, and another one in the same job. `leader` exchanges
/// messages under a tag with the other side's leader, a rank of `peers`. `other` returns both; only the leader calls it, and it may throw.
struct other_leader {
    communicator const* peers;
    int rank;
};
[[nodiscard]] ref<communicator> make_between(communicator&, int leader, int tag, std::function<other_leader()> const& other,
                                             char const* call);

/// MPI_Comm_split; a color may be MPI_UNDEFINED.
[[nodiscard]] MPI_Comm split(communicator&, int color, int key, char const* call);

/// Ranks, in the communicator's local group, of a group's members; throws if a member is missing there.
[[nodiscard]] std::vector<int> ranks_of(group const& members, communicator const&);

/// Throws for an intercommunicator.
communicator& intra(MPI_Comm, char const* parameter);

} // namespace towline::mpi
