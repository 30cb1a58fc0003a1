#pragma once
// The front of a job on several hosts: an agent on each (here by itself, elsewhere by ssh), and what they tell each other goes through this
// process. Of many hosts most agents are started by others (reach.hpp), and their frames travel through these.

#include "base/clock.hpp"
#include "base/unique_fd.hpp"
#include "description.hpp"
#include "frames.hpp"
#include "job/file.hpp"
#include "job/launch/host_facts.hpp"
#include "lines.hpp"
#include "questions.hpp"
#include "reach.hpp"
#include "run.hpp"
#include "towline/error.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace towline::tools {

/// The stream of one host's lines; whole lines go on.
class host_lines {
public:
    explicit host_lines(sink& to) : to_(&to) {}
    void add(std::string_view text);
    void close();

private:
    sink* to_;
    std::string rest_;
};

/// A host could not be made part of the job.
struct start_error : error {
    using error::error;
};

/// Of a job, in the front. Its number is that of its node.
struct host {
    std::uint32_t number = 0;
    std::string name;
    bool here = false;                     ///< it is this machine, where the front starts the agent without help
    std::uint32_t by = by_front;           ///< who has started its agent: another host, or the front
    lead way;                              ///< by_front: to the agent
    std::int64_t heard_ns = 0;             ///< when something came from it last; CLOCK_MONOTONIC
    std::optional<job::launch::host_facts> facts;
    std::optional<host_lines> out, errors;
    std::size_t typed = 0;                 ///< bytes of input that it has not passed on
    std::size_t written = 0;               ///< bytes of output of which it is not told yet that they were passed on
    bool over = false;
    std::optional<int> code;
};

class cluster_front {
public:
    explicit cluster_front(run_options const&);
    int run();
    int tell_of_hosts();  ///< info_of_hosts

private:
    // The start (cluster_start.cpp).
    void start_agents();
    void gather();            ///< waits for the first word of every agent
    void greet(host&, std::string const& facts);
    void start_further(host const& by);
    void place();             ///< gives each rank its host: hosts are filled one after the other
    void tell_job();
    [[noreturn]] void throw_not_started(host const&, std::string const& said) const;
    [[nodiscard]] bool asked_to_end();

    // Frames (cluster_frames.cpp).
    void send(host&, frame, std::string_view payload);
    void look_at(host&);      ///< takes what has come by its stream
    void dispatch(host& by, frame, std::string const& payload);
    void take(host&, frame, std::string_view payload);
    void on_news(host& from, std::string_view text);
    void tell_others(host const* from, std::string_view text);
    void ended(host&, std::string const& why);  ///< its stream has
    void lost(host&, std::string const& why);   ///< it does not answer, or its agent is gone without a word: its ranks count as dead
    // Questions about what ranks wait for.
    void ask(std::uint32_t from, std::uint32_t question);
    void on_answer(std::uint32_t by, nlohmann::json const&, std::string_view text);
    void tell_answered();
    /// What is known here of the ranks: counters, once their keepers told them, and what they wait for, once these were asked.
    job::control_view& slots();

    // The loop (cluster.cpp).
    void look();
    void type();
    void on_signal();
    void on_timers();
    void look_for_silence();
    void explain_timeout();
    [[nodiscard]] int patience_ms() const;
    void say(std::string const& line);
    void note_code(int code);
    void end_agents();
    int conclude();

    run_options const& options_;
    base::unique_fd signals_;
    std::deque<host> hosts_;           ///< addresses stay
    bool starting_ = true;             ///< not all agents have answered
    std::vector<std::uint32_t> node_of_;
    std::size_t reader_ = 0;           ///< the host of the rank that reads standard input
    bool typing_ = true;
    sink out_{1};
    sink errors_{2};
    std::string id_;                   ///< of the job
    base::unique_fd file_;
    std::unique_ptr<job::control_view> view_;  ///< see slots()
    questions questions_;
    static constexpr std::uint32_t last_question = 1;  ///< asked when the time of the job is over
    bool asking_ = false;
    base::deadline answers_until_{std::chrono::nanoseconds::max()};
    int code_ = 0;
    bool ending_ = false;
    std::int64_t started_ns_ = base::monotonic_ns();
    std::int64_t told_ns_ = base::monotonic_ns();
    base::deadline timeout_{std::chrono::nanoseconds::max()};
};

/// Whether standard output and error are one file.
[[nodiscard]] bool same_output();
[[nodiscard]] std::string packed_news(nlohmann::json const&);

} // namespace towline::tools
