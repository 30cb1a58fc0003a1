#pragma once
// What plans of collective operations check and reckon.

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
    int root;          ///< as collective/operations.hpp wants it
    bool is_root;
    bool takes_part;   ///< no: in the root's group of an intercommunicator, beside it
};
[[nodiscard]] rooted rooted_at(communicator const&, int root);

/// MPI_IN_PLACE was given where it may be; in an intercommunicator it may not.
[[nodiscard]] inline bool is_in_place(communicator const& c, void const* buffer, char const* parameter)
{
    if (buffer != MPI_IN_PLACE) [[likely]]
        return false;
    if (c.is_inter())
        throw_in_place(parameter);
    return true;
}

/// What is sent and what is received may not be the same memory (6.2).
inline void check_alias(void const* send, void const* receive, std::uint64_t bytes)
{
    if (send == receive && send != nullptr && bytes != 0) [[unlikely]]
        throw_alias();
}
/// With gaps, the one may lie in those of the other; not if the datatypes are the same.
inline void check_alias(payload const& send, payload const& receive, bool same_type)
{
    if (same_type || (send.in_a_row() && receive.in_a_row()))
        check_alias(send.data(), receive.data(), static_cast<std::uint64_t>(send.bytes()));
}

/// What this rank gives itself has the size that it expects. Else it takes part all the same: others are in the operation.
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

/// `steps` steps of `step` bytes from there; wraps as addresses do.
[[nodiscard]] inline void* moved(void const* at, std::int64_t steps, std::int64_t step = 1) noexcept
{
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(at) +
                                   static_cast<std::uintptr_t>(steps) * static_cast<std::uintptr_t>(step));
}

[[noreturn, gnu::cold]] void throw_no_array(char const* parameter);

/// An array of n elements that are looked at.
inline void check_array(bool is_null, int n, char const* parameter)
{
    if (is_null && n > 0) [[unlikely]]
        throw_no_array(parameter);
}
/// One of its counts.
[[nodiscard]] std::int64_t count_at(wide_array, int i, char const* parameter);

} // namespace towline::mpi
