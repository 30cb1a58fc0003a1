#pragma once
// Turns a call (call.hpp) into steps of a schedule: over lanes (lanes/) or as messages (messages/), within one group or between two.

#include "collective/call.hpp"
#include "collective/team.hpp"

namespace towline::collective {

/// Adds this rank's steps to a cleared schedule; basic_request::start runs them. Throws usage_error for a root or neighbour that is no
/// rank, for lists of the wrong length, and for operations that two groups cannot do; std::bad_alloc.
void build(schedule&, team const&, call const&);

// What it chooses from. The call makes sense.

namespace over_lanes {
/// The schedule's lanes may be used.
void build(schedule&, call const&, bool crowded);
/// No rank offers more than is shown (operations with tables: as far as all ranks know); else bytes are lent.
[[nodiscard]] bool is_shown(lanes const&, call const&) noexcept;
/// A rank may find that it has no shared memory left for the operation, which then goes as messages (schedule::otherwise).
[[nodiscard]] bool may_leave(lanes const&, call const&) noexcept;
} // namespace over_lanes

namespace by_messages {
/// Among the ranks of one group, by the algorithm.
void build(schedule&, team const&, call const&, algorithm);
} // namespace by_messages

namespace between {
/// For intercommunicators. Rank 0 of a group speaks for it where that is faster; within a group the algorithms of messages/algorithms.hpp
/// are used.
void build(schedule&, team const&, call const&);
} // namespace between

} // namespace towline::collective
