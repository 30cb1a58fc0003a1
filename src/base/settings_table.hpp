#pragma once
// All settings: the environment variables TOWLINE_* that a user may set. Each has one line here, from which the check at the start of a
// job, `towline info` and the table in docs/settings.md come. Code that reads a setting uses settings.hpp.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace towline::base {

struct setting_entry {
    char const* name;
    char const* form;       ///< what the value may be; reads on after "is not"
    char const* otherwise;  ///< what holds where the variable is unset or empty
    char const* meaning;    ///< one line
    bool (*fits)(std::string_view value);
};

/// In the order of docs/settings.md.
[[nodiscard]] std::span<setting_entry const> settings_table() noexcept;

/// The variables of a process or of one that will be started, each "NAME=VALUE". Of a name that stands there twice the first counts.
using variables = std::span<char const* const>;
/// Those of this process; valid until it changes its environment.
[[nodiscard]] variables environment() noexcept;

/// Throws usage_error, which names every setting whose value cannot be used, and what would be right.
void check_settings(variables = environment());
/// The same for one setting of this process, by its name in the table. Unset or empty is right.
void check_setting(std::string_view name);
/// A line for each variable TOWLINE_* that is no setting and that neither the launcher nor the tests set, with the nearest setting.
[[nodiscard]] std::vector<std::string> unknown_settings(variables = environment());
/// Logs these lines as warnings, once in a process.
void tell_unknown_settings();

} // namespace towline::base
