#pragma once
// What the teams of a runtime share: the matcher, the memory of lanes, and the queue of nonblocking operations.

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
    /// Installs the matcher's handlers behind those of the runtime.
    explicit team_ground(runtime&);
    ~team_ground();
    team_ground(team_ground const&) = delete;
    team_ground& operator=(team_ground const&) = delete;

    [[nodiscard]] runtime& owner() noexcept { return owner_; }
    [[nodiscard]] matching::matcher& matcher() noexcept { return matcher_; }
    [[nodiscard]] collective::node_memory& memory() noexcept { return *memory_; }
    [[nodiscard]] collective::lane_queue& queue() noexcept { return queue_; }
    /// All ranks of the world; where new teams begin.
    [[nodiscard]] detail::team_core& everybody();

    /// The right to make a team. One thread at a time has it, because two could agree on the same number; throws usage_error for another
    /// one.
    class making {
    public:
        explicit making(team_ground&);
        ~making() { ground_.is_made_.store(false, std::memory_order_release); }
        making(making const&) = delete;
        making& operator=(making const&) = delete;

    private:
        team_ground& ground_;
    };
    /// The next number that no team of this rank has had; teams agree on the largest of their ranks'.
    [[nodiscard]] std::uint32_t next_number() const noexcept { return next_number_; }
    void take_number(std::uint32_t number) noexcept { next_number_ = number + 1; }

    /// It died, or left its world. From a poll.
    void peer_left(int rank);
    /// Another rank found a member of the team dead: calls `then` when this rank knows it, too, or when the world ends. False: it is known
    /// already, and `then` was dropped.
    [[nodiscard]] bool leave_until_death(detail::team_core const&, std::function<void()> then);

private:
    runtime& owner_;
    matching::matcher matcher_;
    std::unique_ptr<collective::node_memory> memory_;
    collective::lane_queue queue_;
    std::once_flag everybody_made_;
    std::unique_ptr<detail::team_core> everybody_;  ///< since the first team
    std::atomic<bool> is_made_{false};              ///< a team
    std::uint32_t next_number_ = 1;                 ///< 0 is everybody's
    struct untold {
        detail::team_core const* team;
        std::function<void()> then;
    };
    std::mutex untold_mutex_;
    std::vector<untold> untold_;
};

} // namespace towline::remoting
