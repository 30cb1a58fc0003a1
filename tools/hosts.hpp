#pragma once
// Names of machines, as people write them for jobs.

#include "run.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace towline::tools {

/// The name of this machine.
[[nodiscard]] std::string own_name();

/// True if a name or a numeric address, perhaps with `:slots` behind it, means this machine. Uses no network.
[[nodiscard]] bool is_this_machine(std::string_view host);

/// Parses "a:2,b:4,c" into hosts and their numbers of ranks (0: not given). Repeated names add their slots. Throws usage_error.
[[nodiscard]] std::vector<host_slots> hosts_in(std::string_view list);
/// The same for the lines of a hostfile, a host with its slots: `host`, `host:4`, `host slots=4`; # begins a comment.
[[nodiscard]] std::vector<host_slots> slots_of_file(std::string_view text);

} // namespace towline::tools
