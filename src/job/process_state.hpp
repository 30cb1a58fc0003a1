#pragma once
// What the process of a rank does as the kernel sees it, for ranks that tell nothing themselves: /proc.

#include <span>
#include <string>
#include <sys/types.h>

namespace towline::job {

struct rank_slot;
struct rank_view;

struct process_state {
    enum class kind {
        unknown,   ///< it cannot be looked at: of another user, or in another pid namespace
        computes,  ///< a thread runs, or would if it had a core
        sleeps,    ///< all of its threads wait for something in the kernel
        stopped,   ///< by SIGSTOP, SIGTSTP, SIGTTIN or SIGTTOU
        traced,    ///< by a debugger, which has stopped it
        device,    ///< uninterruptibly: a file system or a device does not answer
        gone,      ///< ended; its parent has not asked how yet
        silent,    ///< its node did not answer
    };
    kind is = kind::unknown;
    std::string call{};  ///< the system call in which the main thread sleeps, where the kernel tells
};

/// One look at a process. A thread that runs is found only if it runs at that moment.
[[nodiscard]] process_state look_at_process(pid_t pid);

/// Fills rank_view::process of every rank that runs in our pid namespace. Takes 20 ms where some seem to sleep: they are looked at twice,
/// and have computed if they have used a processor meanwhile.
void look_at_processes(std::span<rank_slot const>, std::span<rank_view>);

} // namespace towline::job
