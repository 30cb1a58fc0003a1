// Lent memory outside the arenas that its sender pushes; see pushing.hpp for the idea and docs/wire.md for the messages.

#include "engine/pushing.hpp"

#include "engine/impl.hpp"

#include "base/clock.hpp"
#include "base/copy.hpp"
#include "base/idle.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <cstring>
#include <new>

namespace towline::engine {

// The receiver.

window_slot* engine::impl::claim_window()
{
    std::lock_guard lock(windows_mutex);
    window_slot& slot = windows.claim();
    if (slot.window == nullptr) {
        // Never given back: a peer may look at it late.
        void* const memory = heap::try_allocate(sizeof(push_window));
        if (memory == nullptr) {
            windows.free(slot);
            return nullptr;
        }
        slot.window = new (memory) push_window;
    }
    return &slot;
}

std::uint64_t engine::impl::receive_pushed(message_state& s, std::size_t block, void* destination)
{
    block_state const& b = s.blocks[block];
    peer_state& p = peers[s.source];
    if (b.size < config.sizes.push_least || b.size > std::min<std::uint64_t>(config.sizes.push_most, push_window::most_bytes) ||
        config.oversubscribed || s.source == config.rank || (s.id_flags & wire::wants_released) == 0)
        return 0;
    try {
        if (!reach(s.source).maps)
            return 0;
    } catch (error const&) {
        return 0;  // it has died
    }
    if (std::uint32_t const skip = p.skip.load(std::memory_order_relaxed); skip != 0) {
        p.skip.store(skip - 1, std::memory_order_relaxed);
        return 0;
    }
    window_slot* const slot = claim_window();
    if (slot == nullptr)
        return 0;
    push_window* const window = slot->window;
    std::uint64_t const full_number = windows.number_of(*slot);
    auto const number = static_cast<std::uint32_t>(full_number >> 32);
    auto const recycle = [&] {
        std::lock_guard lock(windows_mutex);
        windows.free(*slot);
    };
    auto const where = heap::find(window, sizeof *window);
    auto const word = where ? wire::pack(*where) : std::nullopt;
    if (!word) {
        recycle();
        return 0;
    }
    window->begin(number);
    post_control(s.source, wire::push,
                 wire::push_message{s.id_flags >> wire::flag_bits, full_number, *word, block});
    std::int64_t const until = base::monotonic_ns() + thresholds::push_entry.count();
    while (!window->was_entered(number)) {
        if (base::monotonic_ns() < until)
            continue;
        if (!window->close_unused(number))
            break;
        recycle();
        std::uint32_t const before = p.absent.load(std::memory_order_relaxed);
        p.absent.store(std::min(before * 2 + 1, thresholds::most_skipped), std::memory_order_relaxed);
        p.skip.store(before, std::memory_order_relaxed);
        return 0;
    }
    p.absent.store(0, std::memory_order_relaxed);

    auto* const to = static_cast<std::byte*>(destination);
    std::uint32_t const count = push_window::pieces_of(b.size);
    std::uint32_t next = 0;
    while (next != count) {
        std::uint32_t filled = window->filled.load(std::memory_order_acquire);
        for (std::uint32_t i = 0; filled == next && i < thresholds::piece_patience; ++i) {
            base::cpu_relax();
            filled = window->filled.load(std::memory_order_acquire);
        }
        if (filled == next) {
            // Interrupted, or dead: it need not come back. The window is its own until it says that it is out.
            {
                std::lock_guard lock(windows_mutex);
                slot->abandoned = true;
                slot->from = s.source;
            }
            window->close(number);
            if (window->filled.load(std::memory_order_seq_cst) != count)
                return std::uint64_t{next} * push_window::piece_bytes;
            // It was done in the meantime, and perhaps has seen nothing of this: then it says nothing either.
            std::lock_guard lock(windows_mutex);
            if (!std::exchange(slot->abandoned, false))
                return std::uint64_t{next} * push_window::piece_bytes;
            filled = count;
        }
        if (filled > count || filled - next > push_window::pieces)
            return std::uint64_t{next} * push_window::piece_bytes;  // damaged: what came counts, the window is never used again
        for (; next != filled; ++next) {
            std::byte const* const piece = window->piece[next % push_window::pieces];
            std::size_t const bytes = push_window::bytes_of_piece(b.size, next);
            std::memcpy(to + std::uint64_t{next} * push_window::piece_bytes, piece, bytes);
            base::take_lines(piece, bytes);  // for the sender, who writes them again at once
            window->emptied.store(next + 1, std::memory_order_release);
        }
    }
    recycle();
    return b.size;
}

void engine::impl::on_pushed(void* context, peer source, std::span<std::byte const> payload)
{
    auto& self = *static_cast<impl*>(context);
    auto const m = wire::read<wire::pushed_message>(payload);
    if (!m || payload.size() != sizeof *m)
        return self.drop(source, fmt::format("an end of pushing of {} bytes", payload.size()));
    std::lock_guard lock(self.windows_mutex);
    window_slot* const slot = self.windows.find(m->number);
    // One that was not abandoned was emptied after all.
    if (slot != nullptr && slot->from == source && std::exchange(slot->abandoned, false))
        self.windows.free(*slot);
}

// The sender.

void engine::impl::on_push(void* context, peer source, std::span<std::byte const> payload)
{
    auto& self = *static_cast<impl*>(context);
    auto const m = wire::read<wire::push_message>(payload);
    if (!m || payload.size() != sizeof *m)
        return self.drop(source, fmt::format("a call to push of {} bytes", payload.size()));
    auto const kept = self.pending.find(m->id, source, m->block);
    if (!kept || !self.peers[source].maps || kept->size > push_window::most_bytes)
        return self.drop(source, "a call to push a block that is not there");
    push_job job{source, *m, nullptr, 0};
    auto const where = wire::unpack(m->window);
    try {
        if (!self.config.shared_arena && where.arena != source)
            throw usage_error("an arena that is not its own");
        if (where.offset % alignof(push_window) != 0)
            throw usage_error("a window that is not aligned");
        job.window = static_cast<push_window*>(heap::attach(where, sizeof(push_window)));
    } catch (error const& e) {
        return self.drop(source, fmt::format("a call to push into {}", e.what()));
    }
    if (!job.window->enter(static_cast<std::uint32_t>(m->number >> 32)))
        return;  // late
    if (!self.serve(job)) {
        self.pushes.push_back(job);
        self.work.fetch_add(1, std::memory_order_relaxed);
    }
}

bool engine::impl::serve(push_job& job)
{
    if ((peers[job.to].flags.load(std::memory_order_relaxed) & (peer_state::dead | peer_state::closed)) != 0)
        return true;
    push_window& window = *job.window;
    auto const number = static_cast<std::uint32_t>(job.what.number >> 32);
    std::uint64_t const entered = push_window::make(number, push_window::entered);
    auto const out = [&] {
        post_control(job.to, wire::pushed, wire::pushed_message{job.what.number});
        return true;
    };
    // The block stays until the receiver says that it is done, or dies: both are seen by the poller only, which is us.
    auto const kept = pending.find(job.what.id, job.to, job.what.block);
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
    // The receiver looks at what is filled after it has closed the window: one of us sees the other.
    return window.word.load(std::memory_order_seq_cst) != push_window::make(number, push_window::closed) || out();
}

int engine::impl::serve_pushes()
{
    int served = 0;
    for (std::size_t n = pushes.size(); n != 0; --n) {
        push_job job = pushes.front();
        pushes.pop_front();
        std::uint32_t const before = job.next;
        bool const over = serve(job);
        // A receiver that takes nothing must not keep us awake.
        served += over || job.next != before;
        if (over)
            work.fetch_sub(1, std::memory_order_relaxed);
        else
            pushes.push_back(job);
    }
    return served;
}

} // namespace towline::engine
