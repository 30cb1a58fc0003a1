#pragma once
// Waits for other ranks over lanes; `towline where` shows the rank that a wait is for.

#include "mpi/process.hpp"

#include <chrono>

namespace towline::mpi {

/// Blocks until met() is true; makes progress. `whom()` returns the awaited rank, or a negative number for none in particular.
template <class Met, class Whom>
void wait_over_lanes(communicator& c, char const* call, Met&& met, Whom&& whom)
{
    matching::pattern const from_anybody{c.context(plane::collective), matching::any_source, 0};
    matching::waited about({matching::operation::receive, from_anybody, matching::no_peer, 0, false});
    process::instance().engine().wait(
        [&] {
            if (met())
                return true;
            int const rank = whom();
            about.what.about.source = rank < 0 ? matching::any_source : rank;
            about.what.with = rank < 0 ? matching::no_peer : c.peer(rank);
            return false;
        },
        call, std::chrono::nanoseconds::max(), &about);
}

} // namespace towline::mpi
