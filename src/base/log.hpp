#pragma once
// What the library says on standard error: "towline[RANK]: text", one write a line. TOWLINE_LOG=off|error|warning|info|debug (default
// warning).

#include <fmt/format.h>
#include <string_view>

namespace towline::base {

enum class log_level : int { off = 0, error = 1, warning = 2, info = 3, debug = 4 };

/// The level asked for; an unknown word counts as debug, and is said once.
[[nodiscard]] log_level log_threshold() noexcept;
/// The rank that stands in front of lines; -1 (none) until the process joined a job.
void set_log_rank(int rank) noexcept;
/// Writes a line, whatever the level; cut at 4000 bytes. Does not allocate.
void log_line(std::string_view text) noexcept;

template <class... Args>
void log(log_level level, fmt::format_string<Args...> format, Args&&... args)
{
    if (level <= log_threshold())
        log_line(fmt::format(format, std::forward<Args>(args)...));
}

} // namespace towline::base
