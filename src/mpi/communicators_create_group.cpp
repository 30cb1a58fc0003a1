// MPI_Comm_create_group (7.4.2): only those in the group call, and tell it apart from others by a tag.

#include "mpi/calls.hpp"
#include "mpi/checks.hpp"
#include "mpi/communicator_making.hpp"
#include "mpi/request.hpp"

#include <towline/error.hpp>

#include <vector>

namespace towline::mpi {
namespace {

constexpr char const* call = "MPI_Comm_create_group";

/// What comes down the tree.
struct decision {
    std::uint32_t number = communicator_numbers::none;
    std::int32_t code = MPI_SUCCESS;
};

/// Under this source the messages are apart from those of MPI_Intercomm_create with the same tag.
matching::envelope envelope_of(communicator const& c, int rank, int tag) noexcept
{
    return {c.context(plane::tagged), rank + c.size(), tag};
}

decision hear(communicator const& c, int rank, int tag)
{
    decision d;
    matching::envelope const e = envelope_of(c, rank, tag);
    matching::status const s = the_matcher().receive({e.context, e.source, e.tag}, c.peer(rank), {&d, sizeof d}, call);
    if (s.error != matching::outcome::ok)
        d = {communicator_numbers::none, code_of(s.error)};
    else if (s.bytes != sizeof d)
        d = {communicator_numbers::none, MPI_ERR_OTHER};
    return d;
}

/// Down a binomial tree over the places in the list: the leader decides, everybody tells those below, also where it failed.
decision decide(communicator const& c, std::vector<int> const& ranks, int place, int tag)
{
    int const n = static_cast<int>(ranks.size());
    auto const at = [&](int p) { return ranks[static_cast<std::size_t>(p)]; };
    decision d;
    int bit = 1;
    while (bit < n && (place & bit) == 0)
        bit <<= 1;
    if (place == 0) {
        number_pool& pool = process::instance().numbers().pool();
        d.number = pool.reserve();
        pool.settle(d.number, n);
    } else
        d = hear(c, at(place - bit), tag);
    for (bit >>= 1; bit > 0; bit >>= 1) {
        if (place + bit >= n)
            continue;
        int const to = at(place + bit);
        try {
            (void)the_matcher().send(c.peer(to), envelope_of(c, c.rank(), tag), &d, sizeof d, matching::send_mode::standard, call);
        } catch (peer_error const&) {
            d = {communicator_numbers::none, MPI_ERR_PROC_ABORTED};
        }
    }
    return d;
}

} // namespace

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
    decision const d = decide(c, ranks, members.rank(), tag);
    if (d.code != MPI_SUCCESS)
        throw failure(d.code, d.code == MPI_ERR_PROC_ABORTED ? "a rank of the group ended before it had taken its part"
                                                             : "what came from a rank of the group was no part of such a call");
    check_number(d.number);
    *newcomm = publish(make_communicator(c, including(c.local(), ranks), {}, d.number));
}

} // namespace calls
} // namespace towline::mpi
