#pragma once
// A job on this machine: `towline run`, `mpiexec`.
//
// Two processes stand between the shell and the ranks. The *front* is the one that the user started: it has the terminal, passes
// signals and typed lines on, and returns the exit code. The *keeper* starts the ranks, forwards their output and watches them. Each is
// a subreaper, so that if either is killed (even by SIGKILL) the other still finds every process of the job and ends it.

#include "base/unique_fd.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace towline::tools {

/// Differences between the environment of a program and that of the launcher.
struct environment_change {
    bool inherit = true;             ///< all that is not in `set`; else only what `kept` names
    std::vector<std::string> kept;
    std::vector<std::pair<std::string, std::string>> set;
};

/// Ranks next to each other that run the same command.
struct program_part {
    int ranks = 0;
    std::vector<std::string> command;
    std::string folder;              ///< working directory; empty: ours
    std::string search;              ///< folders in which the program is looked for before PATH, with colons between
    environment_change environment;  ///< on top of the job's
};

/// Parts of the machine that ranks are bound to, or spread over.
enum class unit { none, core, hwthread, numa, socket };

/// A host, and how many ranks it takes.
struct host_slots {
    std::string name;
    int slots = 0;  ///< 0: as many as it has cores, or more where the hosts have to take more
    bool operator==(host_slots const&) const = default;
};

struct run_options {
    std::string name = "towline run";  ///< of the command, in front of its errors
    std::vector<program_part> parts;
    environment_change environment;
    int stdin_rank = 0;                ///< the rank that reads the launcher's standard input; -1: none
    bool verbose = false;              ///< reports what is started
    bool quiet = false;                ///< does not report how ranks ended
    unit bind = unit::none;
    unit map = unit::none;             ///< units over which ranks are distributed; none: those of `bind`
    bool report_bindings = false;
    bool stats = false;
    std::string stats_file;  ///< JSON
    bool tag = false;
    std::string tag_pattern = "[%r] ";  ///< what it is (patterns.hpp)
    std::string out_pattern, err_pattern;  ///< not empty: files that ranks write into
    int output_from = -1;  ///< not negative: the output of all other ranks is dropped
    bool keep_going = false;
    std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max();
    bool heap = true;
    std::vector<host_slots> hosts;     ///< where ranks run; empty: here
    std::string remote_shell;          ///< how an agent is started on another host; empty: by ssh

    [[nodiscard]] int ranks() const noexcept
    {
        int n = 0;
        for (auto const& p : parts)
            n += p.ranks;
        return n;
    }
};

struct node_part;

/// Exit codes of our own, as a shell or timeout(1) gives them.
enum : int { exit_usage = 2, exit_timeout = 124, exit_failed = 125, exit_not_executable = 126, exit_not_found = 127 };

/// Runs the job; the exit code. Throws towline::error if it could not be started.
int run(run_options const&);
/// The front of a job of several hosts: starts an agent on each, and stands between them. As run.
int run_on_hosts(run_options const&);
/// `towline info --hosts`: starts agents there, and prints what they tell of their hosts and how a job on them would be launched and speak;
/// the exit code. Throws towline::error, which names it, where a host cannot be reached.
int info_of_hosts(run_options const&);
/// An agent: runs its host's part of a job for the front at the other end of standard input and output; the exit code.
int agent();

/// What the keeper needs to know from before the front changed it.
struct surroundings {
    pid_t front = 0;
    int input = 0;                 ///< read by the rank that gets our standard input
    unsigned long descriptors = 0; ///< soft limit
    std::vector<std::string> programs;  ///< of each part, the path that was found; of one without ranks here: empty
    node_part const* node = nullptr;    ///< in a job of several nodes
};

/// Signals that are passed on to the ranks.
inline constexpr int forwarded_signals[] = {1 /*HUP*/,   2 /*INT*/,   3 /*QUIT*/,  10 /*USR1*/,
                                            12 /*USR2*/, 15 /*TERM*/, 18 /*CONT*/, 20 /*TSTP*/, 28 /*WINCH*/};

/// The keeper's life, from its fork on; the exit code. Signals in `forwarded_signals` and SIGCHLD are blocked.
int keep(run_options const&, surroundings const&);

/// What every front does before it starts anything: signals are blocked and read from the descriptor that is returned, orphans become
/// children, and the limit on descriptors is raised. Throws system_error.
[[nodiscard]] base::unique_fd become_front(surroundings&);
/// Forks the keeper; `in_keeper` runs there first. Its pid. Throws system_error.
[[nodiscard]] pid_t start_keeper(run_options const&, surroundings const&, std::function<void()> const& in_keeper);
/// Puts signal mask and actions back to what the front was started with; for a rank, before exec.
void restore_signals() noexcept;

} // namespace towline::tools
