// Reads and parses TOWLINE_* variables.

#include "base/settings.hpp"

#include "towline/error.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace towline::base {

namespace {

[[noreturn]] void refuse(char const* name, std::string_view value, std::string const& wanted)
{
    throw usage_error(fmt::format("{}='{}' is not {}", name, value, wanted));
}

bool equal_no_case(std::string_view a, std::string_view b) noexcept
{
    if (a.size() != b.size())
        return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if ((a[i] >= 'A' && a[i] <= 'Z' ? a[i] + 32 : a[i]) != b[i])
            return false;
    return true;
}

bool any_of(std::string_view text, std::initializer_list<std::string_view> words) noexcept
{
    return find_word(text, words).has_value();
}

} // namespace

std::vector<std::string> parse_list(std::string_view text)
{
    std::vector<std::string> all;
    for (std::size_t at = 0; at <= text.size();) {
        auto const end = std::min(text.find(',', at), text.size());
        if (end > at)
            all.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    return all;
}

std::optional<std::size_t> find_word(std::string_view text, std::initializer_list<std::string_view> words) noexcept
{
    std::size_t index = 0;
    for (auto word : words) {
        if (equal_no_case(text, word))
            return index;
        ++index;
    }
    return std::nullopt;
}

std::optional<std::string_view> setting(char const* name) noexcept
{
    char const* value = std::getenv(name);
    if (value == nullptr || *value == '\0')
        return std::nullopt;
    return value;
}

std::optional<bool> parse_switch(std::string_view text) noexcept
{
    if (any_of(text, {"on", "yes", "true", "1"}))
        return true;
    if (any_of(text, {"off", "no", "false", "0"}))
        return false;
    return std::nullopt;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text, std::uint64_t bare) noexcept
{
    std::uint64_t number = 0;
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed != std::errc{})
        return std::nullopt;
    std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    unsigned shift = 0;
    if (unit.empty())
        return number > std::numeric_limits<std::uint64_t>::max() / bare ? std::nullopt : std::optional(number * bare);
    if (any_of(unit, {"b"}))
        shift = 0;
    else if (any_of(unit, {"k", "kb", "kib"}))
        shift = 10;
    else if (any_of(unit, {"m", "mb", "mib"}))
        shift = 20;
    else if (any_of(unit, {"g", "gb", "gib"}))
        shift = 30;
    else if (any_of(unit, {"t", "tb", "tib"}))
        shift = 40;
    else
        return std::nullopt;
    if (number > (std::numeric_limits<std::uint64_t>::max() >> shift))
        return std::nullopt;
    return number << shift;
}

std::optional<std::chrono::nanoseconds> parse_time(std::string_view text) noexcept
{
    double number = 0;
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed != std::errc{} || !std::isfinite(number) || number < 0)
        return std::nullopt;
    std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    double factor = 0;
    if (any_of(unit, {"", "s"}))
        factor = 1e9;
    else if (any_of(unit, {"ms"}))
        factor = 1e6;
    else if (any_of(unit, {"us"}))
        factor = 1e3;
    else if (any_of(unit, {"ns"}))
        factor = 1;
    else if (any_of(unit, {"m", "min"}))
        factor = 60e9;
    else if (any_of(unit, {"h"}))
        factor = 3600e9;
    else
        return std::nullopt;
    if (number * factor > 9e18)
        return std::nullopt;
    return std::chrono::nanoseconds(static_cast<std::int64_t>(number * factor));
}

std::optional<std::chrono::nanoseconds> parse_time_or_off(std::string_view text) noexcept
{
    return parse_switch(text) == false ? std::chrono::nanoseconds::max() : parse_time(text);
}

bool setting_switch(char const* name, bool otherwise)
{
    auto const text = setting(name);
    if (!text)
        return otherwise;
    auto const value = parse_switch(*text);
    if (!value)
        refuse(name, *text, "a switch: write on or off");
    return *value;
}

std::int64_t setting_number(char const* name, std::int64_t otherwise, std::int64_t least, std::int64_t most)
{
    auto const text = setting(name);
    if (!text)
        return otherwise;
    std::int64_t value = 0;
    auto const [end, failed] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (failed != std::errc{} || end != text->data() + text->size() || value < least || value > most)
        refuse(name, *text, fmt::format("a whole number from {} to {}", least, most));
    return value;
}

std::uint64_t setting_bytes(char const* name, std::uint64_t otherwise, std::uint64_t bare)
{
    auto const text = setting(name);
    if (!text)
        return otherwise;
    auto const value = parse_bytes(*text, bare);
    if (!value)
        refuse(name, *text, "a size: write bytes, or a number with K, M, G or T behind it");
    return *value;
}

std::chrono::nanoseconds setting_time(char const* name, std::chrono::nanoseconds otherwise)
{
    auto const text = setting(name);
    if (!text)
        return otherwise;
    auto const value = parse_time(*text);
    if (!value)
        refuse(name, *text, "a time: write seconds, or a number with ns, us, ms, s, m or h behind it");
    return *value;
}

std::size_t setting_choice(char const* name, std::initializer_list<std::string_view> words, std::size_t otherwise)
{
    auto const text = setting(name);
    if (!text)
        return otherwise;
    if (auto const index = find_word(*text, words))
        return *index;
    refuse(name, *text, fmt::format("one of: {}", fmt::join(words, ", ")));
}

} // namespace towline::base
