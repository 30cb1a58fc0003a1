// Waits: poll and spin, then yield, then sleep. A thread that waits makes progress for the whole process.

#include "engine/packet_watch.hpp"
#include "engine/poller.hpp"

#include "base/clock.hpp"
#include "base/counting.hpp"
#include "base/idle.hpp"
#include "base/note.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include <sched.h>
#include <time.h>

namespace towline::engine {
namespace {

thread_local wait_hold* innermost_wait [[gnu::tls_model("initial-exec")]] = nullptr;

} // namespace

wait_hold::wait_hold(poller& e) noexcept : owner(e), outer(std::exchange(innermost_wait, this)) {}

wait_hold::~wait_hold()
{
    let_go();
    innermost_wait = outer;
}

bool wait_hold::inside(poller const& e) noexcept
{
    for (wait_hold const* h = innermost_wait; h != nullptr; h = h->outer) {
        if (&h->owner == &e)
            return true;
    }
    return false;
}

void wait_hold::let_go_outer(poller& e) noexcept
{
    for (wait_hold* h = innermost_wait; h != nullptr; h = h->outer) {
        if (&h->owner == &e)
            h->let_go();
    }
}

void poller::set_waiting_for(char const* what) noexcept
{
    base::write_note(config.waiting_for, what == nullptr ? "" : what);
}

void poller::tell_waiting(char const* what, wait_detail const* detail) noexcept
{
    if (detail != nullptr && detail->write != nullptr) {
        std::array<char, 192> text;
        detail->write(*detail, what, text);
        set_waiting_for(text.data());
    } else if (what != nullptr) {  // the background thread waits for nothing: it leaves the note to others
        set_waiting_for(what);
    }
}

bool poller::sleep(bool (*ready)(void*), void* context, char const* what, std::chrono::nanoseconds limit, wait_detail const* detail)
{
    if (config.event == nullptr) {
        ::sched_yield();
        return false;
    }
    base::event_count& event = *config.event;
    sleeps.fetch_add(1, std::memory_order_relaxed);
    tell_waiting(what, detail);
    wants_token_.fetch_add(1, std::memory_order_relaxed);  // ordered by the barrier in prepare_wait
    bool wishes = true;
    std::uint32_t const key = event.prepare_wait(config.fences);
    bool stay = !ready(context) && !closed.load(std::memory_order_acquire);
    if (stay && acquire_token()) {
        wants_token_.fetch_sub(1, std::memory_order_relaxed);
        wishes = false;
        for (auto const& t : config.transports) {
            stay = stay && t->arm();
            if (std::int64_t const at_most = t->sleep_limit_ns(); at_most >= 0)
                limit = std::min(limit, std::chrono::nanoseconds(at_most));
        }
        if (stay) {
            handler_scope const scope(*this);
            stay = poll_others() == 0;
        }
        release_token();
        stay = stay && !deaths_moved() && (copier == nullptr || !copier->ready());
        if (work.load(std::memory_order_acquire) != 0)
            limit = std::min(limit, thresholds::room_nap);
    }
    bool woken = true;
    if (stay) {
        if (packets != nullptr && !wishes)
            packets->arm();
        counts.add(job::counter::sleeps, 1);
        woken = event.wait(key, limit);
    } else {
        event.cancel_wait();
    }
    if (wishes)
        wants_token_.fetch_sub(1, std::memory_order_relaxed);
    if (what != nullptr)
        set_waiting_for(nullptr);
    return woken;
}

void poller::wake(berth& b) noexcept
{
    if (owed_since_.load(std::memory_order_relaxed) == 0 && is_crowded())
        owed_since_.store(base::monotonic_ns(), std::memory_order_relaxed);
    b.wake();
}

void poller::wake_berths() noexcept
{
    std::lock_guard const lock(berths_mutex_);
    for (berth* const b : berths_)
        b->wake();
}

void poller::pay_turn_slow() noexcept
{
    if (base::monotonic_ns() - owed_since_.load(std::memory_order_relaxed) < thresholds::turn.count())
        return;
    owed_since_.store(0, std::memory_order_relaxed);
    ::sched_yield();
}

/// Somebody else polls, or sleeps where senders wake it and polls then: it wakes this thread when its operation has ended. Should nobody,
/// because that thread has left its wait and computes, this one finds out: it looks from time to time. A thread that slept on the event
/// count wakes all when it leaves, so that they begin to look.
poller::berth_end poller::sleep_in_berth(char const* what, std::chrono::nanoseconds limit, wait_detail const& detail)
{
    berth& b = berth::mine();
    b.prepare();
    if (!detail.announce(detail, b))
        return berth_end::woken;
    {
        std::lock_guard const lock(berths_mutex_);
        berths_.push_back(&b);
    }
    in_berths_.fetch_add(1, std::memory_order_seq_cst);
    bool told = false;
    bool woken = false;
    std::chrono::nanoseconds slept{};
    auto nap = thresholds::berth_first;
    std::uint64_t seen = foreground_polls.load(std::memory_order_relaxed);
    counts.add(job::counter::sleeps, 1);
    for (;;) {
        bool const guarded = event_sleepers_.load(std::memory_order_seq_cst) != 0;
        auto const each = guarded ? limit - slept : std::min(limit - slept, nap * in_berths_.load(std::memory_order_relaxed));
        woken = b.sleep(each);
        slept += each;
        if (woken || slept >= limit || closed.load(std::memory_order_acquire))
            break;
        if (!told) {
            told = true;
            tell_waiting(what, &detail);
        }
        std::uint64_t const now = foreground_polls.load(std::memory_order_relaxed);
        if (now == std::exchange(seen, now) && event_sleepers_.load(std::memory_order_relaxed) == 0)
            break;  // nobody polls
        nap = std::min(nap * 2, thresholds::berth_last);
    }
    owed_since_.store(0, std::memory_order_relaxed);
    in_berths_.fetch_sub(1, std::memory_order_relaxed);
    {
        std::lock_guard const lock(berths_mutex_);
        berths_.erase(std::find(berths_.begin(), berths_.end(), &b));
    }
    detail.withdraw(detail);
    if (told)
        set_waiting_for(nullptr);
    return woken ? berth_end::woken : slept >= limit ? berth_end::timed_out : berth_end::unguarded;
}

/// A rank has its core for itself only while no other program runs there and the kernel puts no other rank on it. The duration of a yield
/// tells.
poller::neighbour poller::yield_core() noexcept
{
    if (config.oversubscribed) {
        ::sched_yield();
        return neighbour::passing;
    }
    std::int64_t const begin = base::monotonic_ns();
    ::sched_yield();
    std::int64_t const away = base::monotonic_ns() - begin;
    if (away > thresholds::own_turn.count()) {
        lone_yields_.store(0, std::memory_order_relaxed);
        if (!shares_core_.load(std::memory_order_relaxed))
            shares_core_.store(true, std::memory_order_relaxed);
        return away > thresholds::foreign_turn.count() ? neighbour::computing : neighbour::passing;
    }
    if (shares_core_.load(std::memory_order_relaxed)) {
        if (lone_yields_.fetch_add(1, std::memory_order_relaxed) < thresholds::lone_yields)
            return neighbour::passing;
        shares_core_.store(false, std::memory_order_relaxed);
    }
    return neighbour::none;
}

/// Flushes queued messages before a wait returns: they leave only when this process polls, and the program may not call again for long. A
/// peer that polls makes room soon. One that does not (`peer_is_away`) is waited for once, until the queues have been empty again.
void poller::flush_before_return(bool polls)
{
    if (peer_is_away.load(std::memory_order_relaxed))
        return;
    std::int64_t const until = base::monotonic_ns() + thresholds::flush_patience.count();
    while (queued_messages.load(std::memory_order_relaxed) != 0) {
        if (base::monotonic_ns() > until)
            return peer_is_away.store(true, std::memory_order_relaxed);
        if (!polls || poll(thresholds::poll_budget) == 0)
            ::sched_yield();
    }
}

bool poller::wait(bool (*ready)(void*), void* context, char const* what, std::chrono::nanoseconds timeout, wait_detail const* detail)
{
    require_open();
    if (in_handler())
        throw usage_error(fmt::format("a handler waits for {}: handlers run to completion, they may send but not wait", what));
    bool const has_berth = detail != nullptr && detail->announce != nullptr && config.event != nullptr;
    if (config.cores != 0 && !config.one_thread)
        (void)berth::mine();
    bool const crowded = is_crowded();
    std::uint32_t spins = has_core() ? thresholds::spins : crowded && !config.oversubscribed ? thresholds::spins_crowded
                                                                                           : thresholds::spins_shared;
    bool const naps = packets != nullptr && config.ranks_per_core >= thresholds::napping_ranks;
    std::uint32_t const yields = naps ? std::max(thresholds::least_yields, thresholds::yields_before_naps / config.ranks_per_core)
                                 : config.oversubscribed ? thresholds::yields_oversubscribed : thresholds::yields;
    bool const spin_only = timeout == engine::only_spin;
    bool const timed = timeout != std::chrono::nanoseconds::max() && !spin_only;
    std::int64_t const end = timed ? base::monotonic_ns() + std::max<std::int64_t>(timeout.count(), 0) : 0;

    wait_hold::let_go_outer(*this);
    wait_hold held(*this);
    struct slow_wait {
        poller& m;
        bool begun = false;
        bool told = false;
        bool progressed = false;
        bool yields = false;
        bool guarded = false;  // others may have relied on this wait to poll
        long_wait about;  // nothing in it before `begun`
        explicit slow_wait(poller& p) noexcept : m(p) {}  // NOLINT: as it says
        void begin(char const* what, wait_detail const* detail)
        {
            if (std::exchange(begun, true))
                return;
            std::int64_t const now = base::monotonic_ns();
            about = {what, detail, now, now, false};
            m.slow_waiters.fetch_add(1, std::memory_order_seq_cst);
        }
        void set_yields(bool now) noexcept
        {
            if (std::exchange(yields, now) != now)
                base::add(m.yielding_waiters, now ? 1 : ~std::uint64_t{0}, m.config.one_thread);
        }
        void tell()
        {
            std::int64_t const now = base::monotonic_ns();
            if (std::exchange(progressed, false))
                about.quiet_ns = now;
            if (m.long_wait_function == nullptr || now - about.since_ns < thresholds::long_wait.count())
                return;
            told = true;
            m.long_wait_function(m.long_wait_context, about);
        }
        ~slow_wait()
        {
            set_yields(false);
            if (!begun)
                return;
            m.slow_waiters.fetch_sub(1, std::memory_order_seq_cst);
            m.waiter_left();
            m.counts.tell_active();
            if (guarded && m.in_berths_.load(std::memory_order_seq_cst) != 0)
                m.wake_berths();
            if (told) {
                about.ended = true;
                m.long_wait_function(m.long_wait_context, about);
            }
        }
    } slow(*this);

    bool look = false;
    bool yielded = false;  // other threads had this core meanwhile
    for (std::uint32_t idle = 0;;) {
        if (!held.token) {
            held.token = acquire_token();
            if (!held.token && !step_aside.load(std::memory_order_relaxed))
                step_aside.store(true, std::memory_order_relaxed);
        }
        bool const fresh = std::exchange(yielded, false);
        if (fresh && held.token)
            ask_sockets_next();
        if (fresh && ready(context)) {
            // Another process stored it in memory: no poll is needed, and other threads wait for this core.
        } else if (held.token && poll(thresholds::poll_budget) != 0) {
            idle = 0;
            slow.progressed = true;
            if (has_deferred())
                held.let_go();
        } else if (held.token && copier != nullptr && copier->help()) {  // two cores copy faster than one
            idle = 0;
        }
        if (ready(context)) {
            if (queued_messages.load(std::memory_order_relaxed) != 0) [[unlikely]]
                flush_before_return(held.token);
            if (owed_since_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
                held.let_go();
                pay_turn_slow();
            }
            return true;
        }
        if (++idle < spins) {
            // A poll takes as long as a short pause; a peer that answers within 2 us is found sooner without another.
            if (idle > thresholds::eager_polls)
                base::cpu_relax();
            if (timed && idle % thresholds::spins_per_clock == 0 && base::monotonic_ns() >= end)
                return false;
            continue;
        }
        require_open();
        if (spin_only)
            return false;
        std::chrono::nanoseconds limit = thresholds::heartbeat;
        if (timed) {
            std::int64_t const left = end - base::monotonic_ns();
            if (left <= 0)
                return false;
            limit = std::min(limit, std::chrono::nanoseconds(left));
        }
        if (held.token)
            look_for_deaths(std::exchange(look, false));
        // Another thread polls, or sleeps where senders wake it.
        if (has_berth && ((!held.token && idle >= spins + (crowded ? thresholds::yields_crowded : yields)) ||
                          (idle >= spins + yields && event_sleepers_.load(std::memory_order_relaxed) != 0))) {
            held.let_go();
            slow.set_yields(false);
            slow.begin(what, detail);
            auto const how = sleep_in_berth(what, limit, *detail);
            idle = how == berth_end::woken ? 0 : spins + yields;  // nothing is there: sleep again, perhaps where senders wake this thread
            look = look || (how == berth_end::timed_out && limit == thresholds::heartbeat);
            slow.tell();
            continue;
        }
        if (idle < spins + yields) {
            yielded = true;
            slow.set_yields(true);
            if (crowded)
                held.let_go();  // a thread that runs meanwhile may need it
            switch (yield_core()) {
            case neighbour::none: spins = thresholds::spins; break;
            case neighbour::passing: break;
            case neighbour::computing: idle = spins + yields; break;
            }
            continue;
        }
        if (naps && idle < spins + yields + thresholds::naps) {
            yielded = true;
            if (crowded)
                held.let_go();
            std::this_thread::sleep_for(thresholds::nap_for_each * config.ranks_per_core);
            continue;
        }
        held.let_go();
        slow.set_yields(false);
        slow.begin(what, detail);
        slow.guarded = true;
        event_sleepers_.fetch_add(1, std::memory_order_seq_cst);
        bool const woken = sleep(ready, context, what, limit, detail);
        event_sleepers_.fetch_sub(1, std::memory_order_seq_cst);
        if (woken) {
            idle = 0;  // something is there, or about to be
        } else {
            idle = spins + yields + (naps ? thresholds::naps : 0);  // nothing is: sleep again without a spin
            if (limit == thresholds::heartbeat)
                look = true;
        }
        slow.tell();
    }
}

} // namespace towline::engine
