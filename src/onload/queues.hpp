#pragma once
// The task queue and the signal queue between threads that have copies to do and the helper that does them.
//
// The task queue is a ring of slots. `submit` fills the next slot and moves `tail`; the helper goes from slot to slot. The bytes of a task
// are cut into chunks, which the helper and the thread that polls claim one by one from the slot's counter: so two cores copy one task, and
// neither waits for the other. Whoever ends the last chunk of a task ends the task: the helper by the signal queue (a ring of positions,
// it writes and the poller reads), the poller by itself. A slot is free again when its end was polled, hence signals always have room.
//
// Who writes what: `tail` and the task in a free slot, submitters, one at a time; `head`, the signal queue's tail, the helper; the signal
// queue's head and the freeing of slots, the poller. A claim carries the low half of the slot's position, so that who comes late claims
// nothing of the task that has the slot next.

#include "onload/copy_engine.hpp"
#include "onload/move.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace towline::onload {

struct alignas(64) task_slot {
    /// Low half of the position in the upper half, chunks that nobody has claimed in the lower. Released by submit, behind everything
    /// below.
    std::atomic<std::uint64_t> claim{0};
    std::atomic<std::uint32_t> ended{0};   ///< chunks
    std::atomic<int> error{0};             ///< of the first chunk that failed
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> onloaded{0};
    std::atomic<bool> taken{false};        ///< from submit to the poll of its end

    // Written by submit.
    range one{};
    std::span<range const> ranges;  ///< `one`, or the submitter's
    reach where = reach::here;
    int pid = 0;
    void* context = nullptr;
    std::uint64_t total = 0;
    std::uint64_t chunk = 0;   ///< bytes
    std::uint32_t chunks = 0;
};

/// Where in a list of ranges a worker is, so that chunks claimed in their order do not walk it from its begin.
struct list_place {
    std::uint64_t position = ~std::uint64_t{0};
    std::size_t index = 0;
    std::uint64_t before = 0;  ///< bytes in front of ranges[index]
};

class queues {
public:
    /// `slots` is a power of two; `chunk` are the bytes that are claimed at once.
    queues(std::uint32_t slots, std::uint64_t chunk)
        : mask_(slots - 1), chunk_(chunk), slots_(std::make_unique<task_slot[]>(slots)), signals_(std::make_unique<std::uint64_t[]>(slots))
    {
    }

    // Submitters, one at a time.
    [[nodiscard]] ticket push(task const&) noexcept;

    // The helper.
    /// Copies a chunk of the oldest task that has one; false: there is none. `signalled` becomes true where a task ended.
    [[nodiscard]] bool work(bool& signalled) noexcept;
    /// There may be something to do. Any thread.
    [[nodiscard]] bool waiting() const noexcept
    {
        return head_.load(std::memory_order_relaxed) != tail_.load(std::memory_order_acquire);
    }

    // The poller.
    [[nodiscard]] bool help() noexcept;
    [[nodiscard]] std::size_t poll(std::span<completion>) noexcept;
    /// No helper any more: what has chunks left ends with ECANCELED.
    void cancel() noexcept;

    [[nodiscard]] bool signalled() const noexcept
    {
        return signal_head_.load(std::memory_order_relaxed) != signal_tail_.load(std::memory_order_acquire) ||
               own_ends_.load(std::memory_order_relaxed) != 0;
    }
    [[nodiscard]] std::size_t under_way() const noexcept
    {
        std::uint64_t const polled = polled_.load(std::memory_order_acquire);
        return static_cast<std::size_t>(tail_.load(std::memory_order_acquire) - polled);
    }

private:
    [[nodiscard]] task_slot& slot(std::uint64_t position) const noexcept { return slots_[position & mask_]; }
    /// Claims chunks of that task, at most so many: how many, with the number of the first; 0: none is left (or the slot is another
    /// task's).
    [[nodiscard]] static std::uint32_t claim(task_slot&, std::uint64_t position, std::uint32_t most, std::uint32_t& first) noexcept;
    /// Copies a claimed chunk. True where the task has ended with it.
    [[nodiscard]] static bool copy(task_slot&, std::uint64_t position, std::uint32_t chunk, list_place&, bool helper) noexcept;
    [[nodiscard]] static bool end_chunks(task_slot&, std::uint32_t count) noexcept;
    void note_own_end(std::uint64_t position) noexcept;

    std::uint64_t const mask_;
    std::uint64_t const chunk_;
    std::unique_ptr<task_slot[]> const slots_;
    std::unique_ptr<std::uint64_t[]> const signals_;
    alignas(64) std::atomic<std::uint64_t> tail_{0};
    alignas(64) std::atomic<std::uint64_t> head_{0};  ///< everything before has no chunk left
    std::atomic<std::uint64_t> signal_tail_{0};
    list_place helper_place_;
    alignas(64) std::atomic<std::uint64_t> signal_head_{0};
    std::atomic<std::uint64_t> polled_{0};    ///< ends told
    std::atomic<std::uint32_t> own_ends_{0};  ///< in `ends_`: tasks that the poller ended itself
    std::uint64_t first_ = 0;                 ///< the poller's head: everything before has no chunk left
    list_place poller_place_;
    std::unique_ptr<std::uint64_t[]> const ends_ = std::make_unique<std::uint64_t[]>(mask_ + 1);
};

} // namespace towline::onload
