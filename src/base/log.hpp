#pragma once
// What the library says on standard error: "towline[RANK]: text", one write a line. TOWLINE_LOG=off|error|warning|info|debug (default
// warning). With debug the time stands in each line: "towline[RANK] 14:03:07.000123: text".

#include <fmt/format.h>
#include <string_view>

namespace towline::base {

enum class log_level : int { off = 0, error = 1, warning = 2, info = 3, debug = 4 };

/// The level asked for; warning where the word is unknown, which check_settings refuses.
[[nodiscard]] log_level log_threshold() noexcept;
/// The rank that stands in front of lines; -1 (none) until the process joined a job.
void set_log_rank(int rank) noexcept;
/// Writes a line, whatever the level; cut at 4000 bytes. Does not allocate.
void log_line(std::string_view text) noexcept;

/// Whether lines of this level are written; for who has to work to make one.
[[nodiscard]] inline bool logs(log_level level) noexcept
{
    return level <= log_threshold();
}

template <class... Args>
void log(log_level level, fmt::format_string<Args...> format, Args&&... args)
{
    if (logs(level))
        log_line(fmt::format(format, std::forward<Args>(args)...));
}

} // namespace towline::base
