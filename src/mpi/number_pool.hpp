#pragma once
// The numbers that one process gives to communicators. Their upper bits are the process, so that they are unique in the job. A number is
// free when all members have returned it. Numbers are reused in the order of their return, and only while at least `patience_` are free: a
// late message of the previous communicator then matches nothing.

#include "mpi/group.hpp"

#include <cstdint>
#include <mutex>
#include <vector>

namespace towline::mpi {

/// Thread-safe; nothing throws.
class number_pool {
public:
    static constexpr unsigned bits = 30;
    /// Returned if no number is left; also the number of MPI_COMM_WORLD. 1 is the number of MPI_COMM_SELF.
    static constexpr std::uint32_t none = 0;

    number_pool(process_id self, int processes) noexcept;

    /// A number that no other communicator gets until as many members as `settle` says returned it, or until `cancel`.
    [[nodiscard]] std::uint32_t reserve() noexcept;
    /// Sets how many members will return it (some may have done so already).
    void settle(std::uint32_t number, int members) noexcept;
    /// Frees a number that no other process uses. Ignores `none`.
    void cancel(std::uint32_t number) noexcept;
    /// A member returned it. False if the number is not in use.
    bool give_back(std::uint32_t number) noexcept;

    /// The process that gives out this number.
    [[nodiscard]] process_id owner(std::uint32_t number) const noexcept { return static_cast<process_id>(number >> slot_bits_); }

private:
    static constexpr std::uint32_t first = 2;
    static constexpr std::uint32_t nowhere = ~std::uint32_t{0};
    static constexpr std::int32_t unsettled = 1 << 30;

    struct slot {
        std::int32_t holders = 0;  ///< 0: free; near `unsettled`: the number of members is not known yet
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
    std::uint32_t const limit_;     ///< upper bound of slot numbers
    std::uint32_t const patience_;  ///< numbers that must be free before one is reused
    process_id const self_;
    std::mutex mutex_;
    std::vector<slot> slots_;
    list used_;    ///< returned by all members
    list unused_;  ///< reserved, never used
};

} // namespace towline::mpi
