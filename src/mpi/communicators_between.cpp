// Intercommunicators (7.6): creation from two groups, and merging.

#include "mpi/calls.hpp"
#include "mpi/checks.hpp"
#include "mpi/communicator_making.hpp"
#include "mpi/request.hpp"

#include "collective/operations.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace towline::mpi {

using collective::schedule;
using collective::side;

namespace {

/// The message of a leader to the other one, and then to its own group. The list of processes follows it.
struct introduction {
    std::uint32_t number = communicator_numbers::none;
    std::int32_t size = 0;
    std::int32_t code = MPI_SUCCESS;  ///< else: the error
};

/// Sends and receives at the same time between two leaders.
void trade(communicator const& peers, int other, int tag, void const* out, std::uint64_t out_bytes, void* in, std::uint64_t in_bytes,
           char const* call)
{
    matching::matcher& m = the_matcher();
    matching::context_id const context = peers.context(plane::tagged);
    matching::request receive;
    m.start_receive(receive, {context, other, tag}, peers.peer(other), {in, in_bytes});
    matching::status sent;
    try {
        sent = m.send(peers.peer(other), {context, peers.rank(), tag}, out, out_bytes, matching::send_mode::standard, call);
    } catch (...) {
        if (!m.cancel(receive))
            m.wait(receive, call);
        throw;
    }
    m.wait(receive, call);
    for (matching::status const& s : {receive.result(), sent})
        if (s.error == matching::outcome::peer_died)
            throw failure(MPI_ERR_PROC_ABORTED, fmt::format("the remote leader, rank {} of peer_comm, ended", other));
    if (receive.result().error != matching::outcome::ok || receive.result().bytes != in_bytes)
        throw failure(MPI_ERR_OTHER,
                      fmt::format("what came from the remote leader, rank {} of peer_comm, was no part of such a call", other));
}

/// What the leader learns: the number, and the other group's processes.
struct meeting {
    std::uint32_t number = communicator_numbers::none;
    std::vector<process_id> there;
};

meeting meet(communicator const& c, other_leader const& with, int tag, char const* call)
{
    auto const& [peers_place, remote_leader] = with;
    communicator const& peers = *peers_place;
    number_pool& pool = process::instance().numbers().pool();
    introduction const mine{pool.reserve(), c.size(), MPI_SUCCESS};
    auto const here = c.local().members();
    meeting found;
    try {
        introduction other;
        trade(peers, remote_leader, tag, &mine, sizeof mine, &other, sizeof other, call);
        found.there.resize(static_cast<std::size_t>(std::max(other.size, 0)));
        trade(peers, remote_leader, tag, here.data(), here.size_bytes(), found.there.data(), found.there.size() * sizeof(process_id),
              call);
        found.number = other.number;
    } catch (...) {
        pool.cancel(mine.number);
        throw;
    }
    // Both sides compare the same lists, and decide alike.
    positions const in_here(c.local());
    for (process_id const p : found.there)
        if (in_here.of(p) != MPI_UNDEFINED) {
            pool.cancel(mine.number);
            throw failure(MPI_ERR_COMM, fmt::format("the two groups are not disjoint: rank {} of local_comm is in the remote group, too",
                                                    in_here.of(p)));
        }
    if (c.local().member(c.rank()) < static_cast<process_id>(peers.peer(remote_leader))) {
        pool.settle(mine.number, static_cast<int>(here.size() + found.there.size()));
        found.number = mine.number;
    } else
        pool.cancel(mine.number);
    return found;
}

/// Broadcasts in the local group what the leader learned, also if it failed.
void share(communicator& c, int leader, introduction& head, std::vector<process_id>& there, char const* call)
{
    agree(c, call, [&](schedule& s) { collective::build(s, c.house_team(), collective::bcast(&head, sizeof head, leader)); });
    if (head.code != MPI_SUCCESS)
        return;
    there.resize(static_cast<std::size_t>(head.size));
    agree(c, call,
          [&](schedule& s) {
              collective::build(s, c.house_team(), collective::bcast(there.data(), there.size() * sizeof(process_id), leader));
          });
}

/// The error code that the leader sends after an exception.
int code_of_exception()
{
    try {
        throw;
    } catch (failure const& f) {
        return f.code();
    } catch (peer_error const&) {
        return MPI_ERR_PROC_ABORTED;
    } catch (...) {
        return MPI_ERR_OTHER;
    }
}

} // namespace

ref<communicator> make_between(communicator& c, int leader, int tag, std::function<other_leader()> const& other, char const* call)
{
    introduction head;
    meeting found;
    if (c.rank() == leader) {
        try {
            found = meet(c, other(), tag, call);
            head = {found.number, static_cast<int>(found.there.size()), MPI_SUCCESS};
        } catch (...) {
            head.code = code_of_exception();
            share(c, leader, head, found.there, call);
            throw;
        }
    }
    share(c, leader, head, found.there, call);
    if (head.code != MPI_SUCCESS)
        throw failure(head.code, fmt::format("the local leader, rank {} of this group, could not come together with the remote leader",
                                             leader));
    check_number(head.number);
    auto there = make<group>(std::move(found.there), c.local().self());
    return make_communicator(c, ref<group>(c.local()), std::move(there), head.number);
}

namespace calls {

void intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag, MPI_Comm* newintercomm)
{
    communicator& c = intra(local_comm, "local_comm");
    if (!c.has_peer(local_leader))
        throw_rank(c, local_leader, "local_leader", false);
    check_send_tag(tag);
    auto const other = [&]() -> other_leader {
        communicator const& peers = get(peer_comm, "peer_comm");
        if (!peers.has_peer(remote_leader))
            throw_rank(peers, remote_leader, "remote_leader", false);
        return {&peers, remote_leader};
    };
    *newintercomm = publish(make_between(c, local_leader, tag, other, "MPI_Intercomm_create"));
}

void intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm* newintracomm)
{
    communicator& c = get(intercomm, "intercomm");
    if (!c.is_inter())
        throw failure(MPI_ERR_COMM, "intercomm is an intracommunicator");
    struct opinion {
        std::int32_t high;
        std::uint32_t number;
    };
    number_pool& pool = process::instance().numbers().pool();
    party const everybody(c);
    opinion const mine{high != 0 ? 1 : 0, pool.reserve()};
    std::vector<opinion> all(static_cast<std::size_t>(everybody.size()));
    all[static_cast<std::size_t>(everybody.here())] = mine;
    agree_on_table(c, everybody, all.data(), sizeof mine, "MPI_Intercomm_merge");

    auto const opinion_of = [&](side where, int rank) { return all[static_cast<std::size_t>(everybody.begin_of(where) + rank)]; };
    for (auto const& [where, members] : {std::pair(side::local, &c.local()), std::pair(side::remote, &c.remote())})
        for (int r = 0; r < members->size(); ++r)
            if (opinion_of(where, r).high != opinion_of(where, 0).high) {
                pool.cancel(mine.number);
                throw failure(MPI_ERR_ARG, fmt::format("high is not the same on all ranks of the {} group: rank {} differs from rank 0",
                                                       where == side::local ? "local" : "remote", r));
            }
    int const high_here = opinion_of(side::local, 0).high;
    int const high_there = opinion_of(side::remote, 0).high;
    bool const local_first = high_here != high_there ? high_here < high_there : everybody.begin_of(side::local) == 0;
    side const first = local_first ? side::local : side::remote;
    std::uint32_t const number = opinion_of(first, 0).number;
    if (local_first && c.rank() == 0)
        pool.settle(mine.number, everybody.size());
    else
        pool.cancel(mine.number);
    check_number(number);
    std::vector<process_id> members;
    for (group const* const g : {local_first ? &c.local() : &c.remote(), local_first ? &c.remote() : &c.local()})
        members.insert(members.end(), g->members().begin(), g->members().end());
    *newintracomm = publish(make_communicator(c, make<group>(std::move(members), c.local().self()), {}, number));
}

} // namespace calls
} // namespace towline::mpi
