#pragma once
// The three ways to call a collective operation: blocking, nonblocking, persistent. A plan (collective_plans.hpp) checks the arguments and
// says what this rank's part is: plan(operation, communicator, arguments...). How it is done is up to collective/.

#include "collective/lanes/introduction.hpp"
#include "collective/lanes/run_now.hpp"
#include "mpi/collective_operation.hpp"
#include "mpi/collective_plain.hpp"
#include "mpi/failure.hpp"
#include "mpi/handles.hpp"
#include "mpi/lane_wait.hpp"
#include "mpi/request.hpp"

namespace towline::mpi {

[[noreturn, gnu::cold]] void throw_ending(int code);
/// Of an operation over lanes.
[[noreturn, gnu::cold]] void throw_ending(collective::lanes&, collective::ending);

/// Shows the ranks each other's lanes, if all of them, or those of a node, share memory. All ranks call it at the same place in their order
/// of operations.
void introduce(communicator&, char const* call, collective::introduction::of = collective::introduction::of::operations);
/// Lets a persistent operation that is being made use lanes, if the program asserts that all ranks start the communicator's persistent
/// operations in one order (mpi_assert_strict_persistent_collective_ordering). The first call exchanges them among the ranks.
void allow_starts(collective_operation&, communicator&);
/// All ranks show each other what they call; throws if they do not call the same.
void check_calls(communicator&, char const* call, collective_operation const&, std::uint32_t sequence);
/// The class of the error.
[[nodiscard]] int code_of(collective::call_check::part) noexcept;
/// The number of the blocking operation before which they do (TOWLINE_LANES), 0: never.
[[nodiscard]] unsigned operations_before_lanes();

/// Fills an operation. What this rank refuses is thrown here, before anything counts it.
template <class Plan, class... Args>
void plan_for(collective_operation& o, communicator& c, Plan plan, Args... args)
{
    if (collective::ending const why = c.team().broken(); why != collective::ending::ok) [[unlikely]]
        throw_ending(code_of(why));
    o.schedule().allow(c.team().lanes(), c.team().levels());
    plan(o, c, args...);
}

/// Runs a planned operation to its end: immediately where that is possible, else as steps.
void run_planned(communicator&, char const* call, collective_operation&);

/// Runs a call of that routine in this thread. False: that is not possible now, and nothing was begun.
template <collective::routine what>
[[nodiscard, gnu::always_inline]] inline bool run_now(communicator& c, char const* name, collective::call const& k)
{
    collective::lanes* const l = c.team().quick_lanes();
    if (!collective::may_run_now<what>(l, k)) [[unlikely]]
        return false;
    (void)c.team().next_sequence();  // as of the ranks that do it by steps
    auto const wait = [&](auto&& is_met, int rank) { wait_over_lanes(c, name, is_met, [rank] { return rank; }); };
    if (auto const how = collective::run_now<what>(*l, c.team().is_crowded(), k, wait); how != collective::lane_run::state::ended)
        [[unlikely]]
        throw_ending(*l, collective::lane_run::ending_of(how));
    if (l->begun() % collective::thresholds::progress_every == 0) [[unlikely]]
        process::instance().engine().progress();
    return true;
}

/// Blocks until this rank's part is done.
template <auto plan, class... Args>
void run(char const* call, MPI_Comm comm, Args... args)
{
    communicator& c = get(comm, "comm");
    pooled_operation const o;
    plan_for(*o, c, plan, args...);
    run_planned(c, call, *o);
}
/// The same, where `plain` (collective_plain.hpp) reads the arguments of most calls of the routine; the plan reads the others, and reports
/// errors.
template <collective::routine what, auto plain, auto plan, class... Args>
void run(char const* call, MPI_Comm comm, Args... args)
{
    communicator& c = get(comm, "comm");
    if (c.team().quick_lanes() != nullptr) [[likely]]
        if (plain_call p; plain(p, c, args...) && run_now<what>(c, call, p.what)) [[likely]]
            return;
    run<plan>(call, comm, args...);
}

/// Starts an operation that was planned; the handle of its request.
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
        plan_for(*o, c, plan, args...);
    *request = begin(c, std::move(o));
}

template <class Plan, class... Args>
void prepare(MPI_Comm comm, MPI_Info info, MPI_Request* request, Plan plan, Args... args)
{
    communicator& c = get(comm, "comm");
    pooled_operation o;
    allow_starts(*o, c);
    plan(*o, c, args...);
    *request = prepare(c, info, std::move(o));
}

} // namespace towline::mpi
