// Plain memory that its sender pushes; push_window.hpp has the idea, docs/wire.md the messages.

#include "engine/pushing.hpp"

#include "base/clock.hpp"
#include "base/copy.hpp"
#include "base/idle.hpp"
#include "heap/heap.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <cstring>
#include <new>

namespace towline::engine {

void pushing::install(transport::component& t)
{
    handle<&pushing::on_push>(t, wire::push, *this);
    handle<&pushing::on_pushed>(t, wire::pushed, *this);
}

// The receiver.

pushing::window_slot* pushing::claim_window()
{
    std::lock_guard lock(mutex_);
    window_slot& slot = windows_.claim();
    if (slot.window == nullptr) {
        void* const memory = heap::try_allocate(sizeof(push_window));
        if (memory == nullptr) {
            windows_.free(slot);
            return nullptr;
        }
        slot.window = new (memory) push_window;
    }
    return &slot;
}

void pushing::free_window(window_slot& slot)
{
    std::lock_guard lock(mutex_);
    windows_.free(slot);
}

bool pushing::may_be_pushed(message_state const& s, block_state const& b) const
{
    auto const& config = common_.config;
    if (b.size < config.sizes.push_least || b.size > std::min<std::uint64_t>(config.sizes.push_most, push_window::most_bytes) ||
        config.oversubscribed || s.source == config.rank || (s.id_flags & wire::wants_released) == 0)
        return false;
    try {
        return common_.reach(s.source).maps;
    } catch (error const&) {
        return false;  // it has died
    }
}

std::uint64_t pushing::receive_pushed(message_state& s, std::size_t block, void* destination)
{
    block_state const& b = s.blocks[block];
    if (!may_be_pushed(s, b))
        return 0;
    peer_state& p = common_.peers[s.source];
    if (std::uint32_t const skip = p.skip.load(std::memory_order_relaxed); skip != 0) {
        p.skip.store(skip - 1, std::memory_order_relaxed);
        return 0;
    }
    window_slot* const slot = claim_window();
    if (slot == nullptr)
        return 0;
    std::uint64_t const word = heap::find_packed(slot->window, sizeof *slot->window);
    if (word == 0) {
        free_window(*slot);
        return 0;
    }
    std::uint64_t const number = windows_.number_of(*slot);
    auto const use = static_cast<std::uint32_t>(number >> 32);
    slot->window->begin(use);
    out_.post_control(s.source, wire::push, wire::push_message{s.id_flags >> wire::flag_bits, number, word, block});
    if (!is_entered(*slot->window, use, p)) {
        free_window(*slot);
        return 0;
    }
    return copy_out(*slot, use, s.source, b.size, static_cast<std::byte*>(destination));
}

bool pushing::is_entered(push_window& window, std::uint32_t number, peer_state& p)
{
    std::int64_t const until = base::monotonic_ns() + thresholds::push_entry.count();
    while (!window.was_entered(number)) {
        if (base::monotonic_ns() < until)
            continue;
        if (!window.close_unused(number))
            break;
        std::uint32_t const before = p.absent.load(std::memory_order_relaxed);
        p.absent.store(std::min(before * 2 + 1, thresholds::most_skipped), std::memory_order_relaxed);
        p.skip.store(before, std::memory_order_relaxed);
        return false;
    }
    p.absent.store(0, std::memory_order_relaxed);
    return true;
}

std::uint64_t pushing::copy_out(window_slot& slot, std::uint32_t number, peer from, std::uint64_t bytes, std::byte* to)
{
    push_window& window = *slot.window;
    std::uint32_t const count = push_window::pieces_of(bytes);
    std::uint32_t next = 0;
    while (next != count) {
        std::uint32_t filled = window.filled.load(std::memory_order_acquire);
        for (std::uint32_t i = 0; filled == next && i < thresholds::piece_patience; ++i) {
            base::cpu_relax();
            filled = window.filled.load(std::memory_order_acquire);
        }
        if (filled == next) {
            // The sender is descheduled or dead, and need not come back. The window is its own until it says that it is out.
            {
                std::lock_guard lock(mutex_);
                slot.abandoned = true;
                slot.from = from;
            }
            window.close(number);
            if (window.filled.load(std::memory_order_seq_cst) != count)
                return std::uint64_t{next} * push_window::piece_bytes;
            // It finished in the meantime. If it has not seen the window closed it will say nothing.
            std::lock_guard lock(mutex_);
            if (!std::exchange(slot.abandoned, false))
                return std::uint64_t{next} * push_window::piece_bytes;
            filled = count;
        }
        if (filled > count || filled - next > push_window::pieces)
            return std::uint64_t{next} * push_window::piece_bytes;  // damaged: what came counts, the window is never used again
        for (; next != filled; ++next) {
            std::byte const* const piece = window.piece[next % push_window::pieces];
            std::size_t const n = push_window::bytes_of_piece(bytes, next);
            std::memcpy(to + std::uint64_t{next} * push_window::piece_bytes, piece, n);
            base::take_lines(piece, n);  // the sender writes them again very soon
            window.emptied.store(next + 1, std::memory_order_release);
        }
    }
    free_window(slot);
    return bytes;
}

void pushing::on_pushed(peer source, std::span<std::byte const> payload)
{
    auto const m = wire::read_whole<wire::pushed_message>(payload);
    if (!m)
        return common_.drop(source, fmt::format("an end of pushing of {} bytes", payload.size()));
    std::lock_guard lock(mutex_);
    window_slot* const slot = windows_.find(m->number);
    // One that was not abandoned was emptied after all.
    if (slot != nullptr && slot->from == source && std::exchange(slot->abandoned, false))
        windows_.free(*slot);
}

// The sender.

void pushing::on_push(peer source, std::span<std::byte const> payload)
{
    auto const m = wire::read_whole<wire::push_message>(payload);
    if (!m)
        return common_.drop(source, fmt::format("a call to push of {} bytes", payload.size()));
    auto const kept = pending_.find(m->id, source, m->block);
    if (!kept || !common_.peers[source].maps || kept->size > push_window::most_bytes)
        return common_.drop(source, "a call to push a block that is not there");
    push job{source, *m, nullptr, 0};
    auto const where = heap::unpack(m->window);
    try {
        if (!common_.config.shared_arena && where.arena != source)
            throw usage_error("an arena that is not its own");
        if (where.offset % alignof(push_window) != 0)
            throw usage_error("a window that is not aligned");
        job.window = static_cast<push_window*>(heap::attach(where, sizeof(push_window)));
    } catch (error const& e) {
        return common_.drop(source, fmt::format("a call to push into {}", e.what()));
    }
    if (!job.window->enter(static_cast<std::uint32_t>(m->number >> 32)))
        return;  // the receiver has given up waiting
    if (!serve(job)) {
        pushes_.push_back(job);
        common_.work.fetch_add(1, std::memory_order_relaxed);
    }
}

bool pushing::serve(push& job)
{
    if (common_.is_dead_or_closed(job.to))
        return true;
    push_window& window = *job.window;
    auto const number = static_cast<std::uint32_t>(job.what.number >> 32);
    std::uint64_t const entered = push_window::make(number, push_window::entered);
    auto const out = [&] {
        out_.post_control(job.to, wire::pushed, wire::pushed_message{job.what.number});
        return true;
    };
    // The block stays until the receiver is done or dies; only the poller, which is this thread, finds out about either.
    auto const kept = pending_.find(job.what.id, job.to, job.what.block);
    if (!kept)
        return out();
    auto const* const from = static_cast<std::byte const*>(kept->data);
    std::uint32_t const count = push_window::pieces_of(kept->size);
    while (job.next != count) {
        std::uint32_t emptied = window.emptied.load(std::memory_order_acquire);
        for (std::uint32_t i = 0; job.next - emptied >= push_window::pieces; ++i) {
            if (window.word.load(std::memory_order_relaxed) != entered || job.next - emptied > push_window::pieces)
                return out();  // closed, or damaged
            if (i == thresholds::place_patience)
                return false;
            base::cpu_relax();
            emptied = window.emptied.load(std::memory_order_acquire);
        }
        if (window.word.load(std::memory_order_acquire) != entered)
            return out();
        std::memcpy(window.piece[job.next % push_window::pieces], from + std::uint64_t{job.next} * push_window::piece_bytes,
                    push_window::bytes_of_piece(kept->size, job.next));
        ++job.next;
        window.filled.store(job.next, job.next == count ? std::memory_order_seq_cst : std::memory_order_release);
    }
    // The receiver reads `filled` after it has closed the window, the sender `word` after its last store: one of them sees the other.
    return window.word.load(std::memory_order_seq_cst) != push_window::make(number, push_window::closed) || out();
}

int pushing::serve()
{
    int served = 0;
    for (std::size_t n = pushes_.size(); n != 0; --n) {
        push job = pushes_.front();
        pushes_.pop_front();
        std::uint32_t const before = job.next;
        bool const over = serve(job);
        // A receiver that takes nothing must not keep this thread awake.
        served += over || job.next != before;
        if (over)
            common_.work_done();
        else
            pushes_.push_back(job);
    }
    return served;
}

} // namespace towline::engine
