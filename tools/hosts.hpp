#pragma once
// Names of machines, as people write them for jobs.

#include "run.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace towline::tools {

/// What this machine is called.
[[nodiscard]] std::string own_name();

/// Whether a name or a numeric address, perhaps with `:slots` behind it, means this machine. Asks nobody on a network.
[[nodiscard]] bool is_this_machine(std::string_view host);

/// "a:2,b:4,c" as hosts and how many ranks each takes (0: not told). A name that stands there again adds to its slots. Throws usage_error.
[[nodiscard]] std::vector<host_slots> hosts_in(std::string_view list);
/// The same of the lines of a hostfile, each a host and what is behind it: `host`, `host:4`, `host slots=4`; # begins a comment.
[[nodiscard]] std::vector<host_slots> slots_of_file(std::string_view text);

} // namespace towline::tools
