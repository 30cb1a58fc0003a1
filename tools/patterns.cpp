// Expands the patterns of output files.

#include "patterns.hpp"

#include "towline/error.hpp"

#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>

namespace towline::tools {

std::string expanded(std::string_view pattern, int rank, std::string_view host)
{
    std::string text;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        char const letter = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
        switch (letter) {
        case 'r': text += fmt::format("{}", rank); break;
        case 'h': text += host; break;
        case 't': text += fmt::format("{}", std::time(nullptr)); break;
        case 'g':
        case 'p': text += '0'; break;
        default: text += pattern[i]; continue;
        }
        ++i;
    }
    return text;
}

base::unique_fd pattern_files::open(char const* option, std::string const& name)
{
    int const begins = begun_.insert(name).second ? O_TRUNC : 0;
    base::unique_fd file(::open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | begins, 0666));
    if (!file)
        throw system_error(fmt::format("{} {}", option, name), errno);
    return file;
}

} // namespace towline::tools
