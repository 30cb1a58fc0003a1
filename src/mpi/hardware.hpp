#pragma once
// The hardware that this process is held to (9.1.2).

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace towline::mpi {

/// First line of a file; nothing where there is none.
using line_reader = std::function<std::optional<std::string>(std::string const& path)>;

/// Every type of hardware resource that the machine tells of, by hwloc's name, the largest first; and whether all of the processors lie
/// in one resource of that type. `read` reads /sys; for tests with invented machines.
[[nodiscard]] std::vector<std::pair<std::string, bool>> hardware_resources(std::vector<int> const& processors, line_reader const& read);

} // namespace towline::mpi
