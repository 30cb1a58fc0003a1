// The polling token, one round of polling, and receives that take their message before any handler.

#include "engine/impl.hpp"

#include "base/clock.hpp"
#include "base/idle.hpp"

#include <towline/error.hpp>

#include <sched.h>

namespace towline::engine {

void poller::release_token() noexcept
{
    token_.release();
    token_is_free();
}

void poller::token_is_free() noexcept
{
    if (config.event != nullptr)
        wake_for_token();
    if (has_deferred()) [[unlikely]]
        run_deferred();
}

void poller::wake_for_token() noexcept
{
    // A thread that found the token held may be asleep. Either it saw the token free, or this thread sees its wish: it raised the wish
    // before its barrier (event_count::prepare_wait), and looked at the token after it. See event_count::notify for the fences.
    if (config.fences == base::fence_side::notifier_fences)
        wants_token_.fetch_add(0, std::memory_order_seq_cst);
    else
        std::atomic_signal_fence(std::memory_order_seq_cst);
    if (wants_token_.load(std::memory_order_relaxed) != 0) [[unlikely]]
        config.event->wake_all();
}

namespace {

/// The thread runs what was deferred. What that defers in turn, by polls of its own, comes after it: nothing nests without a bound.
thread_local bool runs_deferred [[gnu::tls_model("initial-exec")]] = false;

} // namespace

void poller::defer(void (*function)(void*), void* context)
{
    std::lock_guard const lock(deferred_mutex_);
    deferred_.push_back({function, context});
    deferred_waiting_.fetch_add(1, std::memory_order_relaxed);
}

void poller::run_deferred() noexcept
{
    if (runs_deferred || in_child())
        return;
    runs_deferred = true;
    if (in_berths_.load(std::memory_order_relaxed) != 0) {
        // They sleep because this thread polls.
        std::lock_guard const lock(berths_mutex_);
        if (!berths_.empty())
            berths_.back()->wake();
    }
    for (;;) {
        deferred_work next{};
        {
            std::lock_guard const lock(deferred_mutex_);
            if (deferred_.empty() || closed.load(std::memory_order_relaxed))
                break;
            next = deferred_.front();
            deferred_.pop_front();
            deferred_running_.fetch_add(1, std::memory_order_relaxed);
            deferred_waiting_.fetch_sub(1, std::memory_order_relaxed);
        }
        next.function(next.context);
        wake();
        deferred_running_.fetch_sub(1, std::memory_order_release);
    }
    runs_deferred = false;
}

void poller::outlast_deferred() noexcept
{
    while (!runs_deferred && deferred_running_.load(std::memory_order_acquire) != 0)
        ::sched_yield();
}

std::size_t poller::count_unweighted() const noexcept
{
    std::size_t n = 0;
    while (n < config.transports.size() && config.transports[n]->wait_descriptor() < 0)
        ++n;
    return n;
}

int poller::poll_transports(int budget)
{
    int n = 0;
    auto const& all = config.transports;
    for (std::size_t i = 0; i < first_weighted_; ++i)
        n += all[i]->poll(budget);
    if (first_weighted_ == all.size()) [[likely]]
        return n;
    // A poll of a socket is a system call. While it finds nothing it must not slow down a wait for another rank of this node.
    if (++unweighted_ % thresholds::polls_per_packet_poll != 0 && !packets_come_)
        return n;
    int found = 0;
    for (std::size_t i = first_weighted_; i < all.size(); ++i)
        found += all[i]->poll(budget);
    packets_come_ = found != 0;
    return n + found;
}

int poller::poll(int budget, caller who)
{
    int n = 0;
    {
        handler_scope const scope(*this);
        n = poll_transports(budget) + poll_others();
        if (work.load(std::memory_order_acquire) != 0) [[unlikely]]
            n += do_work();
        if (copier != nullptr && copier->ready()) [[unlikely]]
            n += end_copies();
    }
    if (who == caller::foreground)
        foreground_polls.store(foreground_polls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (n != 0) {
        idle_polls_ = 0;
        if (++busy_polls_ % thresholds::polls_per_publication == 0) {
            counts.publish();
            look_for_deaths();  // the living may never fall silent
        }
        // A handler may have made the condition of another thread's wait true.
        wake();
        return n;
    }
    ++idle_polls_;
    if (idle_polls_ % thresholds::polls_per_publication == 0)
        counts.publish();
    if (idle_polls_ % thresholds::idle_polls_per_death_look == 0)
        look_for_deaths();
    return 0;
}

bool poller::acquire_token_for_others() noexcept
{
    step_aside.store(false, std::memory_order_relaxed);
    polls_for_others.store(true, std::memory_order_relaxed);  // first: who finds the token taken looks here
    if (acquire_token())
        return true;
    polls_for_others.store(false, std::memory_order_relaxed);
    return false;
}

void poller::release_token_for_others() noexcept
{
    token_.release();
    polls_for_others.store(false, std::memory_order_release);  // only now: who finds the token taken looks here
    token_is_free();
}

/// A program that looks once at what has long come, by MPI_Test say, has to find it, though the background thread polls now.
bool poller::take_token_over() noexcept
{
    if (in_handler())
        return false;
    if (!polls_for_others.load(std::memory_order_acquire))
        return acquire_token();  // it may just have been given back
    step_aside.store(true, std::memory_order_relaxed);
    base::deadline const end(thresholds::take_over_patience);
    for (int i = 0; polls_for_others.load(std::memory_order_acquire) && !end.passed(); ++i) {
        if (acquire_token())
            return true;
        if (i < thresholds::step_aside_pauses)
            base::cpu_relax();
        else
            ::sched_yield();
    }
    return acquire_token();
}

int poller::progress(int budget)
{
    wait_hold::let_go_outer(*this);
    if (closed.load(std::memory_order_relaxed) || !(acquire_token() || take_token_over()))
        return 0;
    int const n = poll(budget);
    release_token();
    return n;
}

[[gnu::always_inline]] inline bool poller::take_next(peer from, transport::component& via,
                                                       bool (*take)(void*, handler_id, std::span<std::byte const>), void* context)
{
    using thresholds::looks_between_polls;
    std::uint32_t const looks = has_core() || (is_crowded() && !config.oversubscribed) ? thresholds::looks : 1;
    // A receiver of one message after the other must look at its other peers, too.
    if (busy_polls_ % looks_between_polls == 0 && poll(1) != 0)
        return false;
    transport::next_message next;
    for (std::uint32_t i = 1; i <= looks; ++i) {
        if (via.peek(from, next)) {
            if (next.id < wire::first_direct || !take(context, static_cast<handler_id>(next.id - wire::first_direct), next.payload))
                return false;
            via.pass();
            if (++busy_polls_ % looks_between_polls == 0)
                counts.publish();
            foreground_polls.store(foreground_polls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
            return true;
        }
        if (i % looks_between_polls == 0 && poll(1) != 0)
            return false;
    }
    return false;
}

bool engine::take_next(peer from, bool (*take)(void*, handler_id, std::span<std::byte const>), void* context)
{
    impl& m = *impl_;
    m.require_open();
    if (from >= m.config.size)
        return false;
    peer_state& p = m.peers[from];
    // Acquire: pairs with the thread that chose the transport.
    if (p.flags.load(std::memory_order_acquire) != peer_state::open) [[unlikely]] {
        try {
            (void)m.reach(from);
        } catch (error const&) {
            return false;
        }
        if (p.flags.load(std::memory_order_acquire) != peer_state::open)
            return false;
    }
    wait_hold::let_go_outer(m);
    if (!m.acquire_token())
        return false;
    bool const taken = m.take_next(from, *p.via, take, context);
    if (taken && m.queued_messages.load(std::memory_order_relaxed) != 0) [[unlikely]]
        m.flush_before_return(true);
    m.release_token();
    if (taken)
        m.pay_turn();
    return taken;
}

} // namespace towline::engine
