#pragma once
// What the short ways of collective operations (collectives_at_once.hpp) have in common: what they look at, and how they run.

#include "collective/at_once.hpp"
#include "mpi/collective_calls.hpp"
#include "mpi/lane_wait.hpp"
#include "mpi/plain_sizes.hpp"

namespace towline::mpi::at_once {

/// Operations that nobody had to wait for make no progress: then every so many do, so that a program of nothing else has some, too.
inline constexpr std::uint64_t progress_every = 32;

/// Null pointers, MPI_BOTTOM, MPI_IN_PLACE lie below.
[[nodiscard]] inline bool is_memory(void const* buffer) noexcept
{
    return reinterpret_cast<std::uintptr_t>(buffer) >= 4096;
}

/// Bytes of data that may be shown; 0: none, or not of this kind.
[[nodiscard]] inline std::uint64_t bytes_of(MPI_Count count, MPI_Datatype datatype) noexcept
{
    constexpr std::uint64_t most = collective::lanes::payload_bytes;
    auto const size = static_cast<std::uint64_t>(plain_size(datatype));
    auto const n = static_cast<std::uint64_t>(count);
    return n <= most && n * size <= most ? n * size : 0;
}

/// Bytes of the blocks of all ranks.
[[nodiscard]] inline std::uint64_t of_all(communicator const& c, std::uint64_t bytes) noexcept
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

[[nodiscard]] inline bool may_begin(communicator& c, std::uint64_t bytes) noexcept
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

} // namespace towline::mpi::at_once
