#pragma once
// The forms for intercommunicators. Rank 0 of a group speaks for it where that pays; within a group the algorithms of algorithms.hpp are
// used.

#include "collective/call.hpp"
#include "collective/team.hpp"

namespace towline::collective::between {

/// Adds this rank's steps to a schedule. The call makes sense (operations.hpp).
void build(schedule&, team const&, call const&);

} // namespace towline::collective::between
