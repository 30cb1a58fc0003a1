// Walks through /proc for descendants, and ends them.

#include "processes.hpp"

#include "base/clock.hpp"
#include "base/machine.hpp"
#include "job/file.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <signal.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace towline::tools {

namespace {

struct process {
    pid_t parent = 0;
    bool living = false;
};

/// "PID (NAME) STATE PPID ...", where NAME may hold anything.
process read_process(pid_t pid)
{
    auto const line = base::first_line(fmt::format("/proc/{}/stat", pid).c_str());
    if (!line)
        return {};
    auto const end_of_name = line->rfind(')');
    if (end_of_name == std::string::npos || end_of_name + 4 >= line->size())
        return {};
    char const state = (*line)[end_of_name + 2];
    return {static_cast<pid_t>(std::atoi(line->c_str() + end_of_name + 4)), state != 'Z' && state != 'X'};
}

} // namespace

std::vector<pid_t> descendants(pid_t of)
{
    std::multimap<pid_t, std::pair<pid_t, bool>> children;
    DIR* folder = opendir("/proc");
    if (folder == nullptr)
        return {};
    while (dirent const* entry = readdir(folder)) {
        if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0)
            continue;
        pid_t const pid = std::atoi(entry->d_name);
        auto const p = read_process(pid);
        if (p.parent != 0)
            children.emplace(p.parent, std::pair(pid, p.living));
    }
    closedir(folder);
    std::vector<pid_t> living;
    std::vector<pid_t> todo{of};
    while (!todo.empty()) {
        auto const [from, to] = children.equal_range(todo.back());
        todo.pop_back();
        for (auto child = from; child != to; ++child) {
            todo.push_back(child->second.first);
            if (child->second.second)
                living.push_back(child->second.first);
        }
    }
    return living;
}

bool is_descendant(pid_t child, pid_t of)
{
    for (int depth = 0; depth < 1000 && child > 1; ++depth) {
        child = read_process(child).parent;
        if (child == of)
            return true;
    }
    return false;
}

process_facts facts_of(pid_t pid)
{
    auto const line = base::first_line(fmt::format("/proc/{}/stat", pid).c_str());
    auto const end_of_name = line ? line->rfind(')') : std::string::npos;
    if (end_of_name == std::string::npos)
        return {};
    // Fields 3, 4 and 22: state, parent, and when it began in clock ticks since the machine did.
    std::istringstream fields(line->substr(end_of_name + 1));
    std::string state;
    process_facts facts;
    fields >> state >> facts.parent;
    unsigned long long field = 0;
    for (int i = 5; i <= 22; ++i)
        fields >> field;
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    double const begin = static_cast<double>(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
    facts.age_seconds = std::max(0.0, static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 - begin);
    return facts;
}

bool childless() noexcept
{
    pid_t reaped = 0;
    do
        reaped = waitpid(-1, nullptr, WNOHANG);
    while (reaped > 0 || (reaped < 0 && errno == EINTR));
    return reaped < 0;
}

bool kill_descendants(int patience_ms, std::vector<pid_t> const& but)
{
    base::deadline const end{std::chrono::milliseconds(patience_ms)};
    for (;;) {
        if (childless())
            return true;
        auto left = descendants(getpid());
        std::erase_if(left, [&](pid_t pid) {
            return std::ranges::any_of(but, [&](pid_t stays) { return pid == stays || is_descendant(pid, stays); });
        });
        if (left.empty() && !but.empty())
            return true;
        if (end.passed())
            return false;
        for (pid_t const pid : left)
            kill(pid, SIGKILL);
        usleep(2000);
    }
}

std::string describe_signal(int number)
{
    char const* abbreviation = sigabbrev_np(number);
    if (abbreviation == nullptr)
        return fmt::format("signal {}", number);
    return fmt::format("signal {} (SIG{}, {})", number, abbreviation, sigdescr_np(number));
}

int exit_code(int status) noexcept
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string preload_library()
{
    Dl_info about{};
    if (dladdr(reinterpret_cast<void const*>(&job::create_job_file), &about) == 0 || about.dli_fname == nullptr)
        return {};
    std::unique_ptr<char, void (*)(void*)> const path(realpath(about.dli_fname, nullptr), &std::free);
    if (!path)
        return {};
    std::string const library(path.get());
    std::string const found = library.substr(0, library.rfind('/') + 1) + "libtowline-malloc.so";
    return access(found.c_str(), R_OK) == 0 ? found : std::string();
}

unsigned long raise_descriptor_limit() noexcept
{
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    unsigned long const old = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    return old;
}

void restore_descriptor_limit(unsigned long soft) noexcept
{
    rlimit limit{};
    if (soft == 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = soft;
    setrlimit(RLIMIT_NOFILE, &limit);
}

} // namespace towline::tools
