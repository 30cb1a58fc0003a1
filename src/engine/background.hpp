#pragma once
// The background thread: polls when no other thread does, so that a rank answers while its program computes.
//
// It watches: it sleeps 50 us, then looks whether other threads polled meanwhile; while they do, it doubles its sleep up to about a
// millisecond. While a waiter sleeps, senders wake that waiter: the background thread is not needed, and parks until the waiter leaves its
// wait (only if the waiter slept through a whole look, so that a short sleep does not wake two threads). When none polled since its last
// look it takes over: it polls, and sleeps on the event count, where senders wake it, until other threads poll again. So an idle process
// sleeps for good, and senders pay nothing while another thread polls.
//
// The helper thread (onloading) takes its place where there is one, and uses `parks` and `take_over`.

#include "engine/poller.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace towline::engine {

class background {
public:
    explicit background(poller& p) : poller_(p) {}

    /// Throws base::no_thread.
    void start();
    /// Before the end, whether it was started or not; more than once does nothing.
    void stop() noexcept;
    /// In a forked child, which does not have the thread: the destructor must not join it.
    void forget_thread() noexcept;
    /// A waiter that has slept leaves its wait: the parked thread goes on.
    void unpark() noexcept;

    // The background thread, or the helper in its place.

    /// Parks, if a sleeping waiter has the senders wake it: `unpark` ends that. False: there is none.
    [[nodiscard]] bool parks() noexcept;
    /// Polls, and sleeps where senders wake this thread, until other threads poll, or `wanted` says that this one has something else to do.
    void take_over(bool (*wanted)(void* context) noexcept, void* context);

    /// engine::on_long_wait.
    std::atomic<bool (*)(void*, bool)> outside_look{nullptr};

private:
    void watch();

    poller& poller_;
    std::thread thread_;
    std::mutex mutex_;  ///< for `changed_`; held by the thread but while it sleeps or takes over
    std::condition_variable changed_;
    std::atomic<bool> stop_{false};
    std::atomic<bool> parked_{false};
};

} // namespace towline::engine
