#pragma once
// What the calls that complete one request and those that complete many have in common (3.7.3 to 3.7.6).

#include "mpi/checks.hpp"
#include "mpi/request.hpp"

namespace towline::mpi {

/// What takes part in a completion: not null, and not an inactive persistent one.
[[nodiscard]] inline bool takes_part(request const* r) noexcept
{
    return r != nullptr && r->is_active;
}

/// A request of one call is done: its status, its end, and its error thrown.
inline void conclude(request& r, MPI_Request& handle, MPI_Status* status)
{
    int const code = final_result(r, status);
    if (code == MPI_SUCCESS) [[likely]]
        return retire(r, handle);
    failure const f = failure_of(r, code);
    retire(r, handle);
    throw f;
}

/// Progress once, unless it is true already.
template <class Condition>
[[nodiscard]] bool now_or_after_progress(Condition&& condition)
{
    if (condition())
        return true;
    the_matcher().transport().progress();
    return condition();
}

} // namespace towline::mpi
