// Communicators made from groups without a parent (7.4.2, 7.6.2). A string tells concurrent calls apart.

#include "mpi/calls.hpp"
#include "mpi/communicator_making.hpp"
#include "mpi/process.hpp"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

namespace towline::mpi {
namespace {

/// A tag of MPI_COMM_WORLD for a string: 31 bits of FNV-1a.
int tag_of(char const* stringtag)
{
    std::string_view const text(stringtag, ::strnlen(stringtag, MPI_MAX_STRINGTAG_LEN + 1));
    if (text.size() > MPI_MAX_STRINGTAG_LEN)
        throw failure(MPI_ERR_ARG, fmt::format("stringtag is longer than MPI_MAX_STRINGTAG_LEN, which is {}", MPI_MAX_STRINGTAG_LEN));
    std::uint64_t hash = 0xcbf29ce484222325;
    for (char const c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return static_cast<int>((hash ^ hash >> 32) & 0x7fffffff);
}

errhandler& handler_for_comms(MPI_Errhandler handle)
{
    errhandler& h = get(handle, "errhandler");
    if (h.of() != handled::any && h.of() != handled::comm)
        throw failure(MPI_ERR_ERRHANDLER, "errhandler is not one for communicators");
    return h;
}

info const* hints_of(MPI_Info handle)
{
    return handle == MPI_INFO_NULL ? nullptr : &get(handle, "info");
}

MPI_Comm finished(ref<communicator> made, errhandler& handler, info const* hints)
{
    made->handler().set(ref<errhandler>(handler));
    if (hints != nullptr)
        made->hints().merge(*hints);
    return publish(std::move(made));
}

/// Makes a communicator of a group that includes this process.
ref<communicator> make_of_group(group& members, int tag, char const* call)
{
    if (members.rank() == MPI_UNDEFINED)
        throw failure(MPI_ERR_GROUP, "this process is not in the group");
    communicator& world = process::instance().world();  // its ranks are process numbers
    std::uint32_t const number = agree_under_tag(world, members.members(), members.rank(), tag, 2, call);
    return make_communicator(world, ref<group>(members), {}, number);
}

} // namespace

namespace calls {

void comm_create_from_group(MPI_Group group, char const* stringtag, MPI_Info info, MPI_Errhandler errhandler, MPI_Comm* newcomm)
{
    mpi::group& members = get(group, "group");
    int const tag = tag_of(stringtag);
    mpi::info const* const hints = hints_of(info);
    mpi::errhandler& handler = handler_for_comms(errhandler);
    *newcomm = members.size() == 0 ? MPI_COMM_NULL : finished(make_of_group(members, tag, "MPI_Comm_create_from_group"), handler, hints);
}

void intercomm_create_from_groups(MPI_Group local_group, int local_leader, MPI_Group remote_group, int remote_leader,
                                  char const* stringtag, MPI_Info info, MPI_Errhandler errhandler, MPI_Comm* newintercomm)
{
    mpi::group& members = get(local_group, "local_group");
    int const tag = tag_of(stringtag);
    mpi::info const* const hints = hints_of(info);
    mpi::errhandler& handler = handler_for_comms(errhandler);
    if (local_leader < 0 || local_leader >= members.size())
        throw failure(MPI_ERR_RANK, fmt::format("local_leader is {}, and local_group has {} ranks", local_leader, members.size()));
    constexpr char const* call = "MPI_Intercomm_create_from_groups";
    ref<communicator> const local = make_of_group(members, tag, call);
    auto const other = [&]() -> other_leader {
        mpi::group const& there = get(remote_group, "remote_group");
        if (remote_leader < 0 || remote_leader >= there.size())
            throw failure(MPI_ERR_RANK, fmt::format("remote_leader is {}, and remote_group has {} ranks", remote_leader, there.size()));
        return {&process::instance().world(), there.member(remote_leader)};
    };
    *newintercomm = finished(make_between(*local, local_leader, tag, other, call), handler, hints);
}

} // namespace calls
} // namespace towline::mpi
