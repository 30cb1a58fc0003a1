#pragma once
// All sizes and counts by which remote calls choose.

#include <cstddef>

namespace towline::remoting::thresholds {

/// A worker unpacks rows of a team's operation from this size on, because that takes longer than waking one (about 10 us).
inline constexpr std::size_t unpacks_long = std::size_t{64} << 10;
/// Fibers that are kept with their stacks: more than the tasks that a call to all ranks suspends.
inline constexpr unsigned kept_fibers = 64;
/// Most fibers that a watchdog report visits, under the lock of the pool.
inline constexpr std::size_t fibers_told = 1000;
/// While tasks are suspended, a worker without a task polls so often before it sleeps: about the time of a wake-up. It yields after each
/// poll in an oversubscribed job, else after every `polls_per_yield`.
inline constexpr int suspended_polls = 400, suspended_polls_oversubscribed = 4;
inline constexpr int polls_per_yield = 16;

} // namespace towline::remoting::thresholds
