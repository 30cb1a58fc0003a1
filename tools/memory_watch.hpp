#pragma once
// Detects whether a process was killed because memory ran out.

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

namespace towline::tools {

class memory_watch {
public:
    /// Notes what the kernel has killed so far.
    memory_watch();

    /// Words for why a process was killed by SIGKILL, to stand behind "was killed by ...": what the kernel has killed since the last time,
    /// in our cgroup, in that of `zombie` (0: not known), or on the machine. Empty where nothing points to memory.
    [[nodiscard]] std::string why(pid_t zombie = 0);

private:
    std::optional<std::uint64_t> in_cgroup_;
    std::optional<std::uint64_t> on_machine_;
};

} // namespace towline::tools
