#pragma once
// `towline run`: a job on this machine.
//
// Two processes stand between the shell and the ranks. The *front* is the one that the user started: it has the terminal, passes
// signals and typed lines on, and returns the exit code. The *keeper* starts the ranks, forwards their output and watches them. Each is
// a subreaper, so that if either is killed (even by SIGKILL) the other still finds every process of the job and ends it.

#include <chrono>
#include <string>
#include <sys/types.h>
#include <vector>

namespace towline::tools {

struct run_options {
    int ranks = 0;
    bool bind_to_cores = false;
    bool stats = false;
    std::string stats_file;  ///< JSON
    bool tag = false;
    bool keep_going = false;
    std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max();
    bool heap = true;
    std::vector<std::string> command;
};

/// Exit codes of our own, as a shell or timeout(1) gives them.
enum : int { exit_usage = 2, exit_timeout = 124, exit_failed = 125, exit_not_executable = 126, exit_not_found = 127 };

/// Runs the job; the exit code. Throws towline::error if it could not be started.
int run(run_options const&);

/// What the keeper needs to know from before the front changed it.
struct surroundings {
    pid_t front = 0;
    int rank0_stdin = 0;          ///< read by rank 0
    unsigned long descriptors = 0; ///< soft limit
    std::string program;          ///< path that was found
};

/// Signals that are passed on to the ranks.
inline constexpr int forwarded_signals[] = {1 /*HUP*/,   2 /*INT*/,   3 /*QUIT*/,  10 /*USR1*/,
                                            12 /*USR2*/, 15 /*TERM*/, 18 /*CONT*/, 20 /*TSTP*/};

/// The keeper's life, from its fork on; the exit code. Signals in `forwarded_signals` and SIGCHLD are blocked.
int keep(run_options const&, surroundings const&);
/// Puts signal mask and actions back to what the front was started with; for a rank, before exec.
void restore_signals() noexcept;

} // namespace towline::tools
