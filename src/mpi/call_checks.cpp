// TOWLINE_CHECK=collectives: what the ranks call is compared before they do it.

#include "mpi/collective_calls.hpp"

namespace towline::mpi {

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
