#pragma once
// The job of a process that a launcher started which is not ours: where its job file comes from, how its fences reach other nodes, how it
// ends.

#include "base/clock.hpp"
#include "base/unique_fd.hpp"
#include "job/launch/launcher.hpp"

#include <functional>
#include <memory>
#include <mutex>

namespace towline::job {
class membership;
struct job_options;
}

namespace towline::job::launch {

class foreign_job {
public:
    /// Makes this process a member of the launcher's job: `join` is called with the job file and this process's rank. Null where no launcher
    /// started it. Throws what was wrong; blocks until the other ranks have come, within bounds (TOWLINE_LAUNCHER_TIMEOUT).
    static std::unique_ptr<foreign_job> join(std::function<void(base::unique_fd, int)> const& join);

    /// Number of this process's program among those that the launcher was given; -1: it does not say.
    [[nodiscard]] int program() const { return launcher_->program(); }
    /// Brings what this rank says of itself to the other nodes, and what their ranks say into this node's job file: their cards, and that they
    /// have come to fence `number`. All ranks call it. Nothing in a job of one node. Throws error; peer_error where a rank of this node died.
    void fence(membership&, std::uint32_t number, std::chrono::milliseconds timeout);
    void abort(int code, std::string_view why) noexcept;
    void finalize() noexcept;

private:
    explicit foreign_job(std::unique_ptr<launcher> l) : launcher_(std::move(l)) {}
    void meet_node(std::function<void(base::unique_fd, int)> const& join);
    void tell_of_network(job_options&, std::uint32_t node) const;

    std::unique_ptr<launcher> launcher_;
    patience patience_ = wished_patience();
    std::vector<std::uint32_t> node_of_;
    bool first_ = false;  ///< of its node
    std::mutex one_;      ///< thread speaks at a time
};

} // namespace towline::job::launch
