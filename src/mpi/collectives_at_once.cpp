#include "mpi/collectives_at_once.hpp"

#include "collective/at_once.hpp"
#include "collective/at_once_lists.hpp"
#include "mpi/collective_calls.hpp"
#include "mpi/lane_wait.hpp"
#include "mpi/plain_sizes.hpp"
#include "mpi/reduction.hpp"

#include <algorithm>

namespace towline::mpi::at_once {
namespace {

/// Operations that nobody had to wait for make no progress: then every so many do, so that a program of nothing else has some, too.
constexpr std::uint64_t progress_every = 32;

/// Null pointers, MPI_BOTTOM, MPI_IN_PLACE lie below.
[[nodiscard]] bool is_memory(void const* buffer) noexcept
{
    return reinterpret_cast<std::uintptr_t>(buffer) >= 4096;
}

/// Bytes of data that may be shown; 0: none, or not of this kind.
[[nodiscard]] std::uint64_t bytes_of(MPI_Count count, MPI_Datatype datatype) noexcept
{
    constexpr std::uint64_t most = collective::lanes::payload_bytes;
    auto const size = static_cast<std::uint64_t>(plain_size(datatype));
    auto const n = static_cast<std::uint64_t>(count);
    return n <= most && n * size <= most ? n * size : 0;
}

/// Bytes of the blocks of all ranks.
[[nodiscard]] std::uint64_t of_all(communicator const& c, std::uint64_t bytes) noexcept
{
    return bytes * static_cast<std::uint64_t>(c.size());
}

/// A buffer of the program.
struct data {
    void const* at;
    MPI_Count count;
    MPI_Datatype type;
};

/// Where this rank's block is, by itself or among those of all ranks.
struct own_block {
    std::uint64_t bytes = 0;  ///< 0: not of this kind
    void* at = nullptr;
};

/// Of an operation between the blocks of all ranks, which this one looks at if it `has_all`, and its own.
[[nodiscard]] own_block find_own(communicator const& c, bool has_all, data const& all, data const& own) noexcept
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

[[nodiscard]] auto step_of(collective::reduction combine, MPI_Count count) noexcept
{
    return [=](void const* in, void const* other, void* out) { combine(in, other, out, static_cast<std::size_t>(count)); };
}

[[nodiscard]] bool may_begin(communicator& c, std::uint64_t bytes) noexcept
{
    collective::lanes* const l = c.team().lanes();
    return l != nullptr && collective::at_once_may_begin(*l, bytes);
}

template <class Kind = collective::at_once, class Operation>
void run(communicator& c, char const* call, Operation&& operation)
{
    collective::lanes& l = *c.team().lanes();
    // Other ranks may do the operation by steps, and theirs has a number.
    (void)c.team().next_sequence();
    auto const wait = [&](auto&& is_met, int rank) { wait_over_lanes(c, call, is_met, [rank] { return rank; }); };
    Kind o(l, c.team().is_crowded(), wait);
    auto const ending = operation(o);
    if (ending != collective::lane_run::state::ended) [[unlikely]]
        throw_ending(code_of(collective::lane_run::ending_of(ending)));
    if (l.begun() % progress_every == 0) [[unlikely]]
        process::instance().engine().progress();
}

} // namespace

bool barrier(communicator& c, char const* call)
{
    if (!may_begin(c, 0)) [[unlikely]]
        return false;
    run(c, call, [](auto& o) { return o.barrier(); });
    return true;
}

bool bcast(communicator& c, char const* call, void* buffer, MPI_Count count, MPI_Datatype datatype, int root)
{
    std::uint64_t const bytes = bytes_of(count, datatype);
    if (bytes == 0 || !is_memory(buffer) || !c.has_peer(root) || !may_begin(c, bytes)) [[unlikely]]
        return false;
    run(c, call, [=](auto& o) { return o.bcast(buffer, bytes, root); });
    return true;
}

bool gather(communicator& c, char const* call, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
            MPI_Count recvcount, MPI_Datatype recvtype, int root)
{
    auto const own = find_own(c, root == c.rank(), {recvbuf, recvcount, recvtype}, {sendbuf, sendcount, sendtype});
    if (own.bytes == 0 || !c.has_peer(root) || !may_begin(c, own.bytes))
        return false;
    run(c, call, [=](auto& o) { return o.gather(own.at, recvbuf, own.bytes, root); });
    return true;
}

bool scatter(communicator& c, char const* call, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
             MPI_Count recvcount, MPI_Datatype recvtype, int root)
{
    auto const own = find_own(c, root == c.rank(), {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype});
    if (own.bytes == 0 || !c.has_peer(root) || !may_begin(c, of_all(c, own.bytes)))
        return false;
    run(c, call, [=](auto& o) { return o.scatter(sendbuf, own.at, own.bytes, root); });
    return true;
}

bool allgather(communicator& c, char const* call, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
               MPI_Count recvcount, MPI_Datatype recvtype)
{
    auto const own = find_own(c, true, {recvbuf, recvcount, recvtype}, {sendbuf, sendcount, sendtype});
    if (own.bytes == 0 || !may_begin(c, own.bytes))
        return false;
    run(c, call, [=](auto& o) { return o.allgather(own.at, recvbuf, own.bytes); });
    return true;
}

bool alltoall(communicator& c, char const* call, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
              MPI_Count recvcount, MPI_Datatype recvtype)
{
    std::uint64_t const bytes = bytes_of(recvcount, recvtype);
    if (bytes == 0 || !is_memory(sendbuf) || !is_memory(recvbuf) || bytes_of(sendcount, sendtype) != bytes || sendbuf == recvbuf ||
        !may_begin(c, of_all(c, bytes)))
        return false;
    run(c, call, [=](auto& o) { return o.alltoall(sendbuf, recvbuf, bytes); });
    return true;
}

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

bool neighbor_alltoall(communicator& c, char const* call, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       MPI_Count recvcount, MPI_Datatype recvtype)
{
    using lists = collective::at_once_lists;
    std::uint64_t const bytes = bytes_of(sendcount, sendtype);
    if (bytes == 0 || bytes != bytes_of(recvcount, recvtype) || !is_memory(sendbuf) || !is_memory(recvbuf) || c.topology() == nullptr)
        return false;
    auto const n = c.topology()->neighbours();
    std::size_t const given = n.destinations.size();
    std::uint64_t const table = lists::table_bytes(given, given * bytes);
    auto const is_other = [&](int rank) { return rank != c.rank(); };
    if (given > lists::most_given || n.sources.size() > lists::most_given || table > collective::lanes::payload_bytes ||
        !std::ranges::all_of(n.destinations, is_other) || !std::ranges::all_of(n.sources, is_other) ||
        !may_begin(c, lists::most_of(table, bytes)))
        return false;
    struct equal_blocks {
        std::byte* buffer;
        std::uint64_t each;
        [[nodiscard]] std::uint64_t size(int) const noexcept { return each; }
        [[nodiscard]] std::byte* at(int i) const noexcept { return buffer + each * static_cast<std::uint64_t>(i); }
    };
    equal_blocks const out{static_cast<std::byte*>(const_cast<void*>(sendbuf)), bytes}, in{static_cast<std::byte*>(recvbuf), bytes};
    run<lists>(c, call, [&](auto& o) { return o.exchange(n, out, in); });
    return true;
}

bool reduce(communicator& c, char const* call, void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
            int root)
{
    std::uint64_t const bytes = bytes_of(count, datatype);
    collective::reduction const combine = reduction::of_predefined(op, datatype);
    bool const is_root = root == c.rank();
    void const* const own = is_root && sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    if (bytes == 0 || combine == nullptr || !is_memory(own) || !c.has_peer(root) ||
        (is_root && (!is_memory(recvbuf) || sendbuf == recvbuf)) || !may_begin(c, bytes)) [[unlikely]]
        return false;
    run(c, call, [=](auto& o) { return o.reduce(own, recvbuf, bytes, step_of(combine, count), root); });
    return true;
}

bool allreduce(communicator& c, char const* call, void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op)
{
    std::uint64_t const bytes = bytes_of(count, datatype);
    collective::reduction const combine = reduction::of_predefined(op, datatype);
    void const* const own = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    if (bytes == 0 || combine == nullptr || !is_memory(own) || !is_memory(recvbuf) || sendbuf == recvbuf || !may_begin(c, bytes))
        [[unlikely]]
        return false;
    run(c, call, [=](auto& o) { return o.allreduce(own, recvbuf, bytes, step_of(combine, count)); });
    return true;
}

bool reduce_scatter_block(communicator& c, char const* call, void const* sendbuf, void* recvbuf, MPI_Count recvcount,
                          MPI_Datatype datatype, MPI_Op op)
{
    std::uint64_t const bytes = bytes_of(recvcount, datatype);
    collective::reduction const combine = reduction::of_predefined(op, datatype);
    if (bytes == 0 || combine == nullptr || !is_memory(sendbuf) || !is_memory(recvbuf) || sendbuf == recvbuf ||
        !may_begin(c, of_all(c, bytes)))
        return false;
    run(c, call, [=](auto& o) { return o.reduce_scatter(sendbuf, recvbuf, bytes, step_of(combine, recvcount)); });
    return true;
}

bool scan(communicator& c, char const* call, void const* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op)
{
    std::uint64_t const bytes = bytes_of(count, datatype);
    collective::reduction const combine = reduction::of_predefined(op, datatype);
    void const* const own = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    if (bytes == 0 || combine == nullptr || !is_memory(own) || !is_memory(recvbuf) || sendbuf == recvbuf || !may_begin(c, bytes))
        return false;
    run(c, call, [=](auto& o) { return o.scan(own, recvbuf, bytes, step_of(combine, count)); });
    return true;
}

} // namespace towline::mpi::at_once
