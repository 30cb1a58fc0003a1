#include "mpi/collectives_at_once.hpp"

#include "mpi/collectives_at_once_parts.hpp"
#include "mpi/reduction.hpp"

namespace towline::mpi::at_once {
namespace {

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
