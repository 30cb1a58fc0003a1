#pragma once
// Settings from TOWLINE_* environment variables. A value that cannot be used is a usage_error that names the variable,
// the value and what would be right: a wrong setting is never ignored. All of them stand in settings_table.hpp, and are checked before a
// job starts.

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace towline::base {

/// The variable's value; nothing where it is unset or empty.
[[nodiscard]] std::optional<std::string_view> setting(char const* name) noexcept;

/// on, yes, true, 1 / off, no, false, 0.
[[nodiscard]] bool setting_switch(char const* name, bool otherwise);
/// A whole number.
[[nodiscard]] std::int64_t setting_number(char const* name, std::int64_t otherwise,
                                          std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                                          std::int64_t most = std::numeric_limits<std::int64_t>::max());
/// Bytes: "4096", "64K", "16M", "2G", "1T" (powers of 1024; a B or iB behind is allowed). `bare`: what a number without a unit counts.
[[nodiscard]] std::uint64_t setting_bytes(char const* name, std::uint64_t otherwise, std::uint64_t bare = 1);
/// Time: "250us", "20ms", "1.5s", "2m"; a bare number is seconds.
[[nodiscard]] std::chrono::nanoseconds setting_time(char const* name, std::chrono::nanoseconds otherwise);
/// One of some words; the index of the word.
[[nodiscard]] std::size_t setting_choice(char const* name, std::initializer_list<std::string_view> words, std::size_t otherwise);

/// The parsers behind the above; nothing where the text is not of that form (or too large).
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text, std::uint64_t bare = 1) noexcept;
[[nodiscard]] std::optional<std::chrono::nanoseconds> parse_time(std::string_view text) noexcept;
/// The same, or off, no, false, 0: the longest time.
[[nodiscard]] std::optional<std::chrono::nanoseconds> parse_time_or_off(std::string_view text) noexcept;
[[nodiscard]] std::optional<bool> parse_switch(std::string_view text) noexcept;
/// The words between commas; empty ones are left out.
[[nodiscard]] std::vector<std::string> parse_list(std::string_view text);
/// Which of the words it is; small and capital letters are the same.
[[nodiscard]] std::optional<std::size_t> find_word(std::string_view text, std::initializer_list<std::string_view> words) noexcept;

} // namespace towline::base
