#pragma once
// The copy engine with a thread of its own.
//
// The thread sleeps on a futex while there is nothing to do; only submit (and `wake`) wakes it: about 1 us for the submitter then, 7 for
// the thread. After work it spins for a moment, so that a stream of tasks costs no wake-ups. It blocks every signal: those are for the
// program's threads.

#include "onload/copy_engine.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace towline::onload {

struct helper_options {
    std::vector<int> cores{};               ///< the thread runs on these only; empty: where its maker may run
    std::uint32_t slots = 64;               ///< tasks under way at most; a power of two
    std::uint64_t chunk = 128 * 1024;       ///< bytes that a thread claims at a time, when two copy
    std::chrono::nanoseconds spin = std::chrono::microseconds{20};  ///< after work, before it sleeps
    char const* thread_name = "towline copies";                     ///< at most 15 characters
    /// Called on the helper's thread after ends were signalled: wakes whoever polls. Null: nobody sleeps.
    void (*ended)(void* context) = nullptr;
    /// Called on the helper's thread while it has no task, for other work on this core. Returns how long the thread may sleep (zero: call
    /// again immediately, max: until a task or `wake`). Must return soon after `waiting` or `stopping` becomes true. Null: none.
    std::chrono::nanoseconds (*idle)(void* context) = nullptr;
    /// Called by submit after the task is in the queue, where `idle` is running: it may sleep somewhere else. Null: it does not.
    void (*call_back)(void* context) = nullptr;
    void* context = nullptr;
};

class helper_engine : public copy_engine {
public:
    /// There is a task that has not been looked at. Any thread.
    [[nodiscard]] virtual bool waiting() const noexcept = 0;
    /// Has `idle` called again soon, also if the thread sleeps. Any thread; no system call if it does not.
    virtual void wake() noexcept = 0;
    /// Ends the thread. What is under way is left to `help` and `stop`; submit says busy. Other threads may be inside calls.
    virtual void retire() noexcept = 0;
    /// True once the thread is asked to end: `idle` returns soon then.
    [[nodiscard]] virtual bool stopping() const noexcept = 0;
    /// The calling thread is the helper of this engine.
    [[nodiscard]] virtual bool on_helper() const noexcept = 0;
};

/// Starts the thread. Null, and `why_not` says why, if it cannot be started or may not run on those cores.
[[nodiscard]] std::unique_ptr<helper_engine> start_helper(helper_options const&, std::string& why_not);

} // namespace towline::onload
