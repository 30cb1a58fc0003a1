// Starts agents.

#include "reach.hpp"

#include "base/clock.hpp"
#include "run.hpp"
#include "towline/error.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace towline::tools {

namespace {

/// A word for the shell of another host.
std::string quoted(std::string const& word)
{
    std::string text = "'";
    for (char const c : word)
        text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

std::vector<std::string> words_of(std::string const& text)
{
    std::vector<std::string> words;
    for (std::size_t at = 0; (at = text.find_first_not_of(" \t", at)) != text.npos;) {
        auto const end = std::min(text.find_first_of(" \t", at), text.size());
        words.push_back(text.substr(at, end - at));
        at = end;
    }
    return words;
}

/// The `towline` beside this program.
std::string own_tool()
{
    std::error_code failed;
    auto const self = std::filesystem::read_symlink("/proc/self/exe", failed);
    return failed ? std::string("towline") : (self.parent_path() / "towline").string();
}

std::vector<std::string> command_for(std::string const& host, std::string const& shell, bool here)
{
    std::string const self = own_tool();
    if (here)
        return {self, "agent"};
    auto command = words_of(shell.empty() ? "ssh -x -T -o BatchMode=yes" : shell);
    auto const program = std::filesystem::path(command.at(0)).filename();
    bool const one_line = program == "ssh" || program == "rsh";  // they give one line to a shell; others pass words on
    command.insert(command.end(), {host, one_line ? quoted(self) : self, "agent"});
    return command;
}

} // namespace

lead reach(std::string const& host, std::string const& shell, bool here, std::string const& command)
{
    auto words = command_for(host, shell, here);
    int to[2];
    int from[2];
    if (pipe2(to, O_CLOEXEC) != 0)
        throw system_error(fmt::format("pipes to host {} (ulimit -n)", host), errno);
    base::unique_fd to_read(to[0]), to_write(to[1]);
    if (pipe2(from, O_CLOEXEC) != 0)
        throw system_error(fmt::format("pipes to host {} (ulimit -n)", host), errno);
    base::unique_fd from_read(from[0]), from_write(from[1]);
    pid_t const own = getpid();
    pid_t const pid = fork();
    if (pid < 0)
        throw system_error(fmt::format("starting what leads to host {}", host), errno);
    if (pid == 0) {
        setsid();  // ^C is for the ranks; the front passes it on
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != own)
            _exit(exit_failed);
        dup2(to_read.get(), 0);
        dup2(from_write.get(), 1);
        restore_signals();
        std::vector<char*> arguments;
        for (auto& word : words)
            arguments.push_back(word.data());
        arguments.push_back(nullptr);
        execvp(arguments[0], arguments.data());
        fmt::print(stderr, "{}: {}: {}\n", command, arguments[0], std::strerror(errno));
        _exit(errno == ENOENT ? exit_not_found : exit_not_executable);
    }
    return {pid, std::make_unique<channel>(std::move(from_read), std::move(to_write))};
}

std::string how_reached(std::string const& host, std::string const& shell, bool here)
{
    return here ? "towline agent" : (shell.empty() ? "ssh" : shell) + " " + host;
}

void leave_host(lead& l)
{
    l.link.reset();
    if (l.pid <= 0)
        return;
    base::deadline const until(std::chrono::seconds(3));
    while (waitpid(l.pid, nullptr, WNOHANG) == 0) {
        if (until.passed()) {
            kill(-l.pid, SIGKILL);
            waitpid(l.pid, nullptr, 0);
            break;
        }
        usleep(2000);
    }
    l.pid = -1;
}

std::vector<std::uint32_t> starters(std::vector<bool> const& here)
{
    std::vector<std::uint32_t> by(here.size(), by_front);
    std::vector<std::uint32_t> leading;
    std::size_t turn = 0;
    for (std::size_t h = 0; h < here.size(); ++h) {
        if (here[h])
            continue;
        if (leading.size() < most_leads)
            leading.push_back(static_cast<std::uint32_t>(h));
        else
            by[h] = leading[turn++ % most_leads];
    }
    return by;
}

} // namespace towline::tools
