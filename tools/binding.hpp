#pragma once
// Which cores ranks are bound to, in the order of the machine's topology.

#include <vector>

namespace towline::tools {

/// The allowed cores, neighbours in the topology next to each other; each is the list of its allowed hardware threads.
/// Without a usable topology every allowed cpu is a core.
[[nodiscard]] std::vector<std::vector<int>> allowed_cores();

/// Binds the calling thread.
bool bind_to(std::vector<int> const& cpus) noexcept;

} // namespace towline::tools
