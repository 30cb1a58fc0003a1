#include "base/log.hpp"

#include "base/settings.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace towline::base {

namespace {

std::atomic<int> log_rank{-1};

log_level read_threshold() noexcept
{
    auto const text = setting("TOWLINE_LOG");
    if (!text)
        return log_level::warning;
    constexpr std::array<std::string_view, 5> words{"off", "error", "warning", "info", "debug"};
    for (std::size_t i = 0; i < words.size(); ++i)
        if (*text == words[i])
            return static_cast<log_level>(i);
    log_line("TOWLINE_LOG is not one of off, error, warning, info, debug: everything will be said");
    return log_level::debug;
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
    auto const head = rank < 0 ? fmt::format_to_n(line.data(), 64, "towline: ") : fmt::format_to_n(line.data(), 64, "towline[{}]: ", rank);
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
