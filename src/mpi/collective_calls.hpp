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

/// Exchanges the ranks' lanes if all ranks, or those of each node, share memory. All ranks call it at the same place in their order of
/// operations.
void introduce(communicator&, char const* call, collective::introduction::of = collective::introduction::of::operations);
/// Lets a persistent operation that is being made use lanes, if the program asserts that all ranks start the communicator's persistent
/// operations in one order (mpi_assert_strict_persistent_collective_ordering). The first call exchanges them among the ranks.
void allow_starts(collective_operation&, communicator&);
/// Compares what all ranks call; throws if they do not call the same.
void check_calls(communicator&, char const* call, collective_operation const&, std::uint32_t sequence);
/// The error class for a difference of that kind.
[[nodiscard]] int code_of(collective::call_check::part) noexcept;
/// The number of the blocking operation before which lanes are exchanged (TOWLINE_LANES); 0: never.
[[nodiscard]] unsigned operations_before_lanes();

/// Fills an operation. Argument errors of this rank are thrown here, before the operation takes a sequence number.
template <class Plan, class... Args>
void plan_for(collective_operation& o, communicator& c, Plan plan, Args... args)
{
    if (collective::ending const why = c.team().broken(); why != collective::ending::ok) [[unlikely]]
        throw_ending(code_of(why));
    o.schedule().allow(c.team().lanes(), c.team().levels());
    plan(o, c, args...);
}

/// Runs a planned operation to its end: in one piece over lanes if possible, else as a schedule.
void run_planned(communicator&, char const* call, collective_operation&);

/// Runs a call of that routine in this thread. False: not possible now; nothing was begun.
template <collective::routine what>
[[nodiscard, gnu::always_inline]] inline bool run_now(communicator& c, char const* name, collective::call const& k)
{
    collective::lanes* const l = c.team().quick_lanes();
    if (!collective::may_run_now<what>(l, k)) [[unlikely]]
        return false;
    (void)c.team().next_sequence();  // stays equal to the ranks that run a schedule
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
/// The same, but `plain` (collective_plain.hpp) reads the arguments of the most frequent calls. The plan reads all others and reports
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

/// Starts a planned operation; returns the handle of its request.
[[nodiscard]] MPI_Request begin(communicator&, pooled_operation);
/// Returns a persistent request for a planned operation.
[[nodiscard]] MPI_Request prepare(communicator&, MPI_Info, pooled_operation);

template <class Plan, class... Args>
void begin(MPI_Comm comm, MPI_Request* request, Plan plan, Args... args)
{
    communicator& c = get(comm, "comm");
    pooled_operation o;
    if (collective::checks_calls()) [[unlikely]]
        plan(*o, c, args...);  // by messages: it begins after the calls were compared, at different moments on different ranks
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
