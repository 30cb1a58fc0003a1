#pragma once
// Operations among the ranks of one group as messages.

#include "collective/call.hpp"
#include "collective/team.hpp"

namespace towline::collective::by_messages {

/// Adds this rank's steps to a schedule, by the algorithm. The call makes sense (operations.hpp).
void build(schedule&, team const&, call const&, algorithm);

} // namespace towline::collective::by_messages
