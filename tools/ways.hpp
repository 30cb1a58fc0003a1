#pragma once
// What the boards of a job say of the ways that its messages and blocks took (job/ways.hpp), for people and as JSON.

#include "job/ways.hpp"

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

namespace towline::tools {

/// A line for each kind and size of messages, and for each size of blocks, of all ranks together; each line ends with a line feed. Empty:
/// nothing was chosen.
[[nodiscard]] std::string ways_table(std::span<job::way_board const>);

/// {"messages": [{"kind", "bytes", "sent": {WAY: N, ...}, "ns": {WAY: N, ...}, "won": {WAY: N, ...}}, ...],
///  "blocks": [{"bytes", WAY: N, ...}, ...]} of one rank; only what is not 0. `bytes` is the largest size of the class.
[[nodiscard]] nlohmann::ordered_json ways_json(job::way_board const&);

} // namespace towline::tools
