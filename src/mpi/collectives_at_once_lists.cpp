// The short ways of operations whose blocks have sizes of their own.

#include "collective/at_once_lists.hpp"
#include "mpi/collectives_at_once.hpp"
#include "mpi/collectives_at_once_parts.hpp"

#include <algorithm>

namespace towline::mpi::at_once {
namespace {

/// Blocks of all ranks, by lists, of predefined elements.
class blocks {
public:
    blocks(void const* buffer, wide_array counts, wide_array displs, MPI_Datatype type) noexcept
        : at_(static_cast<std::byte*>(const_cast<void*>(buffer))), counts_(counts), displs_(displs), element_(plain_size(type))
    {
    }
    [[nodiscard]] std::uint64_t size(int rank) const noexcept
    {
        return static_cast<std::uint64_t>(counts_[static_cast<std::size_t>(rank)] * element_);
    }
    [[nodiscard]] std::byte* at(int rank) const noexcept { return at_ + displs_[static_cast<std::size_t>(rank)] * element_; }

    struct extent {
        bool is_good = false;  ///< memory, and no block that is too big to be shown
        std::uint64_t largest = 0;
        std::uint64_t others = 0;  ///< bytes of all but the own block
    };
    [[nodiscard]] extent look(communicator const& c) const noexcept
    {
        constexpr std::uint64_t most = collective::lanes::payload_bytes;
        if (element_ == 0 || !is_memory(at_) || counts_.is_null() || displs_.is_null())
            return {};
        extent e{.is_good = true};
        for (int r = 0, n = c.size(); r < n; ++r) {
            auto const count = static_cast<std::uint64_t>(counts_[static_cast<std::size_t>(r)]);
            std::uint64_t const bytes = count * static_cast<std::uint64_t>(element_);
            if (count > most || bytes > most)
                return {};
            e.largest = std::max(e.largest, bytes);
            e.others += bytes;
        }
        e.others -= size(c.rank());
        return e;
    }
    /// An operation may begin in which this rank offers them in a table, and no block of others is larger than `largest`.
    [[nodiscard]] static bool may_offer(communicator& c, extent const& e, std::uint64_t largest) noexcept
    {
        using lists = collective::at_once_lists;
        auto const given = static_cast<std::size_t>(c.size() - 1);
        std::uint64_t const table = lists::table_bytes(given, e.others);
        return given <= lists::most_given && table <= collective::lanes::payload_bytes && may_begin(c, lists::most_of(table, largest));
    }
    /// The own block lies at `own`, or in its place, and is as big as it should be.
    [[nodiscard]] bool fits_own(communicator const& c, own_block const& own) const noexcept
    {
        return is_memory(own.at) && own.bytes != 0 && own.bytes == size(c.rank());
    }

private:
    std::byte* at_;
    wide_array counts_, displs_;
    std::int64_t element_;
};

/// Where the own block of an operation by lists is that may be in place; bytes are 0 if it is nowhere.
[[nodiscard]] own_block find_own(communicator const& c, blocks const& all, data const& own) noexcept
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
    blocks const all(recvbuf, recvcounts, displs, recvtype);
    own_block own;
    if (root == c.rank()) {
        auto const e = all.look(c);
        if (!e.is_good || !all.fits_own(c, own = find_own(c, all, {sendbuf, sendcount, sendtype})) || !may_begin(c, e.largest))
            return false;
    } else {
        own = {bytes_of(sendcount, sendtype), const_cast<void*>(sendbuf)};
        if (own.bytes == 0 || !is_memory(sendbuf) || !may_begin(c, own.bytes))
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
    blocks const all(sendbuf, sendcounts, displs, sendtype);
    own_block own;
    if (root == c.rank()) {
        auto const e = all.look(c);
        if (!e.is_good || !all.fits_own(c, own = find_own(c, all, {recvbuf, recvcount, recvtype})) || !blocks::may_offer(c, e, e.largest))
            return false;
    } else {
        own = {bytes_of(recvcount, recvtype), recvbuf};
        if (own.bytes == 0 || !is_memory(recvbuf) || !may_begin(c, own.bytes))
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
    blocks const all(recvbuf, recvcounts, displs, recvtype);
    auto const e = all.look(c);
    if (!e.is_good)
        return false;
    auto const own = find_own(c, all, {sendbuf, sendcount, sendtype});
    if (!all.fits_own(c, own) || !may_begin(c, e.largest))
        return false;
    run<collective::at_once_lists>(c, call, [&](auto& o) { return o.allgather(own.at, all, e.largest); });
    return true;
}

bool alltoallv(communicator& c, char const* call, void const* sendbuf, wide_array sendcounts, wide_array sdispls, MPI_Datatype sendtype,
               void* recvbuf, wide_array recvcounts, wide_array rdispls, MPI_Datatype recvtype)
{
    if (c.is_inter() || sendbuf == MPI_IN_PLACE)
        return false;
    blocks const out(sendbuf, sendcounts, sdispls, sendtype), in(recvbuf, recvcounts, rdispls, recvtype);
    auto const sent = out.look(c), received = in.look(c);
    if (!sent.is_good || !received.is_good || out.size(c.rank()) != in.size(c.rank()) || out.at(c.rank()) == in.at(c.rank()) ||
        !blocks::may_offer(c, sent, std::max(sent.largest, received.largest)))
        return false;
    run<collective::at_once_lists>(c, call, [&](auto& o) { return o.alltoall(out, in); });
    return true;
}

} // namespace towline::mpi::at_once
