// Laid messages that both sides copy; docs/wire.md, "Matching", has the message.

#include "matching/laid_cooperation.hpp"

#include "base/idle.hpp"
#include "base/log.hpp"
#include "heap/heap.hpp"
#include "job/counters.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <new>

namespace towline::matching {

using engine::copy_share;
using engine::copy_task;
using engine::copy_taker;
using engine::copy_units;

// The receiver.

laid_cooperation::task_slot* laid_cooperation::claim_task()
{
    std::lock_guard const lock(mutex_);
    task_slot& slot = tasks_.claim();
    if (slot.task == nullptr) {
        void* const memory = heap::try_allocate(sizeof(copy_task));
        if (memory == nullptr) {
            tasks_.free(slot);
            return nullptr;
        }
        slot.task = new (memory) copy_task;
    }
    return &slot;
}

void laid_cooperation::free_task(task_slot& slot) noexcept
{
    std::lock_guard const lock(mutex_);
    tasks_.free(slot);
}

bool laid_cooperation::copy(laid_sink const& to, laid_message const& m, peer from, std::uint64_t token)
{
    engine::engine& e = common_.engine_;
    auto const& sizes = e.sizes();
    // Where ranks outnumber cores, a sender that helps would take the core from its receiver.
    if (m.bytes < std::max<std::uint64_t>(thresholds::laid_together, sizes.cooperate) ||
        wished_design() != layout_design::optimized || e.is_oversubscribed() || from == e.rank() || e.has_ended(from))
        return false;
    wire::help_header header{};
    std::shared_ptr<shown_layout const> shown;
    if (to.type == nullptr) {
        header.bytes = header.span = static_cast<std::uint64_t>(to.count);
        header.where = e.offer(from, to.buffer, header.span);
    } else {
        shown = to.show != nullptr ? to.show(to.owner) : nullptr;
        if (shown == nullptr || shown->form().size() > UINT32_MAX)
            return false;
        header.words = static_cast<std::uint32_t>(shown->form().size());
        header.bytes = static_cast<std::uint64_t>(to.type->size() * to.count);
        header.span = shown->span();
        header.where = e.offer(from, reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(to.buffer) +
                                                             static_cast<std::uintptr_t>(shown->low())), header.span);
        header.form = e.share(from, shown->form().data(), shown->form().size_bytes());
        header.meaning[0] = shown->meaning().first;
        header.meaning[1] = shown->meaning().second;
    }
    header.token = token;
    if (header.where == 0 || (header.words != 0 && header.form == 0) || header.bytes < m.bytes)
        return false;
    shared_plan const plan = plan_to(to, m);
    task_slot* const slot = plan != nullptr ? claim_task() : nullptr;
    if (slot == nullptr)
        return false;
    copy_task& task = *slot->task;
    header.task = e.offer(from, &task, sizeof task);
    header.number = static_cast<std::uint32_t>(tasks_.number_of(*slot) >> 32);

    copy_units const units(m.bytes);
    copy_taker taker(task, header.number, units, sizes.share_least, sizes.share_most);
    auto const copy_units_of = [&](std::uint32_t first, std::uint32_t count) {
        std::uint64_t const at = units.begin(first), n = units.bytes(first, count);
        plan->copy(to.buffer, m.memory.data(), static_cast<std::int64_t>(at), static_cast<std::int64_t>(at + n));
        return n;
    };
    copy_share mine = taker.begin();
    try {
        // Without room at the sender it is not asked, and takes nothing.
        (void)e.try_send_small(from, common_.handler_of(wire::help), bytes_of(header), {});
    } catch (error const&) {
    }
    std::uint64_t own_bytes = 0;
    for (; mine.count != 0; mine = taker.take_front())
        own_bytes += copy_units_of(mine.first, mine.count);
    if (taker.damaged()) {
        // A third process wrote into the task. What the sender may or may not have copied is copied again; the task is never used again.
        base::log(base::log_level::warning, "rank {}: what it shares with rank {} to copy a message together was damaged", e.rank(), from);
        (void)copy_units_of(taker.front(), units.count - taker.front());
        return true;
    }
    // A sender that runs is done soon.
    for (std::uint32_t i = 0; i < engine::thresholds::share_patience && task.copied.load(std::memory_order_acquire) < taker.senders(); ++i)
        base::cpu_relax();
    if (!e.outlast(task, taker.senders(), from))
        (void)copy_units_of(taker.front(), units.count - taker.front());
    else
        e.count(job::counter::bytes_cooperated, m.bytes - own_bytes);
    free_task(*slot);
    return true;
}

// The sender.

struct laid_cooperation::help_job {
    laid_cooperation& owner;
    peer from;
    wire::help_header what;
    sends::held held;
};

void laid_cooperation::on_help(engine::incoming& m)
{
    auto const h = read_whole<wire::help_header>(m);
    if (!h || !wire::is_possible(*h))
        return common_.drop(m, "a call for help");
    auto held = sends_.hold(h->token, m.source());
    if (!held)
        return common_.drop(m.source(), fmt::format("a call for help with send {:#x}, which is none that it may help with", h->token));
    common_.engine_.defer(&laid_cooperation::help, new help_job{*this, m.source(), *h, std::move(*held)});
}

void laid_cooperation::help(void* context)
{
    std::unique_ptr<help_job> const job(static_cast<help_job*>(context));
    laid_cooperation const& self = job->owner;
    try {
        self.help(*job);
    } catch (std::exception const& x) {
        base::log(base::log_level::warning, "rank {} cannot help rank {} to copy a message of {} bytes: {}", self.common_.engine_.rank(),
                  job->from, job->held.bytes, x.what());
    }
    job->owner.sends_.let_go(job->what.token);
}

void laid_cooperation::help(help_job const& job) const
{
    engine::engine& e = common_.engine_;
    wire::help_header const& h = job.what;
    auto const& sizes = e.sizes();
    copy_task* const task = copy_task::at(e.enter(job.from, h.task, sizeof(copy_task)));
    copy_units const units(job.held.bytes);
    copy_taker taker(*task, h.number, units, sizes.share_least, sizes.share_most);
    if (taker.is_over())
        return;
    std::byte* const there = e.enter(job.from, h.where, h.span);
    laid_message to{{there, h.span}, {}, {h.meaning[0], h.meaning[1]}, h.bytes};
    if (h.words != 0) {
        auto const* const form = e.look(h.form, std::size_t{h.words} * sizeof(std::uint64_t));
        if (reinterpret_cast<std::uintptr_t>(form) % alignof(std::uint64_t) != 0)
            throw layout::bad_layout("a layout that is not aligned");
        to.form = {reinterpret_cast<std::uint64_t const*>(form), h.words};
    }
    laid_data const& own = job.held.data;
    shared_plan plan;
    try {
        plan = plan_from(own.type, own.count, to);
    } catch (layout::bad_layout const&) {
        // The receiver may have copied all meanwhile, and have freed its layout.
        if (taker.is_over())
            return;
        throw;
    }
    if (plan == nullptr || plan->size() != static_cast<std::int64_t>(job.held.bytes))
        return;
    for (;;) {
        copy_share const mine = taker.take_back();
        if (mine.count == 0)
            return;
        std::uint64_t const at = units.begin(mine.first);
        plan->copy(there, own.buffer, static_cast<std::int64_t>(at), static_cast<std::int64_t>(at + units.bytes(mine.first, mine.count)));
        (void)taker.copied(mine);
    }
}

} // namespace towline::matching
