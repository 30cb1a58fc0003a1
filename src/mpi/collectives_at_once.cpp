#include "mpi/collectives_at_once.hpp"

#include "collective/at_once.hpp"
#include "mpi/collective_calls.hpp"
#include "mpi/lane_wait.hpp"
#include "mpi/plain_sizes.hpp"
#include "mpi/reduction.hpp"

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

/// Where this rank's block is among them.
[[nodiscard]] void* own_block(communicator const& c, void const* all, std::uint64_t bytes) noexcept
{
    return static_cast<std::byte*>(const_cast<void*>(all)) + bytes * static_cast<std::uint64_t>(c.rank());
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

template <class Operation>
void run(communicator& c, char const* call, Operation&& operation)
{
    collective::lanes& l = *c.team().lanes();
    // Other ranks may do the operation by steps, and theirs has a number.
    (void)c.team().next_sequence();
    auto const wait = [&](auto&& is_met, int rank) { wait_over_lanes(c, call, is_met, [rank] { return rank; }); };
    collective::at_once o(l, c.team().is_crowded(), wait);
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
    bool const is_root = root == c.rank();
    std::uint64_t const bytes = is_root ? bytes_of(recvcount, recvtype) : bytes_of(sendcount, sendtype);
    if (bytes == 0 || !c.has_peer(root) || (is_root && !is_memory(recvbuf)))
        return false;
    void const* own = sendbuf;
    if (is_root && sendbuf == MPI_IN_PLACE)
        own = own_block(c, recvbuf, bytes);
    else if (!is_memory(sendbuf) || (is_root && (bytes_of(sendcount, sendtype) != bytes || sendbuf == own_block(c, recvbuf, bytes))))
        return false;
    if (!may_begin(c, bytes))
        return false;
    run(c, call, [=](auto& o) { return o.gather(own, recvbuf, bytes, root); });
    return true;
}

bool scatter(communicator& c, char const* call, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
             MPI_Count recvcount, MPI_Datatype recvtype, int root)
{
    bool const is_root = root == c.rank();
    std::uint64_t const bytes = is_root ? bytes_of(sendcount, sendtype) : bytes_of(recvcount, recvtype);
    if (bytes == 0 || !c.has_peer(root) || (is_root && !is_memory(sendbuf)))
        return false;
    void* own = recvbuf;
    if (is_root && recvbuf == MPI_IN_PLACE)
        own = own_block(c, sendbuf, bytes);
    else if (!is_memory(recvbuf) || (is_root && (bytes_of(recvcount, recvtype) != bytes || recvbuf == own_block(c, sendbuf, bytes))))
        return false;
    if (!may_begin(c, of_all(c, bytes)))
        return false;
    run(c, call, [=](auto& o) { return o.scatter(sendbuf, own, bytes, root); });
    return true;
}

bool allgather(communicator& c, char const* call, void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
               MPI_Count recvcount, MPI_Datatype recvtype)
{
    std::uint64_t const bytes = bytes_of(recvcount, recvtype);
    if (bytes == 0 || !is_memory(recvbuf))
        return false;
    void const* own = sendbuf;
    if (sendbuf == MPI_IN_PLACE)
        own = own_block(c, recvbuf, bytes);
    else if (!is_memory(sendbuf) || bytes_of(sendcount, sendtype) != bytes || sendbuf == own_block(c, recvbuf, bytes))
        return false;
    if (!may_begin(c, bytes))
        return false;
    run(c, call, [=](auto& o) { return o.allgather(own, recvbuf, bytes); });
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
