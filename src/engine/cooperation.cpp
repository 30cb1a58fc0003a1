// Copying a big block together with its sender; see cooperation.hpp for the idea and docs/wire.md for the messages.

#include "engine/cooperation.hpp"

#include "engine/impl.hpp"

#include "base/clock.hpp"
#include "base/copy.hpp"
#include "base/copy_ways.hpp"
#include "base/idle.hpp"
#include "base/log.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <chrono>
#include <new>
#include <thread>

#include <sched.h>

namespace towline::engine {

using job::counter;

// The receiver.

task_slot* engine::impl::claim_task()
{
    std::lock_guard lock(tasks_mutex);
    task_slot& slot = tasks.claim();
    if (slot.task == nullptr && unused_tasks.empty()) {
        // Never given back: a peer may look at it late.
        if (void* const memory = heap::try_allocate(thresholds::task_batch * sizeof(copy_task)))
            unused_tasks = {new (memory) copy_task[thresholds::task_batch], thresholds::task_batch};
    }
    if (slot.task == nullptr) {
        if (unused_tasks.empty()) {
            tasks.free(slot);
            return nullptr;
        }
        slot.task = &unused_tasks.front();
        unused_tasks = unused_tasks.subspan(1);
    }
    return &slot;
}

bool engine::impl::may_cooperate(message_state const& s, block_state const& b, void const* destination) const noexcept
{
    // A sender that shares our core would only take it from us.
    if (b.how != wire::how::mapped || b.size < config.sizes.cooperate || config.oversubscribed ||
        (s.id_flags & wire::wants_released) == 0 || (peers[s.source].flags.load(std::memory_order_relaxed) & peer_state::dead) != 0)
        return false;
    auto const where = heap::find(destination, b.size);
    return where && wire::pack(*where) && (config.shared_arena || where->arena == config.rank);
}

message_state* engine::impl::copy_together(message_state& s, std::size_t block, void* destination)
{
    block_state const& b = s.blocks[block];
    auto* const to = static_cast<std::byte*>(destination);
    auto const* const from = static_cast<std::byte const*>(b.data);
    task_slot* const slot = claim_task();
    if (slot == nullptr) {
        base::copy_block(to, from, b.size);
        return nullptr;
    }
    copy_task* const task = slot->task;
    std::uint64_t const number = tasks.number_of(*slot);
    copy_units const units(b.size);
    copy_taker taker(*task, static_cast<std::uint32_t>(number >> 32), units, config.sizes.share_least, config.sizes.share_most);
    auto const how = base::way_of_copy(to, b.size, 0, b.size / 3);
    task->past_caches.store(how == base::copy_ways::way::past ? 1 : 0, std::memory_order_relaxed);
    copy_share mine = taker.begin();
    post_control(s.source, wire::help,
                 wire::help_message{s.id_flags >> wire::flag_bits, number,
                                    *wire::pack(*heap::find(task, sizeof *task)), *wire::pack(*heap::find(destination, b.size)), block});
    std::uint64_t own_bytes = 0;
    for (; mine.count != 0; mine = taker.take_front()) {
        std::uint64_t const at = units.begin(mine.first);
        std::uint64_t const n = units.bytes(mine.first, mine.count);
        base::copy_part(to + at, from + at, n, how);
        own_bytes += n;
    }
    if (taker.damaged()) {
        // Somebody wrote where only we two may. What nobody can be trusted to have copied we copy; the task is never used again.
        base::log(base::log_level::warning, "rank {}: what it shares with rank {} to copy a block together was damaged", config.rank,
                  s.source);
        std::uint64_t const at = units.begin(taker.front());
        base::copy_part(to + at, from + at, b.size - at, how);
        return nullptr;
    }
    count_if_onloaded(own_bytes);
    std::uint32_t const senders = taker.senders();
    for (std::uint32_t i = 0; task->copied.load(std::memory_order_acquire) < senders && i < thresholds::share_patience; ++i)
        base::cpu_relax();
    if (task->copied.load(std::memory_order_acquire) >= senders) {
        counts.add(counter::bytes_cooperated, b.size - own_bytes);
        if (ways_told) [[unlikely]]
            ways_told.arrives(s.source, arrival::together, b.size);
        std::lock_guard lock(tasks_mutex);
        tasks.free(*slot);
        return nullptr;
    }
    // The sender was interrupted in the middle of a share: the fetch ends when it has done it, or has died.
    message_state* const stays = s.on_heap ? &s : s.promote();
    stays->running.fetch_add(1, std::memory_order_relaxed);
    {
        std::lock_guard lock(tasks_mutex);
        *slot = {task, stays, block, stays->source, senders, b.size - own_bytes};
    }
    task->tell.store(1, std::memory_order_seq_cst);
    end_task(number);
    // Died meanwhile: whoever buried it may have looked before the state was in the table.
    if ((peers[stays->source].flags.load(std::memory_order_seq_cst) & peer_state::dead) != 0)
        end_tasks(stays->source);
    return stays;
}

void engine::impl::end_task(std::uint64_t number)
{
    message_state* ended = nullptr;
    std::size_t block = 0;
    {
        std::lock_guard lock(tasks_mutex);
        task_slot* const slot = tasks.find(number);
        if (slot == nullptr || slot->state == nullptr || slot->task->copied.load(std::memory_order_seq_cst) < slot->senders)
            return;
        ended = std::exchange(slot->state, nullptr);
        block = slot->block;
        counts.add(counter::bytes_cooperated, slot->senders_bytes);
        tasks.free(*slot);
    }
    count_block(*this, ended->blocks[block], true);
    fetch_ended(*ended, true);
}

bool engine::impl::outlast(task_wait const& w)
{
    auto const copied = [&] { return w.task->copied.load(std::memory_order_seq_cst) >= w.senders; };
    std::int64_t const begin = base::monotonic_ns();
    std::int64_t tell = begin + thresholds::copier_report.count();
    for (int turn = 0; !copied(); ++turn) {
        // In this order: what a rank has copied before it died counts, and after it nothing is written any more.
        if (config.is_dead != nullptr && config.is_dead(config.context, w.from))
            return copied();
        if (turn < thresholds::outlast_yields) {
            ::sched_yield();
            continue;
        }
        std::this_thread::sleep_for(thresholds::outlast_nap);
        if (std::int64_t const now = base::monotonic_ns(); now >= tell) {
            base::log(base::log_level::warning,
                      "rank {} has waited for {} s for rank {}, which is copying into its memory: rank {} is stopped, or gets no processor",
                      config.rank, (now - begin) / 1'000'000'000, w.from, w.from);
            tell = now + thresholds::copier_report.count();
        }
    }
    return true;
}

void engine::impl::end_tasks(std::optional<peer> from)
{
    std::vector<task_wait> waits;
    {
        std::lock_guard lock(tasks_mutex);
        tasks.for_each([&](task_slot const& slot) {
            if (slot.state != nullptr && (!from || slot.from == *from))
                waits.push_back({slot.task, tasks.number_of(slot), slot.from, slot.senders});
        });
    }
    for (task_wait const& w : waits) {
        if (outlast(w)) {
            end_task(w.number);
            continue;
        }
        message_state* failed = nullptr;
        {
            std::lock_guard lock(tasks_mutex);
            task_slot* const slot = tasks.find(w.number);
            if (slot == nullptr || slot->state == nullptr)
                continue;  // its fetch has ended meanwhile
            slot->state->blocks[slot->block].counted = true;
            failed = std::exchange(slot->state, nullptr);  // the task stays claimed: it is not used again
        }
        fetch_ended(*failed, false);
    }
}

void engine::impl::on_helped(void* context, peer source, std::span<std::byte const> payload)
{
    auto& self = *static_cast<impl*>(context);
    auto const m = wire::read<wire::helped_message>(payload);
    if (!m || payload.size() != sizeof *m)
        return self.drop(source, fmt::format("an end of help of {} bytes", payload.size()));
    {
        std::lock_guard lock(self.tasks_mutex);
        if (!self.tasks.has_index_of(m->number))
            return self.drop(source, "an end of help that nobody waits for");
    }
    // A late one, of a task whose end the receiver saw itself, finds nothing.
    self.end_task(m->number);
}

// The sender.

void engine::impl::on_help(void* context, peer source, std::span<std::byte const> payload)
{
    auto& self = *static_cast<impl*>(context);
    auto const m = wire::read<wire::help_message>(payload);
    if (!m || payload.size() != sizeof *m)
        return self.drop(source, fmt::format("a call for help of {} bytes", payload.size()));
    auto const kept = self.pending.find(m->id, source, m->block);
    if (!kept || !self.peers[source].maps)
        return self.drop(source, "a call for help with a block that is not there");
    help_job job{source, *m, nullptr, nullptr};
    auto const task = wire::unpack(m->task);
    auto const destination = wire::unpack(m->destination);
    try {
        // Written only is what the receiver can give: memory of its own arena.
        if (!self.config.shared_arena && (task.arena != source || destination.arena != source))
            throw usage_error("an arena that is not its own");
        if (task.offset % alignof(copy_task) != 0)
            throw usage_error("a task that is not aligned");
        job.task = static_cast<copy_task*>(heap::attach(task, sizeof(copy_task)));
        job.destination = static_cast<std::byte*>(heap::attach(destination, kept->size));
    } catch (error const& e) {
        return self.drop(source, fmt::format("a call for help into {}", e.what()));
    }
    if (!self.serve(job)) {
        self.helps.push_back(job);
        self.work.fetch_add(1, std::memory_order_relaxed);
    }
}

bool engine::impl::serve(help_job const& job)
{
    // The block stays until the receiver says that it is done, or dies: both are seen by the poller only, which is us.
    auto const kept = pending.find(job.what.id, job.to, job.what.block);
    if (!kept || (peers[job.to].flags.load(std::memory_order_relaxed) & (peer_state::dead | peer_state::closed)) != 0)
        return true;
    auto const* const from = static_cast<std::byte const*>(kept->data);
    copy_units const units(kept->size);
    copy_taker taker(*job.task, static_cast<std::uint32_t>(job.what.number >> 32), units, config.sizes.share_least,
                     config.sizes.share_most);
    auto const how = job.task->past_caches.load(std::memory_order_relaxed) != 0 ? base::copy_ways::way::past
                                                                               : base::way_of_copy(units.size);
    for (std::uint64_t done = 0; done < config.sizes.help_portion;) {
        copy_share const mine = taker.take_back();
        if (mine.count == 0)
            return true;
        std::uint64_t const at = units.begin(mine.first);
        std::uint64_t const n = units.bytes(mine.first, mine.count);
        base::copy_part(job.destination + at, from + at, n, how);
        done += n;
        if (taker.copied(mine))
            post_control(job.to, wire::helped, wire::helped_message{job.what.number});
    }
    return false;
}

int engine::impl::serve_helps()
{
    int served = 0;
    for (std::size_t n = helps.size(); n != 0; --n, ++served) {
        help_job const job = helps.front();
        helps.pop_front();
        if (serve(job))
            work.fetch_sub(1, std::memory_order_relaxed);
        else
            helps.push_back(job);
    }
    return served;
}

} // namespace towline::engine
