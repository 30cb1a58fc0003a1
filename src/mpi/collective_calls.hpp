#pragma once
// The three ways to call a collective operation: blocking, nonblocking, persistent. A plan (collective_plans.hpp) checks the arguments and
// builds this rank's part: plan(operation, communicator, arguments...).

#include "mpi/collective_operation.hpp"
#include "mpi/failure.hpp"
#include "mpi/handles.hpp"
#include "mpi/request.hpp"

namespace towline::mpi {

[[noreturn, gnu::cold]] void throw_ending(int code);

/// Shows the ranks each other's lanes, if all of them share memory. All ranks call it at the same place in their order of operations.
void introduce(communicator&, char const* call);
/// All ranks show each other what they call; throws if they do not call the same.
void check_calls(communicator&, char const* call, collective_operation const&, std::uint32_t sequence);
/// The class of the error.
[[nodiscard]] int code_of(collective::call_check::part) noexcept;
/// The number of the blocking operation before which they do (TOWLINE_LANES), 0: never.
[[nodiscard]] unsigned operations_before_lanes();

/// Fills an operation. What this rank refuses is thrown here, before anything counts it.
template <class Plan, class... Args>
void build(collective_operation& o, communicator& c, Plan plan, Args... args)
{
    if (collective::ending const why = c.team().broken(); why != collective::ending::ok) [[unlikely]]
        throw_ending(code_of(why));
    o.schedule().allow(c.team().lanes());
    plan(o, c, args...);
}

/// Blocks until this rank's part is done.
template <class Plan, class... Args>
void run(char const* call, MPI_Comm comm, Plan plan, Args... args)
{
    communicator& c = get(comm, "comm");
    pooled_operation const o;
    build(*o, c, plan, args...);
    if (c.team().is_time_for_lanes(operations_before_lanes())) [[unlikely]] {
        introduce(c, call);
        o->clear();
        build(*o, c, plan, args...);
    }
    std::uint32_t const sequence = c.team().next_sequence();
    if (collective::checks_calls()) [[unlikely]]
        check_calls(c, call, *o, sequence);
    o->start(c, sequence);
    o->wait(c, call);
    if (int const code = o->finish(); code != MPI_SUCCESS) [[unlikely]]
        throw failure(code, o->explain(code));
}

/// Starts an operation that was built; the handle of its request.
[[nodiscard]] MPI_Request begin(communicator&, pooled_operation);
/// A persistent request for it.
[[nodiscard]] MPI_Request prepare(communicator&, MPI_Info, pooled_operation);

template <class Plan, class... Args>
void begin(MPI_Comm comm, MPI_Request* request, Plan plan, Args... args)
{
    communicator& c = get(comm, "comm");
    pooled_operation o;
    if (collective::checks_calls()) [[unlikely]]
        plan(*o, c, args...);  // by messages: it begins when the calls were compared, which is not the same moment on all ranks
    else
        build(*o, c, plan, args...);
    *request = begin(c, std::move(o));
}

template <class Plan, class... Args>
void prepare(MPI_Comm comm, MPI_Info info, MPI_Request* request, Plan plan, Args... args)
{
    communicator& c = get(comm, "comm");
    pooled_operation o;
    plan(*o, c, args...);
    *request = prepare(c, info, std::move(o));
}

} // namespace towline::mpi
