#pragma once
// Notices that a rank of this node has died, where no keeper of ours does: under launchers that are not ours.

namespace towline::job {
class membership;
}

namespace towline::job::launch {

/// Starts a thread that sleeps until the process of another rank of the node ends, and marks that rank dead if it had not left the job. It
/// has all signals blocked, and runs until the process ends. The ranks of the node have joined. A rank of another pid namespace, and where the
/// kernel has no pidfd_open(2), is left to the launcher.
void watch_deaths(membership&);

} // namespace towline::job::launch
