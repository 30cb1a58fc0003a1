// Makes a communicator from the result of an agreement.

#include "mpi/communicator_making.hpp"

#include "mpi/process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace towline::mpi {

using collective::side;

ref<communicator> make_communicator(communicator& parent, ref<group> local, ref<group> remote, std::uint32_t number, ref<topology> t)
{
    ref<errhandler> const handler = parent.handler().get();
    auto c = make<communicator>(std::move(local), std::move(remote), *handler, 0, std::move(t));
    if (parent.handler().was_set())
        c->handler().set(handler);
    c->enter(number);
    process::instance().numbers().tell();
    return c;
}

MPI_Comm publish(ref<communicator> c)
{
    communicator& object = *c;
    MPI_Comm const handle = give<MPI_Comm>(std::move(c));
    object.set_handle(handle);
    return handle;
}

void unpublish(MPI_Comm& handle)
{
    ref<communicator> c = take(handle, "comm");
    c->set_handle(MPI_COMM_NULL);
    c = {};
    handle = MPI_COMM_NULL;
    process::instance().numbers().tell();
}

communicator& intra(MPI_Comm comm, char const* parameter)
{
    communicator& c = get(comm, parameter);
    if (c.is_inter())
        throw failure(MPI_ERR_COMM, fmt::format("{} is an intercommunicator, and this call is for one group", parameter));
    return c;
}

std::vector<int> ranks_of(group const& members, communicator const& c)
{
    positions const in(c.local());
    std::vector<int> ranks;
    for (int r = 0; r < members.size(); ++r) {
        ranks.push_back(in.of(members.member(r)));
        if (ranks.back() == MPI_UNDEFINED)
            throw failure(MPI_ERR_GROUP, fmt::format("group has a process (its rank {}) that is not in the group of comm", r));
    }
    return ranks;
}

MPI_Comm make_of_ranks(communicator& c, std::span<int const> ranks, char const* call, ref<topology> t)
{
    if (std::ranges::find(ranks, c.rank()) == ranks.end()) {
        agree_on_nothing(c);
        return MPI_COMM_NULL;
    }
    std::uint32_t const number = agree_on_number(c, party(c, ranks), call);
    return publish(make_communicator(c, including(c.local(), ranks), {}, number, std::move(t)));
}

namespace {

/// A rank's arguments in a split.
struct choice {
    int color;
    int key;
    std::uint32_t number;  ///< number of the new communicator if this rank leads it
};

/// The ranks of one side with this color, by key and then by rank.
std::vector<int> chosen(std::span<choice const> all, int color)
{
    std::vector<int> ranks;
    for (std::size_t r = 0; r < all.size(); ++r)
        if (all[r].color == color)
            ranks.push_back(static_cast<int>(r));
    std::ranges::stable_sort(ranks, {}, [&](int r) { return all[static_cast<std::size_t>(r)].key; });
    return ranks;
}

} // namespace

MPI_Comm split(communicator& c, int color, int key, char const* call)
{
    number_pool& pool = process::instance().numbers().pool();
    choice const mine{color, key, color == MPI_UNDEFINED ? communicator_numbers::none : pool.reserve()};
    party const everybody(c);
    std::vector<choice> all(static_cast<std::size_t>(everybody.size()));
    all[static_cast<std::size_t>(everybody.here())] = mine;
    agree_on_table(c, everybody, all.data(), sizeof mine, call);
    if (color == MPI_UNDEFINED)
        return MPI_COMM_NULL;

    auto const side_of = [&](side where, int size) {
        return std::span<choice const>(all).subspan(static_cast<std::size_t>(everybody.begin_of(where)), static_cast<std::size_t>(size));
    };
    auto const local = side_of(side::local, c.size());
    std::vector<int> const here = chosen(local, color);
    auto leader = static_cast<std::size_t>(here[0]);
    std::span<choice const> leaders = local;
    std::vector<int> there;
    if (c.is_inter()) {
        auto const remote = side_of(side::remote, c.remote().size());
        there = chosen(remote, color);
        if (there.empty()) {
            pool.cancel(mine.number);
            return MPI_COMM_NULL;
        }
        if (c.remote().member(there[0]) < c.local().member(here[0])) {
            leader = static_cast<std::size_t>(there[0]);
            leaders = remote;
        }
    }
    if (&leaders[leader] == &local[static_cast<std::size_t>(c.rank())])
        pool.settle(mine.number, static_cast<int>(here.size() + there.size()));
    else
        pool.cancel(mine.number);
    check_number(leaders[leader].number);
    return publish(make_communicator(c, including(c.local(), here), c.is_inter() ? including(c.remote(), there) : ref<group>(),
                                     leaders[leader].number));
}

} // namespace towline::mpi
