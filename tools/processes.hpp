#pragma once
// Finding and ending everything that descends from this process, through /proc. With PR_SET_CHILD_SUBREAPER set,
// whatever a descendant leaves behind becomes our child, so that nothing gets away by losing its parent.

#include <string>
#include <sys/types.h>
#include <vector>

namespace towline::tools {

/// Living descendants (zombies are left out), as far as /proc shows them: who forks and ends meanwhile may be missed. Ask `childless` for
/// the end.
[[nodiscard]] std::vector<pid_t> descendants(pid_t of);
/// Reaps; true if no child is left, and so, in a subreaper, no descendant.
[[nodiscard]] bool childless() noexcept;
[[nodiscard]] bool is_descendant(pid_t child, pid_t of);

/// Zeros where there is no such process, or /proc does not show it.
struct process_facts {
    pid_t parent = 0;
    double age_seconds = 0;
};
[[nodiscard]] process_facts facts_of(pid_t pid);

/// SIGKILL to all descendants, again and again, until there are none or the time is over. Reaps. True if none is left. `but`: children that
/// stay, and what descends from them.
bool kill_descendants(int patience_ms, std::vector<pid_t> const& but = {});

/// "signal 11 (SIGSEGV, Segmentation fault)".
[[nodiscard]] std::string describe_signal(int number);
/// A wait(2) status as a shell's exit code.
[[nodiscard]] int exit_code(int status) noexcept;

/// Path of libtowline-malloc.so, which lies beside the library that this program uses, in a build tree and when installed; empty where it
/// is not.
[[nodiscard]] std::string preload_library();

/// Raises the soft limit on descriptors to the hard one; the old soft limit.
unsigned long raise_descriptor_limit() noexcept;
void restore_descriptor_limit(unsigned long soft) noexcept;

} // namespace towline::tools
