#pragma once
// The end of a command that prints: reports output that could not be written.

#include <string_view>

namespace towline::tools {

/// Writes out what standard output still holds. `code`, or exit_failed where something that was printed is lost; the reason was told then.
[[nodiscard]] int finish_output(std::string_view command, int code) noexcept;

/// For an error of printing that came as an exception: tells it; exit_failed.
[[nodiscard]] int output_failed(std::string_view command, int error) noexcept;

} // namespace towline::tools
