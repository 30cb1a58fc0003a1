#pragma once
// How an agent is started on another host: by ssh, or by what the user named; and which hosts start it on which others.

#include "frames.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace towline::tools {

/// A process that leads to an agent, and the stream through it.
struct lead {
    pid_t pid = -1;                 ///< of its own session
    std::unique_ptr<channel> link;
};

/// Starts an agent on that host. `shell`: the user's command; empty: ssh. `here`: by itself, as the host is this machine. `command`: ours,
/// in front of errors. Throws system_error.
[[nodiscard]] lead reach(std::string const& host, std::string const& shell, bool here, std::string const& command);
/// What was run for that, for people.
[[nodiscard]] std::string how_reached(std::string const& host, std::string const& shell, bool here);
/// Closes the stream, without which an agent ends all that it started, and waits for the process; after 3 s it is killed.
void leave_host(lead&);

/// At most so many agents are started by the front, or by ssh from it: it needs two descriptors and a process for each.
inline constexpr std::size_t most_leads = 16;
inline constexpr std::uint32_t by_front = ~std::uint32_t{0};
/// Who starts the agent of each host: another host, which stands before it, or the front. `here`: hosts that are this machine, which the
/// front starts in any case. Of the others it starts the first `most_leads`, and these the rest, by turns.
[[nodiscard]] std::vector<std::uint32_t> starters(std::vector<bool> const& here);

} // namespace towline::tools
