#pragma once
// An event count: sleep until somebody says that something happened, without a lock around the condition
// and without a system call, a fence or a shared write on the notifier's side while nobody sleeps.
// Lives in shared memory: every process of a job may notify, the owner's threads wait.
// Source: D. Vyukov, "Eventcounts"; the missing fence: asymmetric Dekker with membarrier(2).

#include <atomic>
#include <chrono>
#include <cstdint>

namespace towline::base {

/// How a notifier makes its earlier stores visible before it looks for sleepers.
/// `sleeper_fences`: the sleeper issues an expedited global memory barrier, the notifier pays nothing.
/// `notifier_fences`: membarrier(2) is not available, each notify pays a full fence (about 8 ns).
/// All processes of a job use the same; the launcher decides once and writes it into the job's control block.
enum class fence_side : std::uint32_t { sleeper_fences = 0, notifier_fences = 1 };

/// Registers this process for expedited global barriers; false where the kernel refuses.
bool register_membarrier() noexcept;

/// The two halves of an asymmetric fence, around a store and a later load of somebody else's store. Of two threads that each store and then
/// load what the other stored, one by `light_fence` and the other by `heavy_fence`, at least one sees the other's store.
inline void light_fence(fence_side side) noexcept
{
    if (side == fence_side::sleeper_fences)
        std::atomic_signal_fence(std::memory_order_seq_cst);
    else
        std::atomic_thread_fence(std::memory_order_seq_cst);
}
/// Costs a system call under `sleeper_fences`.
void heavy_fence(fence_side side) noexcept;

struct alignas(64) event_count {
    std::atomic<std::uint32_t> epoch{0};
    std::atomic<std::uint32_t> sleepers{0};

    /// Announces that the caller may sleep. Check the condition again after this; then `wait` or `cancel_wait`.
    /// Costs a system call under `sleeper_fences`: call it after spinning, never before.
    [[nodiscard]] std::uint32_t prepare_wait(fence_side side) noexcept;
    void cancel_wait() noexcept { sleepers.fetch_sub(1, std::memory_order_release); }
    /// Sleeps until a notify after `prepare_wait`, a signal, or the timeout; true unless it timed out. Ends the announcement.
    bool wait(std::uint32_t key, std::chrono::nanoseconds timeout) noexcept;

    /// Call after the store that makes the condition true. Any thread of any process. No system call without a sleeper.
    void notify(fence_side side) noexcept
    {
        if (side == fence_side::notifier_fences)
#if defined(__SANITIZE_THREAD__)
            sleepers.fetch_add(0, std::memory_order_seq_cst);  // a full fence that the thread sanitizer understands
#else
            std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
        else
            std::atomic_signal_fence(std::memory_order_seq_cst);
        if (sleepers.load(std::memory_order_relaxed) != 0)
            wake_all();
    }
    /// Bumps the epoch and wakes every sleeper.
    void wake_all() noexcept;
};
static_assert(sizeof(event_count) == 64);

/// A peer's event count, for callers that notify it often.
struct sleeper {
    event_count* event = nullptr;  ///< null: nobody ever sleeps there
    fence_side side{};

    void notify() const noexcept
    {
        if (event != nullptr)
            event->notify(side);
    }
};

} // namespace towline::base
