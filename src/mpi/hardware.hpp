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

/// Every type of hardware resource that the machine tells of, as below; and the first processor of the one resource of that type in which
/// all of the processors lie. Nothing where there is no such one.
[[nodiscard]] std::vector<std::pair<std::string, std::optional<int>>> hardware_instances(std::vector<int> const& processors,
                                                                                         line_reader const& read);
/// The same of this process and this machine.
[[nodiscard]] std::vector<std::pair<std::string, std::optional<int>>> hardware_instances();

/// Every type of hardware resource that the machine tells of, by hwloc's name, the largest first; and whether all of the processors lie
/// in one resource of that type. `read` reads /sys; for tests with invented machines.
[[nodiscard]] std::vector<std::pair<std::string, bool>> hardware_resources(std::vector<int> const& processors, line_reader const& read);

} // namespace towline::mpi
