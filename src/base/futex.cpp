// The system calls of futexes.

#include "base/futex.hpp"

#include <cerrno>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace towline::base {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) && std::atomic<std::uint32_t>::is_always_lock_free);

bool futex_wait(std::atomic<std::uint32_t> const& word, std::uint32_t expected, std::chrono::nanoseconds timeout) noexcept
{
    constexpr std::chrono::nanoseconds for_ever = std::chrono::hours(24 * 365 * 100);
    int const saved = errno;
    timespec limit{};
    timespec* argument = nullptr;
    if (timeout < for_ever) {
        if (timeout.count() < 0)
            timeout = std::chrono::nanoseconds::zero();
        limit.tv_sec = static_cast<std::time_t>(timeout.count() / 1'000'000'000);
        limit.tv_nsec = static_cast<long>(timeout.count() % 1'000'000'000);
        argument = &limit;
    }
    long const result = syscall(SYS_futex, &word, FUTEX_WAIT, expected, argument, nullptr, 0);
    bool const timed_out = result != 0 && errno == ETIMEDOUT;
    errno = saved;
    return !timed_out;
}

void futex_wake(std::atomic<std::uint32_t> const& word, int count) noexcept
{
    int const saved = errno;
    syscall(SYS_futex, &word, FUTEX_WAKE, count, nullptr, nullptr, 0);
    errno = saved;
}

void futex_wake_all(std::atomic<std::uint32_t> const& word) noexcept
{
    futex_wake(word, INT_MAX);
}

} // namespace towline::base
