// Checks the settings of a command before it runs.

#include "settings.hpp"

#include "base/log.hpp"
#include "base/settings_table.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace towline::tools {

void check_settings(run_options const& options)
{
    std::vector<std::string> told;
    for (auto const& part : options.parts) {
        // Settings are inherited in any case (see keeper_start.cpp). What a program is given last stands first.
        std::vector<std::string> given;
        for (auto const* change : {&part.environment, &options.environment})
            for (auto one = change->set.rbegin(); one != change->set.rend(); ++one)
                given.push_back(one->first + '=' + one->second);
        std::vector<char const*> variables;
        for (auto const& text : given)
            variables.push_back(text.c_str());
        auto const ours = base::environment();
        variables.insert(variables.end(), ours.begin(), ours.end());
        base::check_settings(variables);
        for (auto& line : base::unknown_settings(variables))
            if (std::find(told.begin(), told.end(), line) == told.end())
                told.push_back(std::move(line));
    }
    for (auto const& line : told)
        base::log(base::log_level::warning, "{}", line);
}

} // namespace towline::tools
