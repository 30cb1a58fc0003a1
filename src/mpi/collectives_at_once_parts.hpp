#pragma once
// What the short ways of collective operations (collectives_at_once.hpp) have in common: what they look at, and how they run.

#include "collective/at_once.hpp"
#include "mpi/collective_calls.hpp"
#include "mpi/lane_wait.hpp"
#include "mpi/plain_sizes.hpp"
#include "mpi/wide_array.hpp"

namespace towline::mpi::at_once {

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

/// Blocks by lists, of predefined elements: of all ranks, or of all neighbours.
class listed_blocks {
public:
    listed_blocks(void const* buffer, wide_array counts, wide_array displs, MPI_Datatype type) noexcept
        : at_(static_cast<std::byte*>(const_cast<void*>(buffer))), counts_(counts), displs_(displs), element_(plain_size(type))
    {
    }
    [[nodiscard]] std::uint64_t size(int i) const noexcept
    {
        return static_cast<std::uint64_t>(counts_[static_cast<std::size_t>(i)] * element_);
    }
    [[nodiscard]] std::byte* at(int i) const noexcept { return at_ + displs_[static_cast<std::size_t>(i)] * element_; }
    /// Of `n`: memory, and no block that is too big to be shown.
    [[nodiscard]] bool are_good(int n) const noexcept
    {
        constexpr std::uint64_t most = collective::lanes::payload_bytes;
        if (element_ == 0 || !is_memory(at_) || counts_.is_null() || displs_.is_null())
            return false;
        for (int i = 0; i < n; ++i)
            if (static_cast<std::uint64_t>(counts_[static_cast<std::size_t>(i)]) > most || size(i) > most)
                return false;
        return true;
    }

private:
    std::byte* at_;
    wide_array counts_, displs_;
    std::int64_t element_;
};

[[nodiscard]] inline bool may_begin(communicator& c, std::uint64_t bytes) noexcept
{
    collective::lanes* const l = c.team().quick_lanes();
    return l != nullptr && collective::at_once_may_begin(*l, bytes);
}

/// Where memory is tight, those by lists are done by steps (lane_builder::agree).
[[nodiscard]] inline bool may_begin_lists(communicator& c, std::uint64_t bytes) noexcept
{
    return may_begin(c, bytes) && !c.team().quick_lanes()->is_tight();
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
    if (l.begun() % collective::progress_every == 0) [[unlikely]]
        process::instance().engine().progress();
}

} // namespace towline::mpi::at_once
