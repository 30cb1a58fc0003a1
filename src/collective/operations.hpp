#pragma once
// Turns a call (call.hpp) into steps of a schedule: over lanes (lanes/) or as messages (messages/), within one group or between two.

#include "collective/call.hpp"
#include "collective/team.hpp"

namespace towline::collective {

/// Adds this rank's steps to a cleared schedule; basic_request::start runs them. Throws usage_error for a root or neighbour that is no rank,
/// for lists of the wrong length, and for operations that two groups cannot do; std::bad_alloc.
void build(schedule&, team const&, call const&);

} // namespace towline::collective
