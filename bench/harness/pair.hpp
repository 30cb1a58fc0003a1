#pragma once
// Two pinned processes: this one and a forked partner.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace bench {

/// The cores this process was given when it started, in order.
[[nodiscard]] std::vector<int> const& cores();
/// Pins the calling process to the n-th of them (modulo their number); a world of one core is measured unpinned.
void pin(int n);

/// A `pause` in a spin.
inline void relax() noexcept
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/// Zeroed memory that forked children share with their parent (an unnamed memfd). Its pages come when they are touched: warm up.
[[nodiscard]] std::byte* shared_memory(std::size_t size);

/// A forked child that runs `work` on the second core and then ends. It dies with its parent; the destructor kills and reaps it.
/// Fork before the process starts threads.
class partner {
public:
    explicit partner(std::function<void()> work, int core = 1);
    ~partner();
    partner(partner const&) = delete;
    partner& operator=(partner const&) = delete;
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

private:
    pid_t pid_ = -1;
};

/// Where a partner that spins during a turn sleeps between turns. Lives in shared memory; one waiter.
class doorbell {
public:
    /// Sleeps until `ring` was called more often than this was.
    void wait() noexcept;
    void ring() noexcept;

private:
    std::atomic<std::uint32_t> rung_{0};
    std::uint32_t seen_ = 0;
};

/// A path for a Unix socket of this process, in a folder that is removed at the end.
class socket_path {
public:
    socket_path();
    ~socket_path();
    socket_path(socket_path const&) = delete;
    socket_path& operator=(socket_path const&) = delete;
    [[nodiscard]] std::string const& str() const noexcept { return path_; }

private:
    std::string path_;
    pid_t owner_;
};

} // namespace bench
