// The slow half of an event count: sleeping, and waking sleepers.

#include "base/event_count.hpp"

#include "base/futex.hpp"

#include <cerrno>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace towline::base {

namespace {

long membarrier(int command) noexcept
{
    int const saved = errno;
    long const result = syscall(SYS_membarrier, command, 0, 0);
    errno = saved;
    return result;
}

} // namespace

bool register_membarrier() noexcept
{
    long const offered = membarrier(MEMBARRIER_CMD_QUERY);
    constexpr long needed = MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED | MEMBARRIER_CMD_GLOBAL_EXPEDITED;
    return offered >= 0 && (offered & needed) == needed && membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
}

void heavy_fence(fence_side side) noexcept
{
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (side == fence_side::sleeper_fences)
        membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

std::uint32_t event_count::prepare_wait(fence_side side) noexcept
{
    // The locked add is a full fence of this thread; the barrier makes every running thread of the registered processes fence too,
    // so a notifier whose look at `sleepers` came before this add has its earlier stores visible to the caller's next look.
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    if (side == fence_side::sleeper_fences)
        membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
    return epoch.load(std::memory_order_acquire);
}

bool event_count::wait(std::uint32_t key, std::chrono::nanoseconds timeout) noexcept
{
    bool woken = true;
    if (epoch.load(std::memory_order_acquire) == key)
        woken = futex_wait(epoch, key, timeout);
    cancel_wait();
    return woken;
}

void event_count::wake_all() noexcept
{
    epoch.fetch_add(1, std::memory_order_release);
    futex_wake_all(epoch);
}

} // namespace towline::base
