#pragma once
// What keepers of one job tell each other, by way of the front: the slots of their ranks, so that every node's job file says of all ranks
// whether they live, at which fence they are, and what stands on their cards.

#include "base/unique_fd.hpp"
#include "frames.hpp"
#include "job/file.hpp"

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace towline::tools {

/// This node, in a job of several.
struct node_part {
    std::uint32_t node = 0;
    std::vector<std::uint32_t> node_of;  ///< of each rank
    std::string id;                      ///< of the job
    std::array<std::byte, 32> key{};
    std::uint32_t beside = 0;            ///< job::control_header::beside
    std::string addresses;               ///< of this node, in digits, with commas between
    std::string host;                    ///< this node's name, as the user wrote it
    std::vector<std::string> hosts;      ///< those of all nodes
    int link = -1;                       ///< a socket, for the hub
};

/// The keeper's end. Its thread waits for ranks that have news; everything else is called by the keeper's thread.
class hub {
public:
    hub(node_part const&, job::control_view&);
    ~hub();
    hub(hub const&) = delete;
    hub& operator=(hub const&) = delete;

    /// Starts to watch; after the last fork.
    void start();
    /// What poll(2) should look at for reading: what came from elsewhere, and news of ranks here.
    [[nodiscard]] int link() const noexcept { return channel_.in(); }
    [[nodiscard]] int news() const noexcept { return news_.get(); }
    [[nodiscard]] bool unsent() const noexcept { return channel_.waiting() > 0; }

    /// Tells what changed in the slots of this node's ranks since it was told last.
    void tell();
    /// The job ends here with this exit code (not 0), so that it ends everywhere.
    void tell_end(int code);
    /// A rank has ended with this code, which does not end the job.
    void tell_code(int code);
    /// The counters of this node's ranks.
    void tell_counters();
    /// Blocks until what was told is on its way, at most a second.
    void finish();

    struct orders {
        bool end = false;      ///< the job ends: elsewhere something went wrong
        bool timeout = false;  ///< the same, as its time is over
        bool lost = false;     ///< there is no front any more
    };
    /// Takes over what came from elsewhere.
    orders look();

private:
    void take_slots(nlohmann::json const&);
    /// What another node asks, or what it answers.
    void take_question(nlohmann::json const&);

    struct told {
        std::uint32_t state = 0, fences = 0, marks = 0, card_bytes = 0;
        std::int32_t status = 0;
        bool operator==(told const&) const = default;
    };

    node_part const& part_;
    job::control_view& view_;
    channel channel_;
    std::vector<told> told_;
    std::uint32_t asked_ = 0;  ///< the last question from here that was passed on
    base::unique_fd news_;  ///< eventfd
    std::atomic<bool> stop_{false};
    std::thread watcher_;
};

/// Writes the counters that a keeper told into the slots of a view.
void take_counters(job::control_view&, std::string const& news);

} // namespace towline::tools
