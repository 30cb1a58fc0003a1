#pragma once
// Names of machines, as people write them for jobs.

#include <string>
#include <string_view>
#include <vector>

namespace towline::tools {

/// What this machine is called.
[[nodiscard]] std::string own_name();

/// Whether a name or a numeric address, perhaps with `:slots` behind it, means this machine. Asks nobody on a network.
[[nodiscard]] bool is_this_machine(std::string_view host);

/// The machines of a hostfile: the first word of each line, but for comments (#).
[[nodiscard]] std::vector<std::string> hosts_of_file(std::string_view text);

} // namespace towline::tools
