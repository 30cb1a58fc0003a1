#pragma once
// The numbers that one process gives to communicators: unique in the job, because their upper bits are the process. A number is used again
// when all members have given it back, the one that was given back first before others, and not before a good many are free: a message of
// its last communicator that is still on its way meets nobody.

#include "mpi/group.hpp"

#include <cstdint>
#include <mutex>
#include <vector>

namespace towline::mpi {

/// Thread-safe; nothing throws.
class number_pool {
public:
    static constexpr unsigned bits = 30;
    /// Given out where nothing is left; the number of MPI_COMM_WORLD. 1 is that of MPI_COMM_SELF.
    static constexpr std::uint32_t none = 0;

    number_pool(process_id self, int processes) noexcept;

    /// A number that nobody else has until it is given back by as many as `settle` says, or cancelled.
    [[nodiscard]] std::uint32_t reserve() noexcept;
    /// So many will give it back (some may have done so already).
    void settle(std::uint32_t number, int members) noexcept;
    /// Nobody saw it but this process, or knows that it means nothing. `none` is left alone.
    void cancel(std::uint32_t number) noexcept;
    /// A member has no use for it any more. False where it is not out.
    bool give_back(std::uint32_t number) noexcept;

    /// The process that gives out this number.
    [[nodiscard]] process_id owner(std::uint32_t number) const noexcept { return static_cast<process_id>(number >> slot_bits_); }

private:
    static constexpr std::uint32_t first = 2;
    static constexpr std::uint32_t nowhere = ~std::uint32_t{0};
    static constexpr std::int32_t unsettled = 1 << 30;

    struct slot {
        std::int32_t holders = 0;  ///< 0: free; from about `unsettled`: it is not known yet how many
        std::uint32_t next = nowhere;
    };
    struct list {
        std::uint32_t head = nowhere, tail = nowhere, size = 0;
    };
    [[nodiscard]] slot& at(std::uint32_t index) noexcept { return slots_[index - first]; }
    void append(list&, std::uint32_t index) noexcept;
    std::uint32_t pop(list&) noexcept;
    [[nodiscard]] slot* slot_of(std::uint32_t number) noexcept;
    void finish_if_free(std::uint32_t index) noexcept;

    unsigned const slot_bits_;
    std::uint32_t const limit_;     ///< slots are below
    std::uint32_t const patience_;  ///< so many are free before one is used again
    process_id const self_;
    std::mutex mutex_;
    std::vector<slot> slots_;
    list used_;    ///< free again
    list unused_;  ///< reserved, and never used
};

} // namespace towline::mpi
