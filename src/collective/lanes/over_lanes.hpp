#pragma once
// Operations over lanes as steps of a schedule.

#include "collective/call.hpp"

namespace towline::collective::over_lanes {

/// Adds this rank's steps to a schedule whose lanes may be used. The call makes sense (operations.hpp).
void build(schedule&, call const&, bool crowded);
/// No rank offers more than is shown (operations with tables: as far as all ranks know); else bytes are lent.
[[nodiscard]] bool is_shown(lanes const&, call const&) noexcept;
/// A rank may find that it has no shared memory left for the operation, which then goes as messages (schedule::otherwise).
[[nodiscard]] bool may_leave(lanes const&, call const&) noexcept;

} // namespace towline::collective::over_lanes
