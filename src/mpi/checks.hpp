#pragma once
// Argument checks of point-to-point calls, a few instructions each.

#include "mpi/communicator.hpp"
#include "mpi/handles.hpp"
#include "mpi/process.hpp"
#include "mpi/status.hpp"

namespace towline::mpi {

[[noreturn, gnu::cold]] void throw_tag(int tag, char const* parameter, bool any_allowed);
[[noreturn, gnu::cold]] void throw_rank(communicator const&, int rank, char const* parameter, bool any_allowed);

inline void check_send_tag(int tag, char const* parameter = "tag")
{
    if (tag < 0) [[unlikely]]
        throw_tag(tag, parameter, false);
}

inline void check_receive_tag(int tag, char const* parameter = "tag")
{
    if (tag < 0 && tag != MPI_ANY_TAG) [[unlikely]]
        throw_tag(tag, parameter, true);
}

/// True for a process, false for MPI_PROC_NULL.
[[nodiscard]] inline bool is_destination(communicator const& c, int dest, char const* parameter = "dest")
{
    if (c.has_peer(dest)) [[likely]]
        return true;
    if (dest != MPI_PROC_NULL) [[unlikely]]
        throw_rank(c, dest, parameter, false);
    return false;
}

/// True for a process or MPI_ANY_SOURCE, false for MPI_PROC_NULL.
[[nodiscard]] inline bool is_source(communicator const& c, int source, char const* parameter = "source")
{
    if (c.has_peer(source) || source == MPI_ANY_SOURCE) [[likely]]
        return true;
    if (source != MPI_PROC_NULL) [[unlikely]]
        throw_rank(c, source, parameter, true);
    return false;
}

static_assert(MPI_ANY_SOURCE == matching::any_source);

/// The match pattern of a receive or probe; the source is a process or MPI_ANY_SOURCE.
[[nodiscard]] inline matching::pattern pattern_of(communicator const& c, int source, int tag) noexcept
{
    return {c.context(plane::point_to_point), source, tag == MPI_ANY_TAG ? matching::any_tag : tag};
}

[[nodiscard]] inline matching::peer source_peer(communicator const& c, int source) noexcept
{
    return source == MPI_ANY_SOURCE ? matching::no_peer : c.peer(source);
}

[[nodiscard]] inline matching::envelope envelope_of(communicator const& c, int tag) noexcept
{
    return {c.context(plane::point_to_point), c.rank(), tag};
}

[[nodiscard]] inline matching::matcher& the_matcher() noexcept
{
    return process::instance().matcher();
}

/// The status of a receive from MPI_PROC_NULL (3.10).
inline void fill_no_process(MPI_Status* status) noexcept
{
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = MPI_PROC_NULL;
    status->MPI_TAG = MPI_ANY_TAG;
    set_bytes(*status, 0);
    set_cancelled(*status, false);
}

} // namespace towline::mpi
