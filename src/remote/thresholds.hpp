#pragma once
// Every size and count by which remote calls choose, in one place.

#include <cstddef>

namespace towline::remoting::thresholds {

/// Rows of a team's operation of at least so many bytes are unpacked by a worker: that takes longer than waking one (about 10 us).
inline constexpr std::size_t unpacks_long = std::size_t{64} << 10;
/// Fibers that are kept with their stacks: more than tasks are suspended in a call that asks every rank for something.
inline constexpr unsigned kept_fibers = 64;
/// Fibers that a look for people goes through, under the lock of the pool.
inline constexpr std::size_t fibers_told = 1000;
/// Polls of a worker without a task, while tasks are suspended, before it sleeps: about what a wake-up costs. In an oversubscribed job it
/// yields after each; else after so many.
inline constexpr int suspended_polls = 400, suspended_polls_oversubscribed = 4;
inline constexpr int polls_per_yield = 16;

} // namespace towline::remoting::thresholds
