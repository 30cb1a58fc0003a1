#pragma once
// Checks and computations that plans of collective operations share.

#include "mpi/collective_operation.hpp"
#include "mpi/communicator.hpp"
#include "mpi/failure.hpp"
#include "mpi/payload.hpp"
#include "mpi/wide_array.hpp"

#include <cstdint>

namespace towline::mpi {


[[noreturn, gnu::cold]] void throw_root(communicator const&, int root);
[[noreturn, gnu::cold]] void throw_in_place(char const* parameter);
[[noreturn, gnu::cold]] void throw_alias();
[[gnu::cold]] void spoil_unlike(collective_operation&, std::uint64_t sent, std::uint64_t expected);
[[noreturn, gnu::cold]] void throw_too_many(std::int64_t count, std::int64_t times);
[[noreturn, gnu::cold]] void throw_only_within(communicator const&);

/// This rank in an operation with a root.
struct rooted {
    int root;          ///< as collective/operations.hpp defines it
    bool is_root;
    bool takes_part;   ///< false: in the root's group of an intercommunicator, but not the root
};
[[nodiscard]] rooted rooted_at(communicator const&, int root);

/// True for MPI_IN_PLACE. Throws in an intercommunicator, where it is not allowed.
[[nodiscard]] inline bool is_in_place(communicator const& c, void const* buffer, char const* parameter)
{
    if (buffer != MPI_IN_PLACE) [[likely]]
        return false;
    if (c.is_inter())
        throw_in_place(parameter);
    return true;
}

/// Send and receive buffer must differ (6.2).
inline void check_alias(void const* send, void const* receive, std::uint64_t bytes)
{
    if (send == receive && send != nullptr && bytes != 0) [[unlikely]]
        throw_alias();
}
/// The same for data with gaps. One buffer may lie in the gaps of the other, unless the datatypes are equal.
inline void check_alias(payload const& send, payload const& receive, bool same_type)
{
    if (same_type || (send.in_a_row() && receive.in_a_row()))
        check_alias(send.data(), receive.data(), static_cast<std::uint64_t>(send.bytes()));
}

/// Checks that the block this rank sends itself has the size that it expects. If not, the rank still takes part, because others are in the
/// operation.
inline void check_own(collective_operation& o, std::uint64_t sent, std::uint64_t expected)
{
    if (sent != expected) [[unlikely]]
        spoil_unlike(o, sent, expected);
}

[[nodiscard]] inline std::int64_t times(std::int64_t count, int n)
{
    std::int64_t product = 0;
    if (__builtin_mul_overflow(count, std::int64_t{n}, &product)) [[unlikely]]
        throw_too_many(count, n);
    return product;
}

/// The address `steps` * `step` bytes further; wraps as addresses do.
[[nodiscard]] inline void* moved(void const* at, std::int64_t steps, std::int64_t step = 1) noexcept
{
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(at) +
                                   static_cast<std::uintptr_t>(steps) * static_cast<std::uintptr_t>(step));
}

[[noreturn, gnu::cold]] void throw_no_array(char const* parameter);

/// Throws if an array whose n elements are read is null.
inline void check_array(bool is_null, int n, char const* parameter)
{
    if (is_null && n > 0) [[unlikely]]
        throw_no_array(parameter);
}
/// Element i of an array of counts; throws if it is negative.
[[nodiscard]] std::int64_t count_at(wide_array, int i, char const* parameter);

} // namespace towline::mpi
