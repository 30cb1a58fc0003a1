#pragma once
// What a cgroup's limit on memory leaves.

#include "base/machine.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace towline::base {

/// Bytes that this process's cgroup (or one above it) may still take, the least on the way up; what the kernel can drop (file pages, not
/// shared memory) and free swap count as left. Nothing where there is no limit. Reads some files: some 100 us.
[[nodiscard]] std::optional<std::uint64_t> memory_left();

namespace cgroup {
/// The parser behind it; `read_all` gives the whole of a file, empty where it cannot be read.
[[nodiscard]] std::optional<std::uint64_t> memory_left(source const&, std::string (*read_all)(char const* path));
} // namespace cgroup

} // namespace towline::base
