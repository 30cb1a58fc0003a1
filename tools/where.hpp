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

/// What each rank on that node does, and which wait for each other, as lines.
[[nodiscard]] std::vector<std::string> lines_of(std::span<job::rank_slot const>, std::uint32_t node);

} // namespace towline::tools
