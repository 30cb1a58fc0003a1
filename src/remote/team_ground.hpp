#pragma once
// The objects that the teams of a runtime share: the matcher, the memory of lanes, and the queue of nonblocking operations.

#include "collective/lanes/lane_queue.hpp"
#include "collective/lanes/node_memory.hpp"
#include "matching/matcher.hpp"

#include <towline/detail/team_api.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace towline::remoting {

class runtime;

class team_ground {
public:
    /// Installs the matcher's handlers after those of the runtime.
    explicit team_ground(runtime&);
    ~team_ground();
    team_ground(team_ground const&) = delete;
    team_ground& operator=(team_ground const&) = delete;

    [[nodiscard]] runtime& owner() noexcept { return owner_; }
    [[nodiscard]] matching::matcher& matcher() noexcept { return matcher_; }
    [[nodiscard]] collective::node_memory& memory() noexcept { return *memory_; }
    [[nodiscard]] collective::lane_queue& queue() noexcept { return queue_; }
    /// The team of all ranks of the world, on which new teams agree.
    [[nodiscard]] detail::team_core& everybody();

    /// The right to make a team, which one thread at a time has, because two threads could agree on the same number. Throws usage_error for
    /// a second thread.
    class making {
    public:
        explicit making(team_ground&);
        ~making() { ground_.is_made_.store(false, std::memory_order_release); }
        making(making const&) = delete;
        making& operator=(making const&) = delete;

    private:
        team_ground& ground_;
    };
    /// The next number that no team of this rank has had. Teams agree on the maximum over their ranks.
    [[nodiscard]] std::uint32_t next_number() const noexcept { return next_number_; }
    void take_number(std::uint32_t number) noexcept { next_number_ = number + 1; }

    /// The rank died, or left its world. Called from a poll.
    void peer_left(int rank);
    /// Another rank detected a death in the team: calls `then` when this rank knows of it, or when the world ends. False: it is known
    /// already, and `then` was dropped.
    [[nodiscard]] bool leave_until_death(detail::team_core const&, std::function<void()> then);

private:
    runtime& owner_;
    matching::matcher matcher_;
    std::unique_ptr<collective::node_memory> memory_;
    collective::lane_queue queue_;
    std::once_flag everybody_made_;
    std::unique_ptr<detail::team_core> everybody_;  ///< made with the first team
    std::atomic<bool> is_made_{false};              ///< a team exists
    std::uint32_t next_number_ = 1;                 ///< 0 is the number of everybody()
    struct untold {
        detail::team_core const* team;
        std::function<void()> then;
    };
    std::mutex untold_mutex_;
    std::vector<untold> untold_;
};

} // namespace towline::remoting
