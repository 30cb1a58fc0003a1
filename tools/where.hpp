#pragma once
// `towline where`: what the ranks of a running job wait for.

#include "job/control.hpp"

#include <span>
#include <string>
#include <vector>

namespace towline::tools {

/// Prints the running jobs, or what the ranks of one do; the exit code. `which`: the launcher's pid, a rank's, or the job's name; empty:
/// all jobs are listed.
int where(std::string const& which);

/// In a job of several nodes: a question to the others, and whose slots are not answers to it.
struct asked_elsewhere {
    std::uint32_t question = 0;
    std::uint32_t own = 0;  ///< node
};
/// What each rank does, and which wait for each other, as lines. `asked`: null in a job of one node.
[[nodiscard]] std::vector<std::string> lines_of(std::span<job::rank_slot const>, asked_elsewhere const* asked = nullptr);

} // namespace towline::tools
