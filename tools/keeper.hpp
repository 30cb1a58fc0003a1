#pragma once
// The keeper of a job: starts the ranks, forwards their output, and detects their end.

#include "base/clock.hpp"
#include "base/unique_fd.hpp"
#include "hub.hpp"
#include "job/file.hpp"
#include "lines.hpp"
#include "memory_watch.hpp"
#include "patterns.hpp"
#include "run.hpp"

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace towline::tools {

/// The signal that the kernel sends to the keeper when the front has ended; nothing else sends it.
inline constexpr int front_died = SIGURG;

class keeper {
public:
    keeper(run_options const&, surroundings const&);
    int run();

private:
    struct rank_process {
        pid_t pid = 0;
        bool running = false;
        base::unique_fd member;  ///< pidfd of the process that joined, where that is a descendant of `pid`
        std::int64_t member_gone_ns = 0;  ///< when that process ended; 0: not yet, -1: dealt with
        std::optional<stream> out;
        std::optional<stream> err;
    };

    void start(int rank);
    /// Where the rank itself writes its output, if not to us.
    [[nodiscard]] base::unique_fd own_output(int rank, char const* option, std::string const& pattern);
    [[noreturn]] void become(int rank, int out, int err);
    std::uint64_t look_at_programs();  ///< whether each is preloaded; bytes of a segment, 0: as usual
    void prepare_environment();

    bool watch_once();  ///< false when the job is over
    [[nodiscard]] int patience_ms();
    void look_at_outputs();
    void on_signal();
    void on_timers();
    void reap();
    void ended(int rank, int status, std::string const& why);
    void watch_members();
    void member_vanished(int rank);

    void report(int rank, std::string const& how);  ///< the line that tells who ended
    void say(std::string const& line);
    void end_job();                     ///< SIGTERM now, SIGKILL in half a second
    void kill_all();
    void signal_ranks(int number);
    void end_leftovers();
    void finish_output();
    bool flush_all();                   ///< waits for slow readers; false when told to end meanwhile
    int conclude();
    void note_code(int code);
    [[nodiscard]] int running() const;
    [[nodiscard]] std::size_t part_of(int rank) const { return places_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] bool is_here(std::size_t rank) const { return around_.node == nullptr || around_.node->node_of[rank] == around_.node->node; }
    void look_at_hub();                 ///< what other nodes tell, and what they have to know

    run_options const& options_;
    surroundings const& around_;
    base::unique_fd file_;
    std::unique_ptr<job::control_view> view_;
    std::unique_ptr<hub> hub_;        ///< in a job of several nodes
    base::unique_fd signals_;
    base::unique_fd exec_failures_;   ///< ranks that could not exec write {rank, errno}
    base::unique_fd exec_failures_in_;
    base::unique_fd nothing_;         ///< /dev/null
    pattern_files files_;
    std::vector<std::vector<int>> cores_;  ///< of each rank here, by its local number, what it is bound to; empty: nothing
    std::vector<std::size_t> places_;  ///< of each rank, its part
    std::vector<std::size_t> local_;   ///< of each rank, its number among those of this node
    std::size_t here_ = 0;             ///< ranks of this node
    std::vector<rank_process> ranks_;  ///< those of other nodes never run
    sink out_{1};
    sink err_own_{2};
    sink* err_ = &err_own_;           ///< &out_ where both are the same file
    std::vector<std::string> preloads_;  ///< of each part, what stands in front in LD_PRELOAD; or nothing
    base::unique_fd library_folder_;
    std::optional<memory_watch> memory_;  ///< from when the ranks run: they need not wait for it
    std::string host_;                ///< this one, as people know it
    std::uint64_t own_namespace_ = 0;

    int code_ = 0;
    bool ending_ = false;
    bool output_refused_ = false;     ///< it could not be written, and this has been dealt with
    bool errors_refused_ = false;
    int asked_to_end_ = 0;            ///< the first signal by which the user ended the job
    std::int64_t asked_ns_ = 0;
    std::int64_t kill_at_ns_ = 0;     ///< when what remains is killed; 0: not set
    std::int64_t started_ns_ = 0;
    base::deadline timeout_;
};

} // namespace towline::tools
