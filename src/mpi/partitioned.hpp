#pragma once
// Pairs the sends and receives of partitioned communication (4.2).

#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>

namespace towline::mpi {

/// Counts a communicator's MPI_Psend_init and MPI_Precv_init by rank and tag. Thread-safe.
class partitioned_pairs {
public:
    /// Counts 0, 1, ... for equal arguments.
    [[nodiscard]] std::uint32_t next(bool is_receive, int rank, int tag)
    {
        std::scoped_lock const lock(mutex_);
        return made_[{is_receive, rank, tag}]++;
    }

private:
    std::mutex mutex_;
    std::map<std::tuple<bool, int, int>, std::uint32_t> made_;
};

} // namespace towline::mpi
