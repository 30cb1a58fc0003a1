// On-loading: a helper thread copies big blocks and makes progress while the program computes.

#include "engine/onloading.hpp"

#include "base/clock.hpp"
#include "base/idle.hpp"
#include "base/log.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace towline::engine {

using job::counter;
using std::chrono::nanoseconds;

void onloading::start()
{
    setup const& config = poller_.config;
    if (!config.onload.on || config.one_thread || config.event == nullptr)
        return;
    onload::helper_options o;
    o.thread_name = "towline helper";
    o.spin = nanoseconds::zero();  // `idle` knows when to sleep
    o.context = this;
    o.ended = [](void* self) { static_cast<onloading*>(self)->poller_.wake(); };
    o.call_back = o.ended;
    o.idle = [](void* self) { return static_cast<onloading*>(self)->idle(); };
    // The thread may call `idle` before helper_started_ is set: it polls nothing until then.
    auto made = onload::open(config.onload, o);
    if (!made->caps().own_pace)
        return;  // said by `open`; copies in place need no engine
    copier_ = std::move(made);
    auto* const helper = dynamic_cast<onload::helper_engine*>(copier_.get());
    poller_.copier = copier_.get();
    helper_started_.store(helper, std::memory_order_release);
    poller_.helper = helper;
}

void onloading::stop()
{
    if (copier_ == nullptr)
        return;
    copier_->stop();
    while (end_copies() != 0) {
    }
}

// Copies.

bool onloading::submit_copy(message_state*& s, std::size_t block, void* destination)
{
    block_state& b = s->blocks[block];
    bool const attached = b.how == wire::how::attached;
    setup const& config = poller_.config;
    if (copier_ == nullptr || b.size < config.onload_least || poller_.helper->on_helper() || poller_.closed.load(std::memory_order_relaxed))
        return false;
    pid_t const pid = attached && config.xpmem == nullptr ? attachments_.readable_process(s->source) : 0;
    if (attached ? pid == 0 : !b.in_reach() || b.how == wire::how::inside)
        return false;
    // A thread that waits copies together with the sender, as without on-loading.
    if (!attached && wait_hold::inside(poller_) && cooperation_.may_cooperate(*s, b, destination))
        return false;
    message_state* const stays = s->on_heap ? s : s->promote();
    auto job = std::make_unique<copy_job>(copy_job{stays, block, destination});
    block_state const& there = stays->blocks[block];
    onload::range const range{destination, there.data, there.size};
    stays->running.fetch_add(1, std::memory_order_relaxed);
    onload::ticket const n = copier_->submit({.ranges = {&range, 1},
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

int onloading::end_copies()
{
    std::array<onload::completion, 8> ends;
    std::size_t const n = copier_->poll(ends);
    for (std::size_t i = 0; i < n; ++i)
        copy_ended(ends[i]);
    return static_cast<int>(n);
}

void onloading::copy_ended(onload::completion const& end)
{
    std::unique_ptr<copy_job> const job(static_cast<copy_job*>(end.context));
    message_state& s = *job->state;
    block_state& b = s.blocks[job->block];
    ledger& counts = poller_.counts;
    counts.add(counter::bytes_onloaded, end.onloaded);
    if (end.error == 0)
        poller_.tell_arrival(s.source, arrival::onloaded, b.size);
    if (end.error == 0) {
        if (b.how == wire::how::attached) {
            b.counted = true;
            counts.block(counter::copied_once, counter::bytes_copied_once, b.size);
            counts.add(counter::bytes_cma, b.size);
        } else {
            b.count(counts, true);
        }
        return s.fetch_ended(true);
    }
    if (b.how == wire::how::attached && end.error != ECANCELED && !poller_.closed.load(std::memory_order_relaxed)) {
        // Another fetch of the same block begins before this one ends.
        attachments_.cannot_read(s, b, b.size - end.bytes, end.error);
        fetching_.start_pull(s, job->block, job->destination);
        return s.fetch_ended(true);
    }
    b.counted = true;
    s.fetch_ended(false);
}

// Progress.

bool onloading::is_wanted(onload::helper_engine const& self) const noexcept
{
    return self.waiting() || self.stopping();
}

void onloading::take_over()
{
    background_.take_over(
        [](void* c) noexcept {
            auto const& self = *static_cast<onloading*>(c);
            return self.is_wanted(*self.helper_started_.load(std::memory_order_relaxed)) ||
                   self.attended_.load(std::memory_order_relaxed) != self.seen_.attended;
        },
        this);
}

nanoseconds onloading::idle()
{
    onload::helper_engine* const self = helper_started_.load(std::memory_order_acquire);
    if (self == nullptr)
        return thresholds::watch_first;
    if (poller_.closed.load(std::memory_order_acquire))
        return nanoseconds::max();
    std::int64_t const now = base::monotonic_ns();
    if (std::uint64_t const told = attended_.load(std::memory_order_acquire); told != seen_.attended) {
        seen_.attended = told;
        seen_.attentive_until = now + thresholds::attention.count();
    }
    std::uint64_t const polls = poller_.foreground_polls.load(std::memory_order_relaxed);
    bool const others = polls != seen_.polls;
    if (now < seen_.attentive_until || copier_->ready()) {
        seen_.polls = polls;
        seen_.nap = thresholds::watch_first;
        return poll_attentively(*self);
    }
    if (now < seen_.next_look)
        return nanoseconds(seen_.next_look - now);
    if (others) {
        auto const last = poller_.config.oversubscribed ? thresholds::watch_last_oversubscribed : thresholds::watch_last;
        seen_.polls = polls;
        seen_.next_look = now + seen_.nap.count();
        return std::exchange(seen_.nap, std::min(seen_.nap * 2, nanoseconds(last)));
    }
    seen_.nap = thresholds::watch_first;
    if (background_.parks())
        return nanoseconds::max();
    take_over();
    seen_.polls = poller_.foreground_polls.load(std::memory_order_relaxed);
    seen_.next_look = base::monotonic_ns() + seen_.nap.count();
    return seen_.nap;
}

nanoseconds onloading::poll_attentively(onload::helper_engine& self)
{
    bool const alone = poller_.config.onload.own_core;
    if (!poller_.acquire_token_for_others()) {
        if (!alone)
            return thresholds::watch_first;
        for (int i = 0; i < thresholds::token_pauses; ++i)
            base::cpu_relax();
        return nanoseconds::zero();
    }
    auto const leaves = [&] {
        return poller_.step_aside.load(std::memory_order_relaxed) || is_wanted(self) || poller_.closed.load(std::memory_order_acquire);
    };
    for (std::uint32_t idle = 0; idle < thresholds::attentive_polls && !leaves() && !poller_.has_deferred(); ++idle) {
        if (poller_.poll(thresholds::poll_budget, poller::caller::background) != 0) {
            idle = 0;
            seen_.attentive_until = base::monotonic_ns() + thresholds::attention.count();
        } else if (idle > thresholds::eager_polls) {
            base::cpu_relax();
        }
    }
    bool const left = leaves();
    poller_.release_token_for_others();
    if (left) {
        for (int i = 0; i < thresholds::step_aside_pauses && !self.waiting(); ++i)
            base::cpu_relax();
        return nanoseconds::zero();
    }
    if (!alone)
        take_over();
    return nanoseconds::zero();
}

void onloading::attend(engine::transfer what) noexcept
{
    onload::helper_engine* const helper = poller_.helper;
    if (helper == nullptr || helper->on_helper() || (what == engine::transfer::send && !poller_.config.onload.own_core))
        return;
    attended_.fetch_add(1, std::memory_order_release);
    helper->wake();
}

} // namespace towline::engine
