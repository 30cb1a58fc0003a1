// On-loading: a helper thread, on a core that is spare, copies big blocks and makes progress while the program computes.
//
// Copies: a fetch that may lag is a task of the copy engine. Its end comes by a poll, on whichever thread; a thread that waits helps
// with the copy meanwhile. What the helper itself receives it copies in place, as any other poller: it has nothing better to do.
//
// Progress: while others poll the helper stays out of their way (as the background thread does: background.cpp). When a large transfer has
// begun (attend) and nobody polls, it polls: without a pause on a core of its own; elsewhere it soon sleeps where senders wake it.

#include "engine/impl.hpp"

#include "base/clock.hpp"
#include "base/idle.hpp"
#include "base/log.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <sched.h>

namespace towline::engine {

using job::counter;
using std::chrono::nanoseconds;

void engine::impl::start_onload()
{
    if (!config.onload.on || config.one_thread || config.event == nullptr)
        return;
    onload::helper_options o;
    o.thread_name = "towline helper";
    o.spin = nanoseconds::zero();  // idle_helper knows when to sleep
    o.context = this;
    o.ended = [](void* self) { static_cast<impl*>(self)->wake(); };
    o.call_back = o.ended;
    o.idle = [](void* self) { return static_cast<impl*>(self)->idle_helper(); };
    // The thread may call idle_helper before `helper` is set: it polls nothing until then.
    auto made = onload::open(config.onload, o);
    if (!made->caps().own_pace)
        return;  // said by `open`; copies in place need no engine
    copier = std::move(made);
    helper_started.store(dynamic_cast<onload::helper_engine*>(copier.get()), std::memory_order_release);
    helper = helper_started.load(std::memory_order_relaxed);
}

// Copies.

bool engine::impl::submit_copy(message_state*& s, std::size_t block, void* destination)
{
    block_state& b = s->blocks[block];
    bool const attached = b.how == wire::how::attached;
    if (copier == nullptr || b.size < config.onload_least || helper->on_helper() || closed.load(std::memory_order_relaxed))
        return false;
    pid_t const pid = attached && config.xpmem == nullptr ? readable_process(s->source) : 0;
    if (attached ? pid == 0 : !b.in_reach() || b.how == wire::how::inside)
        return false;
    // Who waits copies together with the sender, as without on-loading; who does not goes on.
    if (!attached && wait_hold::inside(*this) && may_cooperate(*s, b, destination))
        return false;
    message_state* const stays = s->on_heap ? s : s->promote();
    auto job = std::make_unique<copy_job>(copy_job{stays, block, destination});
    block_state const& there = stays->blocks[block];
    onload::range const range{destination, there.data, there.size};
    stays->running.fetch_add(1, std::memory_order_relaxed);
    onload::ticket const n = copier->submit({.ranges = {&range, 1},
                                             .where = attached ? onload::reach::reads_peer : onload::reach::here,
                                             .pid = pid,
                                             .context = job.get()});
    s = stays;
    if (n == 0) {
        stays->running.fetch_sub(1, std::memory_order_relaxed);
        return false;
    }
    (void)job.release();
    return true;
}

int engine::impl::poll_copies()
{
    std::array<onload::completion, 8> ends;
    std::size_t const n = copier->poll(ends);
    for (std::size_t i = 0; i < n; ++i)
        copy_ended(ends[i]);
    return static_cast<int>(n);
}

void engine::impl::copy_ended(onload::completion const& end)
{
    std::unique_ptr<copy_job> const job(static_cast<copy_job*>(end.context));
    message_state& s = *job->state;
    block_state& b = s.blocks[job->block];
    counts.add(counter::bytes_onloaded, end.onloaded);
    if (ways_told && end.error == 0) [[unlikely]]
        ways_told.arrives(s.source, arrival::onloaded, b.size);
    if (end.error == 0) {
        if (b.how == wire::how::attached) {
            b.counted = true;
            counts.block(counter::copied_once, counter::bytes_copied_once, b.size);
            counts.add(counter::bytes_cma, b.size);
        } else {
            count_block(*this, b, true);
        }
        return fetch_ended(s, true);
    }
    if (b.how == wire::how::attached && end.error != ECANCELED && !closed.load(std::memory_order_relaxed)) {
        // The fetch goes on in another way before this one ends.
        cannot_read(s, b, b.size - end.bytes, end.error);
        start_pull(s, job->block, job->destination);
        return fetch_ended(s, true);
    }
    b.counted = true;
    fetch_ended(s, false);
}

// Progress.

nanoseconds engine::impl::idle_helper()
{
    onload::helper_engine* const self = helper_started.load(std::memory_order_acquire);
    if (self == nullptr)
        return thresholds::watch_first;
    if (closed.load(std::memory_order_acquire))
        return nanoseconds::max();
    helper_view& v = helper_sees;
    std::int64_t const now = base::monotonic_ns();
    if (std::uint64_t const told = attended.load(std::memory_order_acquire); told != v.attended) {
        v.attended = told;
        v.attentive_until = now + thresholds::attention.count();
    }
    std::uint64_t const polls = foreground_polls.load(std::memory_order_relaxed);
    bool const others = polls != v.polls;
    if (now < v.attentive_until || copier->ready()) {
        v.polls = polls;
        v.nap = thresholds::watch_first;
        return poll_attentively(*self);
    }
    if (now < v.next_look)
        return nanoseconds(v.next_look - now);
    if (others) {
        auto const last = config.oversubscribed ? thresholds::watch_last_oversubscribed : thresholds::watch_last;
        v.polls = polls;
        v.next_look = now + v.nap.count();
        return std::exchange(v.nap, std::min(v.nap * 2, nanoseconds(last)));
    }
    v.nap = thresholds::watch_first;
    // As in watch(): one of the two sees the other.
    background_parked.store(true, std::memory_order_seq_cst);
    if (slow_waiters.load(std::memory_order_seq_cst) != 0)
        return nanoseconds::max();
    background_parked.store(false, std::memory_order_relaxed);
    take_over();
    v.polls = foreground_polls.load(std::memory_order_relaxed);
    v.next_look = base::monotonic_ns() + v.nap.count();
    return v.nap;
}

nanoseconds engine::impl::poll_attentively(onload::helper_engine& self)
{
    bool const alone = config.onload.own_core;
    if (!acquire_token()) {
        if (!alone)
            return thresholds::watch_first;
        for (int i = 0; i < 32; ++i)
            base::cpu_relax();
        return nanoseconds::zero();
    }
    step_aside.store(false, std::memory_order_relaxed);
    std::uint32_t idle = 0;
    auto const leave = [&] {
        return step_aside.load(std::memory_order_relaxed) || self.waiting() || self.stopping() || closed.load(std::memory_order_acquire);
    };
    for (; idle < thresholds::attentive_polls && !leave(); ++idle) {
        if (poll(thresholds::poll_budget, poller::background) != 0) {
            idle = 0;
            helper_sees.attentive_until = base::monotonic_ns() + thresholds::attention.count();
        } else if (idle > thresholds::eager_polls) {
            base::cpu_relax();
        }
    }
    bool const left = leave();
    release_token();
    if (left) {
        // Whoever asked for the token takes it now.
        for (int i = 0; i < 64 && !self.waiting(); ++i)
            base::cpu_relax();
        return nanoseconds::zero();
    }
    if (alone)
        return nanoseconds::zero();
    take_over();
    return nanoseconds::zero();
}

void engine::attend(transfer what) noexcept
{
    impl& m = *impl_;
    if (m.helper == nullptr || m.helper->on_helper() || (what == transfer::send && !m.config.onload.own_core))
        return;
    m.attended.fetch_add(1, std::memory_order_release);
    m.helper->wake();
}

bool engine::onloads() const noexcept
{
    return impl_->helper != nullptr;
}

} // namespace towline::engine
