#pragma once
// The jobs that run on this machine, as far as this user may look: found by the job file that their processes hold, and read without
// disturbing them.

#include "base/unique_fd.hpp"
#include "job/control.hpp"
#include "job/file.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace towline::tools {

/// The control block of a running job, mapped to read.
class job_window {
public:
    /// Throws error where it is no job file that this version knows. The file may be hostile: what holds for the whole job is read once.
    explicit job_window(base::unique_fd);
    job_window(job_window const&) = delete;
    job_window& operator=(job_window const&) = delete;
    ~job_window();
    [[nodiscard]] std::uint32_t size() const noexcept { return about_.size; }
    [[nodiscard]] std::string const& id() const noexcept { return about_.id; }
    [[nodiscard]] std::uint32_t node() const noexcept { return about_.node; }
    [[nodiscard]] std::uint32_t nodes() const noexcept { return about_.nodes; }
    [[nodiscard]] std::vector<std::string> const& hosts() const noexcept { return about_.hosts; }
    /// Asks the other nodes what their ranks wait for, and blocks until they have answered, or for that time; the question's number
    /// (job/questions.hpp). 0, and says why on standard error, where the job file may not be written.
    [[nodiscard]] std::uint32_t ask_others(std::chrono::nanoseconds at_most) const;
    [[nodiscard]] std::span<job::rank_slot const> slots() const noexcept
    {
        return {reinterpret_cast<job::rank_slot const*>(header_ + 1), about_.size};
    }

private:
    base::unique_fd file_;
    job::checked_header about_;
    job::control_header const* header_ = nullptr;
    std::size_t bytes_ = 0;
};

struct running_job {
    std::shared_ptr<job_window> window;
    std::string id;
    pid_t launcher = 0;          ///< whom the user started; a program without a launcher: itself
    bool launched = false;
    std::vector<pid_t> pids;     ///< of all processes that hold a job file of it, the launcher, and what stands between
    std::string command;         ///< of the launcher; printable
    double seconds = 0;          ///< since it was started
};

/// By age, the oldest first.
[[nodiscard]] std::vector<running_job> running_jobs();

} // namespace towline::tools
