#pragma once
// The predefined reduction operations on arrays of basic elements: the innermost loop of every reduction (MPI-5.0, "Predefined Reduction
// Operations" and "MINLOC and MAXLOC"), and of accumulating into a window. Pure functions; any thread.
//
// They stand with the collectives because those are built of them; they know nothing of ranks or messages.

#include "layout/kind.hpp"

#include <cstddef>
#include <cstdint>

namespace towline::collective {

enum class operation : std::uint8_t { max, min, sum, prod, land, band, lor, bor, lxor, bxor, maxloc, minloc, replace, no_op };
inline constexpr std::size_t operations = static_cast<std::size_t>(operation::no_op) + 1;

/// out[i] = in[i] op other[i] for i < count: `in` is what comes first in the order of ranks. The arrays are aligned as the kind's C type,
/// contiguous (pairs with C's padding), and do not overlap, but `out` may be `other`, as in MPI_Reduce_local; all may be null with count 0.
///
///   integers     sum and prod wrap. land, lor, lxor give 1 or 0
/// floating     in the kind's own precision (real2 rounds each result from single). max and min: a NaN on either side gives a NaN, so that
///                the result does not depend on the order of ranks, as a plain comparison would have it; of +0 and -0 either may come
///   complex      prod by the four products of the textbook; no attempt to save infinities
///   logical      Fortran's: 0 is false and everything else true; a true result is one of the operands, so it is in the form
///                that the program's compiler writes. C's and C++'s bool: 1 or 0
///   maxloc,      ties: the smaller index. A NaN wins over every number, and among NaNs the smaller index
///   minloc
///   replace      out[i] = in[i];  no_op: out[i] = other[i]. For every kind: the standard has them for accumulating only; the caller sees
///                to that
using reduction = void (*)(void const* in, void const* other, void* out, std::size_t count) noexcept;

/// Null where the standard does not allow the operation on the kind (the logical ones on addresses, counts and offsets are there). A load;
/// the loops for this processor's vectors.
[[nodiscard]] reduction find_reduction(operation, layout::kind) noexcept;

} // namespace towline::collective
