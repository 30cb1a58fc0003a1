// Reads the state of a rank's process from /proc.

#include "job/process_state.hpp"

#include "base/machine.hpp"
#include "job/control.hpp"
#include "job/file.hpp"
#include "job/waits.hpp"

#include <array>
#include <cstdlib>
#include <dirent.h>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace towline::job {

namespace {

using kind = process_state::kind;

struct stat_line {
    char state = 0;
    unsigned long long ticks = 0;  ///< of processors, so far
};

/// "PID (NAME) STATE ...", where NAME may hold anything.
std::optional<stat_line> read_stat(std::string const& path)
{
    auto const line = base::first_line(path.c_str());
    auto const end_of_name = line ? line->rfind(')') : std::string::npos;
    if (end_of_name == std::string::npos)
        return std::nullopt;
    std::istringstream fields(line->substr(end_of_name + 1));
    stat_line s;
    fields >> s.state;
    std::string skipped;
    for (int field = 4; field <= 13; ++field)
        fields >> skipped;
    unsigned long long user = 0, system = 0;
    fields >> user >> system;
    s.ticks = user + system;
    return s;
}

/// States of the threads, of the first of very many.
std::string states_of_threads(pid_t pid)
{
    std::string const folder = fmt::format("/proc/{}/task", pid);
    std::unique_ptr<DIR, int (*)(DIR*)> const all(opendir(folder.c_str()), &closedir);
    std::string states;
    while (all && states.size() < 256) {
        dirent const* const entry = readdir(all.get());
        if (entry == nullptr)
            break;
        if (entry->d_name[0] == '.')
            continue;
        if (auto const s = read_stat(fmt::format("{}/{}/stat", folder, entry->d_name)))
            states += s->state;
    }
    return states;
}

std::string name_of_call(long number)
{
    static constexpr std::pair<long, char const*> known[] = {
        {SYS_clock_nanosleep, "nanosleep"}, {SYS_nanosleep, "nanosleep"}, {SYS_futex, "futex: a lock, a condition or a thread's end"},
        {SYS_read, "read"},   {SYS_readv, "read"},   {SYS_pread64, "read"},      {SYS_write, "write"},     {SYS_writev, "write"},
        {SYS_pwrite64, "write"}, {SYS_ppoll, "poll"}, {SYS_pselect6, "select"},  {SYS_epoll_pwait, "epoll"}, {SYS_wait4, "wait"},
        {SYS_waitid, "wait"}, {SYS_accept, "accept"}, {SYS_accept4, "accept"},   {SYS_connect, "connect"}, {SYS_recvfrom, "recv"},
        {SYS_recvmsg, "recv"}, {SYS_sendto, "send"}, {SYS_sendmsg, "send"},      {SYS_flock, "flock"},     {SYS_fcntl, "fcntl"},
        {SYS_fsync, "fsync"}, {SYS_openat, "open"},  {SYS_rt_sigsuspend, "sigsuspend"}, {SYS_rt_sigtimedwait, "sigwait"},
#ifdef SYS_poll
        {SYS_poll, "poll"},   {SYS_select, "select"}, {SYS_epoll_wait, "epoll"}, {SYS_pause, "pause"},     {SYS_open, "open"},
#endif
    };
    for (auto const& [call, name] : known)
        if (call == number)
            return name;
    return {};
}

/// In which the main thread is; empty: it is in none, or the kernel does not tell.
std::string call_of(pid_t pid)
{
    auto const line = base::first_line(fmt::format("/proc/{}/syscall", pid).c_str());
    if (line && !line->empty() && line->front() >= '0' && line->front() <= '9')
        return name_of_call(std::atol(line->c_str()));
    // The kernel function (wchan) needs fewer rights than the system call, and some of its names say as much.
    auto const place = base::first_line(fmt::format("/proc/{}/wchan", pid).c_str());
    for (auto const& [part, name] : {std::pair{"nanosleep", "nanosleep"}, {"futex", "futex: a lock, a condition or a thread's end"},
                                     {"pipe_read", "read"}, {"pipe_write", "write"}, {"n_tty_read", "read"}, {"do_wait", "wait"},
                                     {"poll", "poll"}, {"select", "select"}})
        if (place && place->find(part) != std::string::npos)
            return name;
    return {};
}

} // namespace

process_state look_at_process(pid_t pid)
{
    auto const main = read_stat(fmt::format("/proc/{}/stat", pid));
    if (!main)
        return {};
    std::string const states = states_of_threads(pid);
    auto const any = [&](char const* of) { return states.find_first_of(of) != std::string::npos; };
    if (any("R"))
        return {kind::computes};
    if (any("T"))
        return {kind::stopped};
    if (any("t"))
        return {kind::traced};
    if (main->state == 'D')
        return {kind::device, call_of(pid)};
    if (any("SID"))
        return {kind::sleeps, main->state == 'Z' ? std::string() : call_of(pid)};
    return {kind::gone};
}

void look_at_processes(std::span<rank_slot const> slots, std::span<rank_view> views)
{
    std::uint64_t const here = pid_namespace();
    struct sleeper {
        std::size_t rank;
        pid_t pid;
        unsigned long long ticks;
    };
    std::vector<sleeper> sleepers;
    auto const ticks_of = [](pid_t pid) { return read_stat(fmt::format("/proc/{}/stat", pid)).value_or(stat_line{}).ticks; };
    for (std::size_t r = 0; r < slots.size() && r < views.size(); ++r) {
        pid_t const pid = slots[r].pid.load(std::memory_order_relaxed);
        bool const is_here = here != 0 && slots[r].pid_namespace.load(std::memory_order_relaxed) == here;
        if (views[r].is != rank_view::state::running || pid <= 0 || !is_here)
            continue;
        auto const ticks = ticks_of(pid);
        views[r].process = look_at_process(pid);
        if (views[r].process.is == kind::sleeps && !views[r].wait)
            sleepers.push_back({r, pid, ticks});
    }
    if (sleepers.empty())
        return;
    usleep(20'000);
    for (auto const& s : sleepers) {
        auto const again = look_at_process(s.pid);
        views[s.rank].process = ticks_of(s.pid) != s.ticks ? process_state{kind::computes} : again;
    }
}

} // namespace towline::job
