#pragma once
// The agents that an agent has started on other hosts for the front, where these are many: what they and the front tell each other passes
// through this one.

#include "frames.hpp"
#include "reach.hpp"

#include <cstdint>
#include <map>
#include <poll.h>
#include <string>
#include <string_view>
#include <vector>

namespace towline::tools {

class branches {
public:
    /// Frames for the front go there.
    explicit branches(channel& front) : front_(front) {}
    ~branches();
    branches(branches const&) = delete;
    branches& operator=(branches const&) = delete;

    /// Starts the agents that the payload of a frame::start names. Throws where it cannot.
    void start(std::string const& payload);
    /// The payload of a frame::relay from the front: passes it on.
    void pass_down(std::string_view payload);
    /// Passes on what has come from the agents.
    void look();
    void watch(std::vector<pollfd>&) const;
    [[nodiscard]] bool any() const noexcept { return !all_.empty(); }
    /// The process has ended and was reaped, whichever it was.
    void reaped(pid_t) noexcept;
    /// Processes that lead to them.
    [[nodiscard]] std::vector<pid_t> leads() const;

private:
    void end(std::uint32_t number);

    channel& front_;
    std::map<std::uint32_t, lead> all_;  ///< by number of the host
};

/// What a frame::relay holds: a frame of, or for, that host.
[[nodiscard]] std::string relayed(std::uint32_t host, frame, std::string_view payload);
struct relayed_frame {
    std::uint32_t host = 0;
    frame kind{};
    std::string_view payload;
};
/// Throws where it holds none. The view is into the text.
[[nodiscard]] relayed_frame relayed_in(std::string_view text);

} // namespace towline::tools
