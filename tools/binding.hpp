#pragma once
// Which cores ranks are bound to, in the order of the machine's topology.

#include "run.hpp"

#include <vector>

namespace towline::tools {

/// The allowed parts of the machine of one kind, neighbours in the topology next to each other; each is the list of its allowed hardware
/// threads. Without a usable topology every allowed cpu is a core and a hardware thread, and all together are one NUMA node and one socket.
[[nodiscard]] std::vector<std::vector<int>> allowed_units(unit);

/// The same, of cores.
[[nodiscard]] std::vector<std::vector<int>> allowed_cores();

/// The units to which `ranks` ranks are bound. Ranks are distributed cyclically over the units of `map` (none: those of `bind`); ranks on
/// the same unit cyclically over the units of `bind` inside it. Empty for unit::none.
[[nodiscard]] std::vector<std::vector<int>> places_of(int ranks, unit bind, unit map);

/// Binds the calling thread.
bool bind_to(std::vector<int> const& cpus) noexcept;

} // namespace towline::tools
