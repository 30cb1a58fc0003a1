// MPI_Comm_create_group (7.4.2) and its variants: only the members of the group call, and a tag tells concurrent calls apart.

#include "mpi/calls.hpp"
#include "mpi/checks.hpp"
#include "mpi/communicator_making.hpp"
#include "mpi/request.hpp"

#include <towline/error.hpp>

#include <vector>

namespace towline::mpi {
namespace {

/// The message that travels down the tree.
struct decision {
    std::uint32_t number = communicator_numbers::none;
    std::int32_t code = MPI_SUCCESS;
};

decision hear(matching::pattern const& from, matching::peer who, char const* call)
{
    decision d;
    matching::status const s = the_matcher().receive(from, who, {&d, sizeof d}, call);
    if (s.error != matching::outcome::ok)
        d = {communicator_numbers::none, code_of(s.error)};
    else if (s.bytes != sizeof d)
        d = {communicator_numbers::none, MPI_ERR_OTHER};
    return d;
}

/// Runs down a binomial tree over the places in the list: the leader decides, and each place forwards the decision, also a failure.
decision decide(communicator const& c, std::span<int const> ranks, int place, int tag, int series, char const* call)
{
    int const n = static_cast<int>(ranks.size());
    matching::context_id const context = c.context(plane::tagged);
    auto const at = [&](int p) { return ranks[static_cast<std::size_t>(p)]; };
    auto const source = [&](int rank) { return rank + series * c.size(); };
    decision d;
    int bit = 1;
    while (bit < n && (place & bit) == 0)
        bit <<= 1;
    if (place == 0) {
        number_pool& pool = process::instance().numbers().pool();
        d.number = pool.reserve();
        pool.settle(d.number, n);
    } else
        d = hear({context, source(at(place - bit)), tag}, c.peer(at(place - bit)), call);
    for (bit >>= 1; bit > 0; bit >>= 1) {
        if (place + bit >= n)
            continue;
        try {
            (void)the_matcher().send(c.peer(at(place + bit)), {context, source(c.rank()), tag}, &d, sizeof d,
                                     matching::send_mode::standard, call);
        } catch (peer_error const&) {
            d = {communicator_numbers::none, MPI_ERR_PROC_ABORTED};
        }
    }
    return d;
}

} // namespace

std::uint32_t agree_under_tag(communicator const& c, std::span<int const> ranks, int place, int tag, int series, char const* call)
{
    decision const d = decide(c, ranks, place, tag, series, call);
    if (d.code != MPI_SUCCESS)
        throw failure(d.code, d.code == MPI_ERR_PROC_ABORTED ? "a rank of the group ended before it had taken its part"
                                                             : "what came from a rank of the group was no part of such a call");
    check_number(d.number);
    return d.number;
}

namespace calls {

void comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm)
{
    communicator& c = intra(comm, "comm");
    mpi::group& members = get(group, "group");
    check_send_tag(tag);
    std::vector<int> const ranks = ranks_of(members, c);
    if (members.rank() == MPI_UNDEFINED) {
        *newcomm = MPI_COMM_NULL;
        return;
    }
    std::uint32_t const number = agree_under_tag(c, ranks, members.rank(), tag, 1, "MPI_Comm_create_group");
    *newcomm = publish(make_communicator(c, including(c.local(), ranks), {}, number));
}

} // namespace calls
} // namespace towline::mpi
