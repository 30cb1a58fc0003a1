// Writes lines of the log to standard error.

#include "base/log.hpp"

#include "base/settings.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <time.h>
#include <unistd.h>

namespace towline::base {

namespace {

std::atomic<int> log_rank{-1};

log_level read_threshold() noexcept
{
    auto const text = setting("TOWLINE_LOG");
    if (!text)
        return log_level::warning;
    if (auto const word = find_word(*text, {"off", "error", "warning", "info", "debug"}))
        return static_cast<log_level>(*word);
    return log_level::warning;
}

/// " 14:03:07.000123", wall-clock time, so that the lines of all ranks can be sorted.
char* write_time(char* to) noexcept
{
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    tm fields{};
    localtime_r(&now.tv_sec, &fields);
    return fmt::format_to_n(to, 32, " {:02}:{:02}:{:02}.{:06}", fields.tm_hour, fields.tm_min, fields.tm_sec, now.tv_nsec / 1000).out;
}

} // namespace

log_level log_threshold() noexcept
{
    static log_level const level = read_threshold();
    return level;
}

void set_log_rank(int rank) noexcept
{
    log_rank.store(rank, std::memory_order_relaxed);
}

void log_line(std::string_view text) noexcept
{
    std::array<char, 4096> line;
    int const rank = log_rank.load(std::memory_order_relaxed);
    char* at = fmt::format_to_n(line.data(), 8, "towline").out;
    if (rank >= 0)
        at = fmt::format_to_n(at, 16, "[{}]", rank).out;
    if (log_threshold() == log_level::debug)
        at = write_time(at);
    auto const head = fmt::format_to_n(at, 2, ": ");
    std::size_t const length = std::min(text.size(), std::size_t{4000});
    std::memcpy(head.out, text.data(), length);
    char* end = head.out + length;
    *end++ = '\n';
    int const saved = errno;
    char const* from = line.data();
    while (from < end) {
        ssize_t const written = ::write(STDERR_FILENO, from, static_cast<std::size_t>(end - from));
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            break;
        from += written;
    }
    errno = saved;
}

} // namespace towline::base
