#pragma once
// The hardware resources that this process is bound to (9.1.2).

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace towline::mpi {

/// Returns the first line of a file; nothing if the file does not exist.
using line_reader = std::function<std::optional<std::string>(std::string const& path)>;

/// Every type of hardware resource of the machine, in the order of hardware_resources; and the first processor of the one resource of that
/// type that contains all of the given processors, or nothing if no single one does.
[[nodiscard]] std::vector<std::pair<std::string, std::optional<int>>> hardware_instances(std::vector<int> const& processors,
                                                                                         line_reader const& read);
/// The same for this process on this machine.
[[nodiscard]] std::vector<std::pair<std::string, std::optional<int>>> hardware_instances();

/// Every type of hardware resource of the machine, by hwloc's name, the largest first; and whether all of the processors are in one
/// resource of that type. `read` reads /sys; tests pass invented machines.
[[nodiscard]] std::vector<std::pair<std::string, bool>> hardware_resources(std::vector<int> const& processors, line_reader const& read);

} // namespace towline::mpi
