// The error of a thread that could not be started.

#include "base/threads.hpp"

#include "base/machine.hpp"

#include <cerrno>
#include <fmt/format.h>
#include <optional>
#include <sys/resource.h>

namespace towline::base {

std::string thread_limits()
{
    std::string user = "no limit now";
    if (rlimit l{}; ::getrlimit(RLIMIT_NPROC, &l) == 0 && l.rlim_cur != RLIM_INFINITY)
        user = fmt::format("{} now", l.rlim_cur);
    std::string group;
    if (auto const pids = cgroup::pids_bound(cgroup::this_process()))
        group = fmt::format(" ({} now)", pids->limit);
    return fmt::format("the limits are `ulimit -u` ({}; it counts threads of all processes of this user), pids.max of the pids cgroup{}, "
                       "and memory for stacks (`ulimit -v`, `ulimit -s`)",
                       user, group);
}

system_error no_thread(std::string_view which, int error)
{
    return system_error(error == EAGAIN || error == ENOMEM
                            ? fmt::format("cannot start {}: the system allows no more threads; {}", which, thread_limits())
                            : fmt::format("cannot start {}, a thread", which),
                        error);
}

} // namespace towline::base
