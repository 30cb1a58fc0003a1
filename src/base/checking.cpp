// Parses TOWLINE_CHECK.

#include "base/checking.hpp"

#include "base/settings.hpp"
#include "base/settings_table.hpp"

namespace towline::base {

std::optional<unsigned> parse_checks(std::string_view text) noexcept
{
    if (auto const all = parse_switch(text))
        return *all ? ~0u : 0u;
    unsigned set = 0;
    for (std::string_view rest = text;;) {
        auto const comma = rest.find(',');
        auto const word = find_word(rest.substr(0, comma), {"collectives", "types"});
        if (!word)
            return std::nullopt;
        set |= 1u << *word;
        if (comma == std::string_view::npos)
            return set;
        rest.remove_prefix(comma + 1);
    }
}

bool checking(check what)
{
    static unsigned const set = [] {
        check_setting("TOWLINE_CHECK");
        return parse_checks(setting("TOWLINE_CHECK").value_or("off")).value_or(0);
    }();
    return (set & static_cast<unsigned>(what)) != 0;
}

} // namespace towline::base
