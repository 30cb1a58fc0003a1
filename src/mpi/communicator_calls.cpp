// Calls that make communicators from others, and free them (7.4.2, 7.4.3).

#include "mpi/calls.hpp"
#include "mpi/communicator_making.hpp"
#include "mpi/process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace towline::mpi {
namespace {

void duplicate(MPI_Comm comm, info const* hints, MPI_Comm* newcomm, char const* call)
{
    communicator& c = get(comm, "comm");
    *newcomm = MPI_COMM_NULL;
    std::uint32_t const number = agree_on_number(c, party(c), call);
    ref<communicator> made = make_communicator(c, ref<group>(c.local()), c.is_inter() ? ref<group>(c.remote()) : ref<group>(), number,
                                               c.topology() != nullptr ? ref<topology>(*c.topology()) : ref<topology>());
    if (hints != nullptr)
        made->hints().merge(*hints);
    communicator& copy = *made;
    MPI_Comm handle = publish(std::move(made));
    try {
        c.attributes().copy_to(comm, copy.attributes(), handle);
    } catch (...) {
        unpublish(handle);
        throw;
    }
    *newcomm = handle;
}

/// Everything except freeing the handle, which must not fail.
communicator& end_of(MPI_Comm comm)
{
    communicator& c = get(comm, "comm");
    if (is_predefined(comm))
        throw_predefined(MPI_ERR_COMM, bits_of(comm), "comm");
    c.attributes().clear(comm);
    c.buffer().detach(process::instance().matcher());
    return c;
}

} // namespace

namespace calls {

void comm_dup(MPI_Comm comm, MPI_Comm* newcomm)
{
    duplicate(comm, nullptr, newcomm, "MPI_Comm_dup");
}

void comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm)
{
    duplicate(comm, info == MPI_INFO_NULL ? nullptr : &get(info, "info"), newcomm, "MPI_Comm_dup_with_info");
}

void comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm)
{
    communicator& c = get(comm, "comm");
    mpi::group& members = get(group, "group");
    std::vector<int> const ranks = ranks_of(members, c);
    if (!c.is_inter()) {
        *newcomm = make_of_ranks(c, ranks, "MPI_Comm_create");
        return;
    }
    // Each side tells the other which members it takes. That is a split: the members of the group, in its order.
    int const place = members.rank();
    *newcomm = split(c, place == MPI_UNDEFINED ? MPI_UNDEFINED : 0, place, "MPI_Comm_create");
}

void comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm)
{
    communicator& c = get(comm, "comm");
    if (color < 0 && color != MPI_UNDEFINED)
        throw failure(MPI_ERR_ARG, fmt::format("color is {}, and is 0 or more, or MPI_UNDEFINED", color));
    *newcomm = split(c, color, key, "MPI_Comm_split");
}

void comm_free(MPI_Comm* comm)
{
    (void)end_of(*comm);
    unpublish(*comm);
}

void comm_disconnect(MPI_Comm* comm)
{
    std::uint32_t const number = end_of(*comm).number();
    matching::matcher& m = process::instance().matcher();
    m.wait_until(
        [&] {
            auto const under_way = m.pending(std::numeric_limits<std::size_t>::max());
            return std::ranges::none_of(under_way, [&](auto const& operation) { return operation.about.context >> 2 == number; });
        },
        "MPI_Comm_disconnect");
    m.transport().outlast_handlers();  // the last operation may have ended in another thread's poll, which still delivers
    unpublish(*comm);
}

} // namespace calls
} // namespace towline::mpi
