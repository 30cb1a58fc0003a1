#pragma once
// TOWLINE_CHECK: checks that cost time, or that tell of what works here and not everywhere. Off unless asked for.

#include <optional>
#include <string_view>

namespace towline::base {

/// What TOWLINE_CHECK can name. A word of its own each: `TOWLINE_CHECK=collectives`, `TOWLINE_CHECK=types,collectives`;
/// `on` names all, `off` (the default) none.
enum class check : unsigned {
    collectives = 1 << 0, ///< the ranks of a collective operation make the same call
    types = 1 << 1,       ///< tell once of datatypes that an operation takes here, though the MPI standard does not define it for them
};

/// Whether TOWLINE_CHECK names it. The variable is read once in a process.
/// Throws usage_error if the variable has a word that is none of the above.
[[nodiscard]] bool checking(check what);

/// The bits of the checks that a value of TOWLINE_CHECK names; nothing where it has a word that is none of the above.
[[nodiscard]] std::optional<unsigned> parse_checks(std::string_view text) noexcept;

} // namespace towline::base
