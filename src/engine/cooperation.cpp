// Blocks that receiver and sender copy together; copy_task.hpp has the idea, docs/wire.md the messages.

#include "engine/cooperation.hpp"

#include "base/clock.hpp"
#include "base/copy.hpp"
#include "base/copy_ways.hpp"
#include "base/idle.hpp"
#include "base/log.hpp"
#include "heap/heap.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <chrono>
#include <new>
#include <thread>

#include <sched.h>

namespace towline::engine {

using job::counter;

void cooperation::install(transport::component& t)
{
    handle<&cooperation::on_help>(t, wire::help, *this);
    handle<&cooperation::on_helped>(t, wire::helped, *this);
}

// The receiver.

cooperation::task_slot* cooperation::claim_task()
{
    std::lock_guard lock(mutex_);
    task_slot& slot = tasks_.claim();
    if (slot.task == nullptr && unused_tasks_.empty()) {
        if (void* const memory = heap::try_allocate(thresholds::task_batch * sizeof(copy_task)))
            unused_tasks_ = {new (memory) copy_task[thresholds::task_batch], thresholds::task_batch};
    }
    if (slot.task == nullptr) {
        if (unused_tasks_.empty()) {
            tasks_.free(slot);
            return nullptr;
        }
        slot.task = &unused_tasks_.front();
        unused_tasks_ = unused_tasks_.subspan(1);
    }
    return &slot;
}

bool cooperation::may_cooperate(message_state const& s, block_state const& b, void const* destination) const noexcept
{
    auto const& config = common_.config;
    // Where ranks outnumber cores, a sender that helps would take the core from its receiver.
    if (b.how != wire::how::mapped || b.size < config.sizes.cooperate || config.oversubscribed ||
        (s.id_flags & wire::wants_released) == 0 || common_.is_dead(s.source))
        return false;
    auto const where = heap::find(destination, b.size);
    return where && heap::pack(*where) != 0 && (config.shared_arena || where->arena == config.rank);
}

message_state* cooperation::copy_together(message_state& s, std::size_t block, void* destination)
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
    std::uint64_t const number = tasks_.number_of(*slot);
    copy_units const units(b.size);
    auto const& sizes = common_.config.sizes;
    copy_taker taker(*task, static_cast<std::uint32_t>(number >> 32), units, sizes.share_least, sizes.share_most);
    auto const how = base::way_of_copy(to, b.size, 0, b.size / 3);
    task->past_caches.store(how == base::copy_ways::way::past ? 1 : 0, std::memory_order_relaxed);
    copy_share mine = taker.begin();
    out_.post_control(s.source, wire::help,
                      wire::help_message{s.id_flags >> wire::flag_bits, number, heap::find_packed(task, sizeof *task),
                                         heap::find_packed(destination, b.size), block});
    std::uint64_t own_bytes = 0;
    for (; mine.count != 0; mine = taker.take_front()) {
        std::uint64_t const at = units.begin(mine.first);
        std::uint64_t const n = units.bytes(mine.first, mine.count);
        base::copy_part(to + at, from + at, n, how);
        own_bytes += n;
    }
    if (taker.damaged()) {
        // A third process wrote into the task. Copy again all that the sender may or may not have copied, and never use the task again.
        base::log(base::log_level::warning, "rank {}: what it shares with rank {} to copy a block together was damaged",
                  common_.config.rank, s.source);
        std::uint64_t const at = units.begin(taker.front());
        base::copy_part(to + at, from + at, b.size - at, how);
        return nullptr;
    }
    common_.count_if_onloaded(own_bytes);
    std::uint32_t const senders = taker.senders();
    for (std::uint32_t i = 0; task->copied.load(std::memory_order_acquire) < senders && i < thresholds::share_patience; ++i)
        base::cpu_relax();
    if (task->copied.load(std::memory_order_acquire) >= senders) {
        common_.counts.add(counter::bytes_cooperated, b.size - own_bytes);
        common_.tell_arrival(s.source, arrival::together, b.size);
        std::lock_guard lock(mutex_);
        tasks_.free(*slot);
        return nullptr;
    }
    // The sender was interrupted in the middle of a share: the fetch ends when the sender has copied it, or has died.
    message_state* const stays = s.on_heap ? &s : s.promote();
    stays->running.fetch_add(1, std::memory_order_relaxed);
    {
        std::lock_guard lock(mutex_);
        *slot = {task, stays, block, stays->source, senders, b.size - own_bytes};
    }
    task->tell.store(1, std::memory_order_seq_cst);
    end_task(number);
    // The sender may have died meanwhile, and have been buried before the state was in the table.
    if (common_.is_dead(stays->source, std::memory_order_seq_cst))
        end_tasks(stays->source);
    return stays;
}

void cooperation::end_task(std::uint64_t number)
{
    message_state* ended = nullptr;
    std::size_t block = 0;
    {
        std::lock_guard lock(mutex_);
        task_slot* const slot = tasks_.find(number);
        if (slot == nullptr || slot->state == nullptr || slot->task->copied.load(std::memory_order_seq_cst) < slot->senders)
            return;
        ended = std::exchange(slot->state, nullptr);
        block = slot->block;
        common_.counts.add(counter::bytes_cooperated, slot->senders_bytes);
        tasks_.free(*slot);
    }
    ended->blocks[block].count(common_.counts, true);
    ended->fetch_ended(true);
}

bool common::outlast(copy_task const& task, std::uint32_t units, peer from) const
{
    auto const copied = [&] { return task.copied.load(std::memory_order_seq_cst) >= units; };
    std::int64_t const begin = base::monotonic_ns();
    std::int64_t tell = begin + thresholds::copier_report.count();
    for (int turn = 0; !copied(); ++turn) {
        // In this order: what a rank has copied before it died counts, and after it nothing is written any more.
        if (has_died(from))
            return copied();
        if (turn < thresholds::outlast_yields) {
            ::sched_yield();
            continue;
        }
        std::this_thread::sleep_for(thresholds::outlast_nap);
        if (std::int64_t const now = base::monotonic_ns(); now >= tell) {
            base::log(base::log_level::warning,
                      "rank {} has waited for {} s for rank {}, which is copying into its memory: rank {} is stopped, or gets no processor",
                      config.rank, (now - begin) / 1'000'000'000, from, from);
            tell = now + thresholds::copier_report.count();
        }
    }
    return true;
}

void cooperation::end_tasks(std::optional<peer> from)
{
    std::vector<task_wait> waits;
    {
        std::lock_guard lock(mutex_);
        tasks_.for_each([&](task_slot const& slot) {
            if (slot.state != nullptr && (!from || slot.from == *from))
                waits.push_back({slot.task, tasks_.number_of(slot), slot.from, slot.senders});
        });
    }
    for (task_wait const& w : waits) {
        if (common_.outlast(*w.task, w.senders, w.from)) {
            end_task(w.number);
            continue;
        }
        message_state* failed = nullptr;
        {
            std::lock_guard lock(mutex_);
            task_slot* const slot = tasks_.find(w.number);
            if (slot == nullptr || slot->state == nullptr)
                continue;  // its fetch has ended meanwhile
            slot->state->blocks[slot->block].counted = true;
            failed = std::exchange(slot->state, nullptr);  // the task stays claimed: it is not used again
        }
        failed->fetch_ended(false);
    }
}

void cooperation::on_helped(peer source, std::span<std::byte const> payload)
{
    auto const m = wire::read_whole<wire::helped_message>(payload);
    if (!m)
        return common_.drop(source, fmt::format("an end of help of {} bytes", payload.size()));
    {
        std::lock_guard lock(mutex_);
        if (!tasks_.has_index_of(m->number))
            return common_.drop(source, "an end of help that nobody waits for");
    }
    // A late one, of a task whose end the receiver saw itself, finds nothing.
    end_task(m->number);
}

// The sender.

void cooperation::on_help(peer source, std::span<std::byte const> payload)
{
    auto const m = wire::read_whole<wire::help_message>(payload);
    if (!m)
        return common_.drop(source, fmt::format("a call for help of {} bytes", payload.size()));
    auto const kept = pending_.find(m->id, source, m->block);
    if (!kept || !common_.peers[source].maps)
        return common_.drop(source, "a call for help with a block that is not there");
    help job{source, *m, nullptr, nullptr};
    try {
        job.task = copy_task::at(common_.writable(source, m->task, sizeof(copy_task)));
        job.destination = static_cast<std::byte*>(common_.writable(source, m->destination, kept->size));
    } catch (error const& e) {
        return common_.drop(source, fmt::format("a call for help into {}", e.what()));
    }
    if (!serve(job)) {
        helps_.push_back(job);
        common_.work.fetch_add(1, std::memory_order_relaxed);
    }
}

bool cooperation::serve(help const& job)
{
    // The block stays until the receiver is done or dies; only the poller, which is this thread, finds out about either.
    auto const kept = pending_.find(job.what.id, job.to, job.what.block);
    if (!kept || common_.is_dead_or_closed(job.to))
        return true;
    auto const& sizes = common_.config.sizes;
    auto const* const from = static_cast<std::byte const*>(kept->data);
    copy_units const units(kept->size);
    copy_taker taker(*job.task, static_cast<std::uint32_t>(job.what.number >> 32), units, sizes.share_least, sizes.share_most);
    auto const how = job.task->past_caches.load(std::memory_order_relaxed) != 0 ? base::copy_ways::way::past
                                                                               : base::way_of_copy(units.size);
    for (std::uint64_t done = 0; done < sizes.help_portion;) {
        copy_share const mine = taker.take_back();
        if (mine.count == 0)
            return true;
        std::uint64_t const at = units.begin(mine.first);
        std::uint64_t const n = units.bytes(mine.first, mine.count);
        base::copy_part(job.destination + at, from + at, n, how);
        done += n;
        if (taker.copied(mine))
            out_.post_control(job.to, wire::helped, wire::helped_message{job.what.number});
    }
    return false;
}

int cooperation::serve()
{
    int served = 0;
    for (std::size_t n = helps_.size(); n != 0; --n, ++served) {
        help const job = helps_.front();
        helps_.pop_front();
        if (serve(job))
            common_.work_done();
        else
            helps_.push_back(job);
    }
    return served;
}

} // namespace towline::engine
