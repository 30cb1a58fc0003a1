// Exchanges of ranks around the collective operations of a program: of their lanes, once for each communicator whose ranks share memory
// (collective/lanes.hpp), and of what they call, before each operation, for TOWLINE_CHECK=collectives.

#include "collective/lanes/introduction.hpp"
#include "job/job.hpp"
#include "mpi/collective_calls.hpp"
#include "mpi/process.hpp"

namespace towline::mpi {
namespace {

constexpr unsigned first = 1;
constexpr unsigned usual = 3;  ///< many programs make a communicator for one barrier only

} // namespace

unsigned operations_before_lanes()
{
    static unsigned const n = [] {
        switch (collective::wished_lanes()) {
        case collective::lane_use::never: return 0u;
        case collective::lane_use::first: return first;
        default: return usual;
        }
    }();
    return n;
}

void introduce(communicator& c, char const* call, collective::introduction::of what)
{
    collective::introduction i(c.team(), process::instance().node_memory(), job::membership::instance().is_oversubscribed(), what);
    pooled_operation const o;
    i.build(o->schedule());
    o->start(c, collective::team::introduction_sequence);
    o->wait(c, call);
    if (int const code = o->finish(); code != MPI_SUCCESS) {
        i.fail(o->result());
        throw_ending(code);
    }
    try {
        i.finish();
    } catch (...) {
        i.fail(collective::ending::lost);
        throw;
    }
}

void allow_starts(collective_operation& o, communicator& c)
{
    if (c.hints().get("mpi_assert_strict_persistent_collective_ordering") != "true" || operations_before_lanes() == 0 ||
        collective::checks_calls() || c.team().broken() != collective::ending::ok)
        return;
    if (c.team().is_time_for_lanes_of_starts())
        introduce(c, "MPI_Barrier_init, or the like", collective::introduction::of::starts);
    o.schedule().allow(c.team().lanes_of_starts(), c.team().levels_of_starts());
}

// TOWLINE_CHECK=collectives

int code_of(collective::call_check::part what) noexcept
{
    using part = collective::call_check::part;
    switch (what) {
    case part::root: return MPI_ERR_ROOT;
    case part::bytes: return MPI_ERR_TRUNCATE;
    case part::type: return MPI_ERR_TYPE;
    case part::operation: return MPI_ERR_OP;
    default: return MPI_ERR_OTHER;
    }
}

void check_calls(communicator& c, char const* call, collective_operation const& o, std::uint32_t sequence)
{
    collective::call_check check(c.team(), o.card());
    pooled_operation const exchange;
    check.build(exchange->schedule());
    exchange->start(c, collective::team::check_sequence(sequence));
    exchange->wait(c, call);
    if (int const code = exchange->finish(); code != MPI_SUCCESS)
        throw failure(code, exchange->explain(code));
    if (auto const found = check.find())
        throw failure(code_of(found->what), found->text);
}

} // namespace towline::mpi
