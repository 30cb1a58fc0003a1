// One thread that polls when nobody else does, so that a rank answers while its program computes.
//
// It watches: it sleeps 50 us and looks whether others polled meanwhile; while they do, it doubles its sleep up to about a millisecond.
// While a waiter sleeps, senders wake that waiter, so this thread is not needed and parks until the waiter leaves its wait (only if the
// waiter slept through a whole look, so that short sleeps do not wake two threads).
// When nobody polled since its last look it takes over: it polls and sleeps on the event count, where senders wake it, until
// others poll again. So an idle process sleeps for good, and senders pay nothing while somebody polls.

#include "engine/impl.hpp"

#include "base/idle.hpp"
#include "base/threads.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <system_error>

namespace towline::engine {

void engine::impl::start_background()
{
    // The program's signals are for the program's threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int refused = 0;
    try {
        background = std::thread([this] { watch(); });
    } catch (std::system_error const& e) {
        refused = e.code().value();
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (refused != 0)
        throw base::no_thread("the thread that answers while the program computes", refused);
    pthread_setname_np(background.native_handle(), "towline");
}

void engine::impl::stop_background() noexcept
{
    if (in_child())
        return;
    if (helper != nullptr)
        helper->retire();
    if (!background.joinable())
        return;
    {
        std::lock_guard lock(background_mutex);
        background_stop.store(true, std::memory_order_release);
    }
    background_changed.notify_all();
    wake();
    background.join();
}

void engine::impl::unpark() noexcept
{
    if (!background_parked.load(std::memory_order_seq_cst))
        return;
    if (helper != nullptr) {
        background_parked.store(false, std::memory_order_relaxed);
        return helper->wake();
    }
    {
        std::lock_guard lock(background_mutex);
        background_parked.store(false, std::memory_order_relaxed);
    }
    background_changed.notify_all();
}

void engine::impl::watch()
{
    auto const last = config.oversubscribed ? thresholds::watch_last_oversubscribed : thresholds::watch_last;
    auto nap = thresholds::watch_first;
    std::uint64_t seen = foreground_polls.load(std::memory_order_relaxed);
    std::unique_lock lock(background_mutex);
    auto const stopped = [this] { return background_stop.load(std::memory_order_acquire); };
    while (!stopped()) {
        background_changed.wait_for(lock, nap, stopped);
        std::uint64_t const now = foreground_polls.load(std::memory_order_relaxed);
        if (now != seen) {
            seen = now;
            nap = std::min(nap * 2, last);
            continue;
        }
        // Said before the look at the waiters, as they leave before they look at it: one of the two sees the other.
        background_parked.store(true, std::memory_order_seq_cst);
        bool const covered = slow_waiters.load(std::memory_order_seq_cst) != 0;
        if (covered)
            background_changed.wait(lock, [&] { return stopped() || !background_parked.load(std::memory_order_relaxed); });
        background_parked.store(false, std::memory_order_relaxed);
        if (covered) {
            nap = thresholds::watch_first;
            continue;
        }
        lock.unlock();
        take_over();
        lock.lock();
        seen = foreground_polls.load(std::memory_order_relaxed);
        nap = thresholds::watch_first;
    }
}

void engine::impl::take_over()
{
    struct watched {
        impl& m;
        std::uint64_t seen;
        onload::helper_engine* helper;  ///< whose thread this is; null: it is the background thread
        [[nodiscard]] bool others() const noexcept
        {
            return m.foreground_polls.load(std::memory_order_relaxed) != seen || m.background_stop.load(std::memory_order_acquire) ||
                   (helper != nullptr && (helper->waiting() || helper->stopping() ||
                                          m.attended.load(std::memory_order_relaxed) != m.helper_sees.attended));
        }
    } w{*this, foreground_polls.load(std::memory_order_relaxed), helper_started.load(std::memory_order_relaxed)};
    bool timed_out = false;
    while (!w.others() && !closed.load(std::memory_order_acquire)) {
        if (!acquire_token())
            return;
        step_aside.store(false, std::memory_order_relaxed);
        for (std::uint32_t idle = 0; idle < thresholds::background_spins + thresholds::background_yields; ++idle) {
            if (poll(thresholds::poll_budget, poller::background) != 0)
                idle = 0;
            if (step_aside.load(std::memory_order_relaxed) || w.others())
                break;
            if (idle < thresholds::background_spins)
                base::cpu_relax();
            else
                ::sched_yield();
        }
        look_for_deaths();
        release_token();
        if (step_aside.load(std::memory_order_relaxed) || w.others())
            return;
        // While calls run that nobody waits with, somebody may want to know of them.
        auto const look = outside_look.load(std::memory_order_acquire);
        bool const again = look != nullptr && look(long_wait_context, timed_out);
        std::chrono::nanoseconds const limit = again ? thresholds::heartbeat : std::chrono::nanoseconds::max();
        timed_out = !sleep([](void* c) { return static_cast<watched*>(c)->others(); }, &w, nullptr, limit);
    }
}

} // namespace towline::engine
