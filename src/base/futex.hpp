#pragma once
// futex(2) on words in shared memory: wakes across processes. Never the private form.

#include <atomic>
#include <chrono>
#include <cstdint>

namespace towline::base {

/// Sleeps while `word` holds `expected`, until woken, interrupted or timed out; false on timeout only.
/// A timeout of nanoseconds::max() (or more than 100 years) waits for ever; zero or less checks the word and returns.
bool futex_wait(std::atomic<std::uint32_t> const& word, std::uint32_t expected, std::chrono::nanoseconds timeout) noexcept;

/// Wakes up to `count` sleepers on `word`. One system call.
void futex_wake(std::atomic<std::uint32_t> const& word, int count) noexcept;
void futex_wake_all(std::atomic<std::uint32_t> const& word) noexcept;

} // namespace towline::base
