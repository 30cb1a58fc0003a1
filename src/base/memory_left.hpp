#pragma once
// What a cgroup's limit on memory leaves.

#include "base/machine.hpp"

#include <cstdint>
#include <optional>

namespace towline::base {

/// Bytes that this process's cgroup and those above it may still take (the least of them). Memory that the kernel can reclaim (file pages,
/// not shared memory) and the swap that the cgroup may use count as left. Nothing if there is no limit. Reads some files: about 100 us.
[[nodiscard]] std::optional<std::uint64_t> memory_left();

namespace cgroup {
/// The parser behind it; `free_swap` is the machine's, in bytes.
[[nodiscard]] std::optional<std::uint64_t> memory_left(source const&, std::uint64_t free_swap);
} // namespace cgroup

} // namespace towline::base
