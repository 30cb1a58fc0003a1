// The background thread: polls when no other thread does.

#include "engine/background.hpp"

#include "base/idle.hpp"
#include "base/threads.hpp"

#include <algorithm>
#include <new>
#include <system_error>

#include <pthread.h>
#include <sched.h>
#include <signal.h>

namespace towline::engine {

void background::start()
{
    // The program's signals are for the program's threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int refused = 0;
    try {
        thread_ = std::thread([this] { watch(); });
    } catch (std::system_error const& e) {
        refused = e.code().value();
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (refused != 0)
        throw base::no_thread("the thread that answers while the program computes", refused);
    pthread_setname_np(thread_.native_handle(), "towline");
}

void background::stop() noexcept
{
    if (poller_.in_child())
        return;
    stop_.store(true, std::memory_order_release);
    if (poller_.helper != nullptr)
        poller_.helper->retire();
    if (!thread_.joinable())
        return;
    {
        std::lock_guard lock(mutex_);
    }
    changed_.notify_all();
    poller_.wake();
    thread_.join();
}

void background::forget_thread() noexcept
{
    if (thread_.joinable())
        new (&thread_) std::thread;
}

void background::unpark() noexcept
{
    if (!parked_.load(std::memory_order_seq_cst))
        return;
    if (poller_.helper != nullptr) {
        parked_.store(false, std::memory_order_relaxed);
        return poller_.helper->wake();
    }
    {
        std::lock_guard lock(mutex_);
        parked_.store(false, std::memory_order_relaxed);
    }
    changed_.notify_all();
}

bool background::parks() noexcept
{
    // A waiter leaves `slow_waiters` before it looks at `parked_`: one of the two threads sees the other's store.
    parked_.store(true, std::memory_order_seq_cst);
    if (poller_.slow_waiters.load(std::memory_order_seq_cst) != 0)
        return true;
    parked_.store(false, std::memory_order_relaxed);
    return false;
}

void background::watch()
{
    auto const last = poller_.config.oversubscribed ? thresholds::watch_last_oversubscribed : thresholds::watch_last;
    auto nap = thresholds::watch_first;
    std::uint64_t seen = poller_.foreground_polls.load(std::memory_order_relaxed);
    std::unique_lock lock(mutex_);
    auto const stopped = [this] { return stop_.load(std::memory_order_acquire); };
    while (!stopped()) {
        changed_.wait_for(lock, nap, stopped);
        std::uint64_t const now = poller_.foreground_polls.load(std::memory_order_relaxed);
        // A thread that yields its core polls as soon as it has one again: nobody would poll sooner.
        if (now != seen || poller_.yielding_waiters.load(std::memory_order_relaxed) != 0) {
            seen = now;
            nap = std::min(nap * 2, last);
            continue;
        }
        nap = thresholds::watch_first;
        if (parks()) {
            changed_.wait(lock, [&] { return stopped() || !parked_.load(std::memory_order_relaxed); });
            parked_.store(false, std::memory_order_relaxed);
            continue;
        }
        lock.unlock();
        take_over([](void*) noexcept { return false; }, nullptr);
        lock.lock();
        seen = poller_.foreground_polls.load(std::memory_order_relaxed);
    }
}

void background::take_over(bool (*wanted)(void* context) noexcept, void* context)
{
    struct watched {
        background& b;
        bool (*wanted)(void*) noexcept;
        void* context;
        std::uint64_t seen;
        [[nodiscard]] bool leaves() const noexcept
        {
            return b.poller_.foreground_polls.load(std::memory_order_relaxed) != seen || b.stop_.load(std::memory_order_acquire) ||
                   wanted(context);
        }
    } w{*this, wanted, context, poller_.foreground_polls.load(std::memory_order_relaxed)};
    bool timed_out = false;
    while (!w.leaves() && !poller_.closed.load(std::memory_order_acquire)) {
        if (!poller_.acquire_token_for_others())
            return;
        for (std::uint32_t idle = 0; idle < thresholds::background_spins + thresholds::background_yields; ++idle) {
            if (poller_.poll(thresholds::poll_budget, poller::caller::background) != 0)
                idle = 0;
            if (poller_.step_aside.load(std::memory_order_relaxed) || poller_.has_deferred() || w.leaves())
                break;
            if (idle < thresholds::background_spins)
                base::cpu_relax();
            else
                ::sched_yield();
        }
        poller_.look_for_deaths();
        bool const had_deferred = poller_.has_deferred();
        poller_.release_token_for_others();
        if (poller_.step_aside.load(std::memory_order_relaxed) || w.leaves())
            return;
        if (had_deferred)  // the release has run it: messages may have come meanwhile
            continue;
        // While calls run for which no thread waits, the program may want a look at them.
        auto const look = outside_look.load(std::memory_order_acquire);
        bool const again = look != nullptr && look(poller_.long_wait_context, timed_out);
        std::chrono::nanoseconds const limit = again ? thresholds::heartbeat : std::chrono::nanoseconds::max();
        timed_out = !poller_.sleep([](void* c) { return static_cast<watched*>(c)->leaves(); }, &w, nullptr, limit);
    }
}

} // namespace towline::engine
