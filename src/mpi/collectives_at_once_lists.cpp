// The short ways of operations whose blocks have sizes of their own.

#include "collective/at_once_lists.hpp"
#include "mpi/collectives_at_once.hpp"
#include "mpi/collectives_at_once_parts.hpp"

#include <algorithm>

namespace towline::mpi::at_once {
namespace {

struct extent {
    bool is_good = false;
    std::uint64_t largest = 0;
    std::uint64_t others = 0;  ///< bytes of all but the own block
};
[[nodiscard]] extent look(communicator const& c, listed_blocks const& all) noexcept
{
    if (!all.are_good(c.size()))
        return {};
    extent e{.is_good = true};
    for (int r = 0; r < c.size(); ++r) {
        e.largest = std::max(e.largest, all.size(r));
        e.others += r == c.rank() ? 0 : all.size(r);
    }
    return e;
}
/// An operation may begin in which this rank offers them in a table, and no block of others is larger than `largest`.
[[nodiscard]] bool may_offer(communicator& c, extent const& e, std::uint64_t largest) noexcept
{
    using lists = collective::at_once_lists;
    auto const given = static_cast<std::size_t>(c.size() - 1);
    std::uint64_t const table = lists::table_bytes(given, e.others);
    return given <= lists::most_given && table <= collective::lanes::payload_bytes && may_begin_lists(c, lists::most_of(table, largest));
}
/// The own block lies at `own`, or in its place, and is as big as it should be.
[[nodiscard]] bool fits_own(communicator const& c, listed_blocks const& all, own_block const& own) noexcept
{
    return is_memory(own.at) && own.bytes != 0 && own.bytes == all.size(c.rank());
}

/// Where the own block of an operation by lists is that may be in place; bytes are 0 if it is nowhere.
[[nodiscard]] own_block find_own(communicator const& c, listed_blocks const& all, data const& own) noexcept
{
    if (own.at == MPI_IN_PLACE)
        return {all.size(c.rank()), all.at(c.rank())};
    if (!is_memory(own.at) || own.at == all.at(c.rank()))
        return {};
    return {bytes_of(own.count, own.type), const_cast<void*>(own.at)};
}

} // namespace

bool gatherv(communicator& c, char const* call, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
             wide_array recvcounts, wide_array displs, MPI_Datatype recvtype, int root)
{
    if (!c.has_peer(root) || c.is_inter())
        return false;
    listed_blocks const all(recvbuf, recvcounts, displs, recvtype);
    own_block own;
    if (root == c.rank()) {
        auto const e = look(c, all);
        if (!e.is_good || !fits_own(c, all, own = find_own(c, all, {sendbuf, sendcount, sendtype})) || !may_begin_lists(c, e.largest))
            return false;
    } else {
        own = {bytes_of(sendcount, sendtype), const_cast<void*>(sendbuf)};
        if (own.bytes == 0 || !is_memory(sendbuf) || !may_begin_lists(c, own.bytes))
            return false;
    }
    run<collective::at_once_lists>(c, call, [&](auto& o) { return o.gather(own.at, own.bytes, all, root); });
    return true;
}

bool scatterv(communicator& c, char const* call, void const* sendbuf, wide_array sendcounts, wide_array displs, MPI_Datatype sendtype,
              void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root)
{
    if (!c.has_peer(root) || c.is_inter())
        return false;
    listed_blocks const all(sendbuf, sendcounts, displs, sendtype);
    own_block own;
    if (root == c.rank()) {
        auto const e = look(c, all);
        if (!e.is_good || !fits_own(c, all, own = find_own(c, all, {recvbuf, recvcount, recvtype})) || !may_offer(c, e, e.largest))
            return false;
    } else {
        own = {bytes_of(recvcount, recvtype), recvbuf};
        if (own.bytes == 0 || !is_memory(recvbuf) || !may_begin_lists(c, own.bytes))
            return false;
    }
    run<collective::at_once_lists>(c, call, [&](auto& o) { return o.scatter(all, own.at, own.bytes, root); });
    return true;
}

bool allgatherv(communicator& c, char const* call, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                wide_array recvcounts, wide_array displs, MPI_Datatype recvtype)
{
    if (c.is_inter())
        return false;
    listed_blocks const all(recvbuf, recvcounts, displs, recvtype);
    auto const e = look(c, all);
    if (!e.is_good)
        return false;
    auto const own = find_own(c, all, {sendbuf, sendcount, sendtype});
    if (!fits_own(c, all, own) || !may_begin_lists(c, e.largest))
        return false;
    run<collective::at_once_lists>(c, call, [&](auto& o) { return o.allgather(own.at, all, e.largest); });
    return true;
}

bool alltoallv(communicator& c, char const* call, void const* sendbuf, wide_array sendcounts, wide_array sdispls, MPI_Datatype sendtype,
               void* recvbuf, wide_array recvcounts, wide_array rdispls, MPI_Datatype recvtype)
{
    if (c.is_inter() || sendbuf == MPI_IN_PLACE)
        return false;
    listed_blocks const out(sendbuf, sendcounts, sdispls, sendtype), in(recvbuf, recvcounts, rdispls, recvtype);
    auto const sent = look(c, out), received = look(c, in);
    if (!sent.is_good || !received.is_good || out.size(c.rank()) != in.size(c.rank()) || out.at(c.rank()) == in.at(c.rank()) ||
        !may_offer(c, sent, std::max(sent.largest, received.largest)))
        return false;
    run<collective::at_once_lists>(c, call, [&](auto& o) { return o.alltoall(out, in); });
    return true;
}

} // namespace towline::mpi::at_once
