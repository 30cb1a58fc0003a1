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

/// Bytes of data that fit a slot; 0: none, or not of this kind.
[[nodiscard]] std::uint64_t bytes_of(MPI_Count count, MPI_Datatype datatype) noexcept
{
    auto const size = static_cast<std::uint64_t>(plain_size(datatype));
    auto const n = static_cast<std::uint64_t>(count);
    return n <= collective::lanes::inline_bytes && n * size <= collective::lanes::inline_bytes ? n * size : 0;
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
    auto const n = static_cast<std::size_t>(count);
    run(c, call, [=](auto& o) { return o.reduce(own, recvbuf, bytes, [=](void const* in, void* inout) { combine(in, inout, n); }, root); });
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
    auto const n = static_cast<std::size_t>(count);
    run(c, call, [=](auto& o) { return o.allreduce(own, recvbuf, bytes, [=](void const* in, void* inout) { combine(in, inout, n); }); });
    return true;
}

} // namespace towline::mpi::at_once
