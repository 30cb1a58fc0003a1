#pragma once
// Shared by the calls that complete one request and those that complete many (3.7.3 to 3.7.6).

#include "mpi/checks.hpp"
#include "mpi/request.hpp"

namespace towline::mpi {

/// True for a request that is not null and not an inactive persistent one.
[[nodiscard]] inline bool takes_part(request const* r) noexcept
{
    return r != nullptr && r->is_active;
}

/// Concludes a done request in a call on one request: fills the status, retires the request, throws its error.
inline void conclude(request& r, MPI_Request& handle, MPI_Status* status)
{
    int const code = final_result(r, status);
    if (code == MPI_SUCCESS) [[likely]]
        return retire(r, handle);
    failure const f = failure_of(r, code);
    retire(r, handle);
    throw f;
}

/// Tests the condition; if it is false, makes progress once and tests again.
template <class Condition>
[[nodiscard]] bool now_or_after_progress(Condition&& condition)
{
    if (condition())
        return true;
    the_matcher().transport().progress();
    return condition();
}

} // namespace towline::mpi
