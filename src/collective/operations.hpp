#pragma once
// Turns a call (call.hpp) into steps of a schedule: over lanes (lanes/), as messages (messages/) or both (levels/), within one group or
// between two.

#include "collective/call.hpp"
#include "collective/team.hpp"

namespace towline::collective {

/// Adds this rank's steps to a cleared schedule; basic_request::start runs them. Throws usage_error for a root or neighbour that is no
/// rank, for lists of the wrong length, and for operations that two groups cannot do; std::bad_alloc.
void build(schedule&, team const&, call const&);

// What it chooses from. The call makes sense.

/// A copy of the call whose lists live as long as the schedule.
[[nodiscard]] call kept(schedule&, call const&);

namespace over_lanes {
/// The schedule's lanes may be used.
void build(schedule&, call const&, bool crowded);
/// No rank offers more than is shown (operations with tables: as far as all ranks know); else bytes are lent.
[[nodiscard]] bool is_shown(lanes const&, call const&) noexcept;
/// A rank may find that it has no shared memory left for the operation, which then goes as messages (schedule::otherwise).
[[nodiscard]] bool may_leave(lanes const&, call const&) noexcept;
} // namespace over_lanes

namespace by_messages {
/// Among whom: the ranks of one group, all of them or (schedule::among) some.
struct members {
    position here;
    bool are_crowded = false;       ///< as of team
    bool combine_in_order = false;  ///< as of team
};
void build(schedule&, members const&, call const&, algorithm);
/// By the algorithm that the table says.
void build(schedule&, members const&, call const&);
} // namespace by_messages

namespace in_levels {
/// The schedule's levels may be used. `use`: node_leaders or node_shares.
void build(schedule&, call const&, algorithm use);
} // namespace in_levels

namespace between {
/// For intercommunicators. Rank 0 of a group speaks for it where that is faster; within a group the algorithms of messages/algorithms.hpp
/// are used.
void build(schedule&, team const&, call const&);
} // namespace between

} // namespace towline::collective
