// Looks for a program along PATH.

#include "find_program.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace towline::tools {

namespace {

/// As exec will see it: from inside the folder.
std::string seen_from(std::string const& folder, std::string const& path)
{
    return folder.empty() || path.starts_with('/') ? path : folder + '/' + path;
}

int why_not(std::string const& candidate)
{
    struct stat about {};
    if (stat(candidate.c_str(), &about) != 0)
        return errno == EACCES ? EACCES : ENOENT;
    if (S_ISDIR(about.st_mode))
        return EISDIR;
    return access(candidate.c_str(), X_OK) == 0 ? 0 : EACCES;
}

} // namespace

int find_program(std::string const& command, program_part const& part, std::string& path)
{
    std::string const& name = part.command.at(0);
    int worst = ENOENT;
    auto search = [&](std::string_view rest) {
        for (bool last = false; !last && worst != 0 && !name.empty();) {
            auto const colon = rest.find(':');
            last = colon == rest.npos;
            auto const folder = rest.substr(0, colon);
            rest.remove_prefix(last ? rest.size() : colon + 1);
            std::string const candidate = folder.empty() ? "./" + name : fmt::format("{}/{}", folder, name);
            std::string const seen = seen_from(part.folder, candidate);
            // A folder that this user may not search has nothing for it, as in a shell.
            int const found = access(seen.c_str(), F_OK) == 0 ? why_not(seen) : ENOENT;
            if (found == 0 || (found == EACCES && worst == ENOENT)) {
                worst = found;
                path = candidate;
            }
        }
    };
    bool const is_path = name.find('/') != name.npos;
    if (is_path) {
        path = name;
        worst = why_not(seen_from(part.folder, name));
    } else {
        if (!part.search.empty())
            search(part.search);
        char const* variable = std::getenv("PATH");
        if (worst != 0)
            search(variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin");
    }
    if (worst == 0)
        return 0;
    if (worst == ENOENT) {
        std::string hint;
        if (!is_path && why_not(seen_from(part.folder, "./" + name)) == 0)
            hint = fmt::format("; did you mean ./{}?", name);
        fmt::print(stderr, "{}: {}: {}{}\n", command, name, is_path ? "no such file" : "not found in PATH", hint);
        return exit_not_found;
    }
    fmt::print(stderr, "{}: {}: {}\n", command, path.empty() ? name : path, worst == EISDIR ? "is a directory" : "not executable");
    return exit_not_executable;
}

int check_folder(std::string const& command, std::string const& folder)
{
    if (folder.empty())
        return 0;
    struct stat about {};
    char const* wrong = nullptr;
    if (stat(folder.c_str(), &about) != 0)
        wrong = std::strerror(errno);
    else if (!S_ISDIR(about.st_mode))
        wrong = std::strerror(ENOTDIR);
    else if (access(folder.c_str(), X_OK) != 0)
        wrong = std::strerror(errno);
    if (wrong == nullptr)
        return 0;
    fmt::print(stderr, "{}: working directory {}: {}\n", command, folder, wrong);
    return exit_failed;
}

} // namespace towline::tools
