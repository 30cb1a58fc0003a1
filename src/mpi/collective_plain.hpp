#pragma once
// Fast argument readers for the most frequent blocking collective calls: predefined datatypes without gaps, no null buffers, few blocks,
// and few enough bytes to be offered over lanes. `plain::x` fills in the call, or returns false; then the plan (collective_plans.hpp) reads
// the arguments and reports errors. Not for intercommunicators.

#include "collective/call.hpp"
#include "collective/lanes/lanes.hpp"
#include "mpi/communicator.hpp"
#include "mpi/plain_sizes.hpp"
#include "mpi/reduction.hpp"
#include "mpi/topology.hpp"
#include "mpi/wide_array.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace towline::mpi {

struct plain_call {
    /// The largest number of blocks in a list.
    static constexpr std::size_t most_listed = 16;
    struct list {
        std::array<std::uint64_t, most_listed> sizes, addresses;
        std::size_t count;
        [[nodiscard]] collective::layout_of_blocks layout() const noexcept { return {{sizes.data(), count}, {addresses.data(), count}}; }
        [[nodiscard]] void* at(int rank) const noexcept { return reinterpret_cast<void*>(addresses[static_cast<std::size_t>(rank)]); }
        [[nodiscard]] std::uint64_t size(int rank) const noexcept { return sizes[static_cast<std::size_t>(rank)]; }
    };

    collective::call what;
    list out, in;  ///< storage for the call's lists of blocks
};

namespace plain {

inline constexpr std::uint64_t most_bytes = collective::lanes::payload_bytes;

/// False for null pointers, MPI_BOTTOM and MPI_IN_PLACE.
[[nodiscard]] inline bool is_memory(void const* buffer) noexcept
{
    return reinterpret_cast<std::uintptr_t>(buffer) >= 4096;
}

/// Bytes of data that lanes may offer; 0: none, or not of this kind.
[[nodiscard]] inline std::uint64_t bytes_of(MPI_Count count, MPI_Datatype datatype) noexcept
{
    auto const size = static_cast<std::uint64_t>(plain_size(datatype));
    auto const n = static_cast<std::uint64_t>(count);
    return n <= most_bytes && n * size <= most_bytes ? n * size : 0;
}

/// A buffer of the program.
struct data {
    void const* at;
    MPI_Count count;
    MPI_Datatype type;
};

/// This rank's block; 0 bytes: not of this kind.
struct own_block {
    std::uint64_t bytes = 0;
    void* at = nullptr;
};
/// This rank's block in an operation between a list of all blocks, which this rank reads if it `has_all`, and its own.
[[nodiscard]] inline own_block find_own(communicator const& c, bool has_all, data const& all, data const& own) noexcept
{
    void* const at = const_cast<void*>(own.at);
    if (!has_all)
        return is_memory(at) ? own_block{bytes_of(own.count, own.type), at} : own_block{};
    std::uint64_t const bytes = bytes_of(all.count, all.type);
    if (!is_memory(all.at))
        return {};
    auto* const there = static_cast<std::byte*>(const_cast<void*>(all.at)) + bytes * static_cast<std::uint64_t>(c.rank());
    if (at == MPI_IN_PLACE)
        return {bytes, there};
    return is_memory(at) && at != there && bytes_of(own.count, own.type) == bytes ? own_block{bytes, at} : own_block{};
}

[[gnu::always_inline]] inline bool barrier(plain_call& p, communicator&)
{
    p.what = collective::barrier();
    return true;
}

[[gnu::always_inline]] inline bool bcast(plain_call& p, communicator& c, void* buffer, MPI_Count count, MPI_Datatype datatype, int root)
{
    std::uint64_t const bytes = bytes_of(count, datatype);
    p.what = collective::bcast(buffer, bytes, root);
    return bytes != 0 && is_memory(buffer) && c.has_peer(root);
}

[[gnu::always_inline]]
inline bool gather(plain_call& p, communicator& c, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                   MPI_Count recvcount, MPI_Datatype recvtype, int root)
{
    auto const own = find_own(c, root == c.rank(), {recvbuf, recvcount, recvtype}, {sendbuf, sendcount, sendtype});
    p.what = collective::gather(own.at, recvbuf, own.bytes, root);
    return own.bytes != 0 && c.has_peer(root);
}

[[gnu::always_inline]]
inline bool scatter(plain_call& p, communicator& c, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    MPI_Count recvcount, MPI_Datatype recvtype, int root)
{
    auto const own = find_own(c, root == c.rank(), {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype});
    p.what = collective::scatter(sendbuf, own.at, own.bytes, root);
    return own.bytes != 0 && c.has_peer(root);
}

[[gnu::always_inline]]
inline bool allgather(plain_call& p, communicator& c, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      MPI_Count recvcount, MPI_Datatype recvtype)
{
    auto const own = find_own(c, true, {recvbuf, recvcount, recvtype}, {sendbuf, sendcount, sendtype});
    p.what = collective::allgather(own.at, own.bytes, recvbuf, own.bytes);
    return own.bytes != 0;
}

[[gnu::always_inline]]
inline bool alltoall(plain_call& p, communicator&, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                     MPI_Count recvcount, MPI_Datatype recvtype)
{
    std::uint64_t const bytes = bytes_of(recvcount, recvtype);
    p.what = collective::alltoall(sendbuf, bytes, recvbuf, bytes);
    return bytes != 0 && is_memory(sendbuf) && is_memory(recvbuf) && bytes_of(sendcount, sendtype) == bytes && sendbuf != recvbuf;
}

/// How a predefined operation combines elements of a predefined datatype; null `apply`: not of this kind.
[[nodiscard, gnu::always_inline]] inline collective::combination combination_of(MPI_Op op, MPI_Datatype datatype) noexcept
{
    collective::reduction const loop = reduction::of_predefined(op, datatype);
    auto const join = [](void const* in, void const* other, void* out, std::uint64_t count, void* loop_of) {
        reinterpret_cast<collective::reduction>(loop_of)(in, other, out, count);
    };
    return {.context = reinterpret_cast<void*>(loop), .element = static_cast<std::uint64_t>(plain_size(datatype)), .join = join};
}
/// True if there are elements to combine and a contribution.
[[nodiscard, gnu::always_inline]] inline bool contributes(collective::call const& what, MPI_Count count, MPI_Datatype datatype) noexcept
{
    return bytes_of(count, datatype) != 0 && what.how.context != nullptr && is_memory(what.send);
}
/// True if the result has its own buffer or replaces the contribution.
[[nodiscard]] inline bool gets(void const* sendbuf, void const* recvbuf) noexcept
{
    return is_memory(recvbuf) && sendbuf != recvbuf;
}

[[gnu::always_inline]]
inline bool reduce(plain_call& p, communicator& c, void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                   int root)
{
    bool const is_root = root == c.rank();
    void const* const own = is_root && sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    p.what = collective::reduce(own, recvbuf, static_cast<std::uint64_t>(count), combination_of(op, datatype), root);
    return c.has_peer(root) && contributes(p.what, count, datatype) && (!is_root || gets(sendbuf, recvbuf));
}

[[gnu::always_inline]]
inline bool allreduce(plain_call& p, communicator&, void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op)
{
    void const* const own = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    p.what = collective::allreduce(own, recvbuf, static_cast<std::uint64_t>(count), combination_of(op, datatype));
    return contributes(p.what, count, datatype) && gets(sendbuf, recvbuf);
}

[[gnu::always_inline]]
inline bool reduce_scatter_block(plain_call& p, communicator&, void const* sendbuf, void* recvbuf, MPI_Count recvcount,
                                 MPI_Datatype datatype, MPI_Op op)
{
    void const* const own = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    p.what = collective::reduce_scatter_block(own, recvbuf, static_cast<std::uint64_t>(recvcount), combination_of(op, datatype));
    return contributes(p.what, recvcount, datatype) && gets(sendbuf, recvbuf);
}

[[gnu::always_inline]]
inline bool scan(plain_call& p, communicator&, void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op)
{
    void const* const own = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    p.what = collective::scan(own, recvbuf, static_cast<std::uint64_t>(count), combination_of(op, datatype));
    return contributes(p.what, count, datatype) && gets(sendbuf, recvbuf);
}

[[gnu::always_inline]]
inline bool exscan(plain_call& p, communicator&, void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op)
{
    void const* const own = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    p.what = collective::exscan(own, recvbuf, static_cast<std::uint64_t>(count), combination_of(op, datatype));
    return contributes(p.what, count, datatype) && gets(sendbuf, recvbuf);
}

/// Reads `n` blocks; false: not of this kind.
[[nodiscard]] inline bool read(plain_call::list& to, int n, void const* buffer, wide_array counts, wide_array displs,
                               MPI_Datatype datatype) noexcept
{
    std::int64_t const element = plain_size(datatype);
    to.count = static_cast<std::size_t>(n);
    if (to.count > plain_call::most_listed || element == 0 || !is_memory(buffer) || counts.is_null() || displs.is_null())
        return false;
    std::uint64_t largest = 0;
    for (std::size_t i = 0; i < to.count; ++i) {
        largest = std::max(largest, static_cast<std::uint64_t>(counts[i]));
        to.sizes[i] = static_cast<std::uint64_t>(counts[i]) * static_cast<std::uint64_t>(element);
        to.addresses[i] = reinterpret_cast<std::uintptr_t>(buffer) + static_cast<std::uintptr_t>(displs[i] * element);
    }
    return largest <= most_bytes;
}

/// This rank's own block if the others are in a list that may include it.
[[nodiscard]] inline own_block find_own(communicator const& c, plain_call::list const& all, data const& own) noexcept
{
    if (own.at == MPI_IN_PLACE)
        return {all.size(c.rank()), all.at(c.rank())};
    if (!is_memory(own.at) || own.at == all.at(c.rank()) || bytes_of(own.count, own.type) != all.size(c.rank()))
        return {};
    return {all.size(c.rank()), const_cast<void*>(own.at)};
}
/// The same if the rank has no list.
[[nodiscard]] inline own_block find_own(data const& own) noexcept
{
    return is_memory(own.at) ? own_block{bytes_of(own.count, own.type), const_cast<void*>(own.at)} : own_block{};
}

[[gnu::always_inline]]
inline bool gatherv(plain_call& p, communicator& c, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    wide_array recvcounts, wide_array displs, MPI_Datatype recvtype, int root)
{
    bool const is_root = root == c.rank();
    data const mine{sendbuf, sendcount, sendtype};
    if (!c.has_peer(root) || (is_root && !read(p.in, c.size(), recvbuf, recvcounts, displs, recvtype)))
        return false;
    own_block const own = is_root ? find_own(c, p.in, mine) : find_own(mine);
    p.what = collective::gatherv(own.at, own.bytes, nullptr, {}, {}, root);
    if (is_root)
        p.what.receiving = p.in.layout();
    return own.bytes != 0;
}

[[gnu::always_inline]]
inline bool scatterv(plain_call& p, communicator& c, void const* sendbuf, wide_array sendcounts, wide_array displs, MPI_Datatype sendtype,
                     void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root)
{
    bool const is_root = root == c.rank();
    data const mine{recvbuf, recvcount, recvtype};
    if (!c.has_peer(root) || (is_root && !read(p.out, c.size(), sendbuf, sendcounts, displs, sendtype)))
        return false;
    own_block const own = is_root ? find_own(c, p.out, mine) : find_own(mine);
    p.what = collective::scatterv(nullptr, {}, {}, own.at, own.bytes, root);
    if (is_root)
        p.what.sending = p.out.layout();
    return own.bytes != 0;
}

[[gnu::always_inline]]
inline bool allgatherv(plain_call& p, communicator& c, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       wide_array recvcounts, wide_array displs, MPI_Datatype recvtype)
{
    if (!read(p.in, c.size(), recvbuf, recvcounts, displs, recvtype))
        return false;
    own_block const own = find_own(c, p.in, {sendbuf, sendcount, sendtype});
    p.what = collective::allgatherv(own.at, own.bytes, nullptr, {}, {});
    p.what.receiving = p.in.layout();
    return own.at != nullptr;
}

[[gnu::always_inline]]
inline bool alltoallv(plain_call& p, communicator& c, void const* sendbuf, wide_array sendcounts, wide_array sdispls, MPI_Datatype sendtype,
                      void* recvbuf, wide_array recvcounts, wide_array rdispls, MPI_Datatype recvtype)
{
    if (!read(p.out, c.size(), sendbuf, sendcounts, sdispls, sendtype) || !read(p.in, c.size(), recvbuf, recvcounts, rdispls, recvtype))
        return false;
    p.what = {.what = collective::routine::alltoallv, .sending = p.out.layout(), .receiving = p.in.layout()};
    return p.out.size(c.rank()) == p.in.size(c.rank()) && p.out.at(c.rank()) != p.in.at(c.rank());
}

[[gnu::always_inline]]
inline bool neighbor_allgather(plain_call& p, communicator& c, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                               void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype)
{
    std::uint64_t const sent = bytes_of(sendcount, sendtype), received = bytes_of(recvcount, recvtype);
    if (c.topology() == nullptr || sent == 0 || received == 0)
        return false;
    p.what = collective::exchange(c.topology()->neighbours(), sendbuf, {sent, std::uint64_t{0}}, recvbuf, {received, received});
    return is_memory(sendbuf) && is_memory(recvbuf);
}

[[gnu::always_inline]]
inline bool neighbor_allgatherv(plain_call& p, communicator& c, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                void* recvbuf, wide_array recvcounts, wide_array displs, MPI_Datatype recvtype)
{
    std::uint64_t const sent = bytes_of(sendcount, sendtype);
    if (c.topology() == nullptr || sent == 0 || !is_memory(sendbuf))
        return false;
    auto const n = c.topology()->neighbours();
    if (!read(p.in, static_cast<int>(n.sources.size()), recvbuf, recvcounts, displs, recvtype))
        return false;
    p.what = collective::exchange(n, sendbuf, {sent, std::uint64_t{0}}, nullptr, p.in.layout());
    return true;
}

[[gnu::always_inline]]
inline bool neighbor_alltoall(plain_call& p, communicator& c, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                              void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype)
{
    std::uint64_t const sent = bytes_of(sendcount, sendtype), received = bytes_of(recvcount, recvtype);
    if (c.topology() == nullptr || sent == 0 || received == 0)
        return false;
    p.what = collective::exchange(c.topology()->neighbours(), sendbuf, {sent, sent}, recvbuf, {received, received});
    return is_memory(sendbuf) && is_memory(recvbuf);
}

[[gnu::always_inline]]
inline bool neighbor_alltoallv(plain_call& p, communicator& c, void const* sendbuf, wide_array sendcounts, wide_array sdispls,
                               MPI_Datatype sendtype, void* recvbuf, wide_array recvcounts, wide_array rdispls, MPI_Datatype recvtype)
{
    if (c.topology() == nullptr)
        return false;
    auto const n = c.topology()->neighbours();
    if (!read(p.out, static_cast<int>(n.destinations.size()), sendbuf, sendcounts, sdispls, sendtype) ||
        !read(p.in, static_cast<int>(n.sources.size()), recvbuf, recvcounts, rdispls, recvtype))
        return false;
    p.what = collective::exchange(n, nullptr, p.out.layout(), nullptr, p.in.layout());
    return true;
}

} // namespace plain
} // namespace towline::mpi
