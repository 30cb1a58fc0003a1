// How ranks end, and the job with them.

#include "keeper.hpp"

#include "processes.hpp"
#include "stats.hpp"
#include "towline/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace towline::tools {

namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t told = -1;  // member_gone_ns of a member whose end has been dealt with

} // namespace

// --- ranks


void keeper::reap()
{
    for (;;) {
        siginfo_t next{};
        if (waitid(P_ALL, 0, &next, WEXITED | WNOHANG | WNOWAIT) != 0 || next.si_pid == 0)
            return;
        // While it is a zombie, /proc tells of it.
        bool const killed = (next.si_code != CLD_EXITED && next.si_status == SIGKILL) ||
                            (next.si_code == CLD_EXITED && next.si_status == 128 + SIGKILL);
        std::string const why = killed && !ending_ && asked_to_end_ == 0 ? memory_->why(next.si_pid) : std::string();
        int status = 0;
        if (waitpid(next.si_pid, &status, 0) != next.si_pid)
            return;
        for (std::size_t r = 0; r < ranks_.size(); ++r)
            if (ranks_[r].pid == next.si_pid && ranks_[r].running)
                ended(static_cast<int>(r), status, why);
    }
}

void keeper::ended(int rank, int status, std::string const& why)
{
    auto& process = ranks_[static_cast<std::size_t>(rank)];
    auto& slot = view_->slots()[static_cast<std::size_t>(rank)];
    process.running = false;
    auto const state = static_cast<job::rank_state>(slot.state.load());
    int const code = exit_code(status);
    note_code(code);
    if (code == 0 && state != job::rank_state::joined) {
        // A program that never joined: no rank can wait for it.
        if (state == job::rank_state::empty)
            view_->mark_dead(rank, status);
        return;
    }
    if (code == 0)
        note_code(1);
    bool const as_asked = asked_to_end_ != 0 && (code == 128 + asked_to_end_ || code == 128 + SIGKILL);
    bool const unread = (output_refused_ || errors_refused_) && code == 128 + SIGPIPE;
    bool const alone = here_ == 1 && hub_ == nullptr && WIFEXITED(status) && state != job::rank_state::joined;
    bool const first = !ending_;
    if (first && !as_asked && !unread && !alone) {
        std::string how;
        if (WIFSIGNALED(status))
            how = fmt::format("was killed by {}{}", describe_signal(WTERMSIG(status)), why);
        else if (state == job::rank_state::joined && (slot.marks.load() & job::mark_unfinished) != 0)
            how = fmt::format("ended with exit code {}, and has not called MPI_Finalize", code);
        else if (code == 0)
            how = "ended without leaving the job (exit code 0)";
        else if (code > 128 && sigabbrev_np(code - 128) != nullptr && slot.pid.load() != 0 && slot.pid.load() != process.pid)
            how = fmt::format("ended with exit code {}: its program (pid {}) was killed by {}{}", code, slot.pid.load(),
                              describe_signal(code - 128), why);
        else
            how = fmt::format("ended with exit code {}", code);
        report(rank, how);
    }
    if (first && !options_.keep_going && !as_asked)
        end_job();
    kill(-process.pid, SIGKILL);  // what it leaves behind in its group
    view_->mark_dead(rank, status);
}

void keeper::watch_members()
{
    std::int64_t const now = base::monotonic_ns();
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
        auto& process = ranks_[r];
        auto& slot = view_->slots()[r];
        auto const joined = [&] { return slot.state.load() == static_cast<std::uint32_t>(job::rank_state::joined); };
        if (!process.running)
            continue;
        if (!process.member && process.member_gone_ns == 0) {
            pid_t const pid = slot.pid.load();
            if (!joined() || pid == process.pid || slot.pid_namespace.load() != own_namespace_)
                continue;
            process.member.reset(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
            if (process.member && !is_descendant(pid, getpid()))
                process.member.reset();  // the number is another's by now
            if (!process.member)
                process.member_gone_ns = now;
        }
        if (process.member_gone_ns > 0 && now - process.member_gone_ns > 200 * ms) {
            // Its wrapper had time to end with it, and did not.
            process.member_gone_ns = told;
            if (joined())
                member_vanished(static_cast<int>(r));
        }
    }
}

void keeper::member_vanished(int rank)
{
    auto& slot = view_->slots()[static_cast<std::size_t>(rank)];
    if (!ending_)
        report(rank, fmt::format("ended without leaving the job: its program was pid {}, its wrapper still runs", slot.pid.load()));
    note_code(1);
    if (!options_.keep_going)
        end_job();
    view_->mark_dead(rank, 0);
}

void keeper::report(int rank, std::string const& how)
{
    auto const& slot = view_->slots()[static_cast<std::size_t>(rank)];
    if (options_.quiet || (slot.marks.load() & job::mark_explained) != 0)
        return;
    std::string const waits = job::view_of(slot).note;
    say(fmt::format("towline: rank {} (pid {} on {}) {}{}; {}", rank, ranks_[static_cast<std::size_t>(rank)].pid, host_, how,
                    waits.empty() ? "" : fmt::format(", while it waited for {}", waits),
                    options_.keep_going ? "the others go on" : "the job is ended"));
}

// --- ending

void keeper::signal_ranks(int number)
{
    for (auto const& r : ranks_)
        if (r.running)
            kill(-r.pid, number);
}

void keeper::end_job()
{
    if (ending_)
        return;
    ending_ = true;
    if (hub_)
        hub_->tell_end(code_);
    signal_ranks(SIGTERM);
    signal_ranks(SIGCONT);  // a stopped process would not see it
    kill_at_ns_ = base::monotonic_ns() + 500 * ms;
}

void keeper::kill_all()
{
    ending_ = true;
    signal_ranks(SIGKILL);
    for (pid_t const pid : descendants(getpid()))
        kill(pid, SIGKILL);
    if (running() > 0)
        kill_at_ns_ = base::monotonic_ns() + 50 * ms;  // again, for what was forked meanwhile
}

void keeper::end_leftovers()
{
    // Helpers that end with their input (a tee, a pager) get a short time; then they are killed.
    std::int64_t const begin = base::monotonic_ns();
    bool asked = false;
    while (!childless()) {
        std::int64_t const waited = base::monotonic_ns() - begin;
        if (ending_ || waited > 600 * ms)
            break;
        if (!asked && waited > 300 * ms) {
            asked = true;
            for (pid_t const pid : descendants(getpid()))
                kill(pid, SIGTERM);
        }
        finish_output();
        usleep(5000);
    }
    kill_descendants(1000);
}

void keeper::finish_output()
{
    for (bool more = true; more;) {
        more = false;
        for (auto& r : ranks_)
            for (auto* s : {&r.out, &r.err}) {
                if (!*s || (*s)->fd() < 0)
                    continue;
                pollfd ready{(*s)->fd(), POLLIN, 0};
                if (poll(&ready, 1, 0) > 0 && (*s)->pump())
                    more = true;
            }
        if (out_.waiting() + err_->waiting() > (1 << 20) && !flush_all())
            return;
    }
    out_.flush();
    err_->flush();
}

bool keeper::flush_all()
{
    for (;;) {
        out_.flush();
        err_->flush();
        if (out_.waiting() + err_->waiting() == 0)
            return true;
        std::array<pollfd, 3> watched{pollfd{signals_.get(), POLLIN, 0}, pollfd{out_.waiting() > 0 ? out_.fd() : -1, POLLOUT, 0},
                                      pollfd{err_->waiting() > 0 ? err_->fd() : -1, POLLOUT, 0}};
        poll(watched.data(), watched.size(), -1);
        signalfd_siginfo info{};
        while (watched[0].revents != 0 && ::read(signals_.get(), &info, sizeof info) == sizeof info)
            if (int const number = static_cast<int>(info.ssi_signo); number == SIGINT || number == SIGTERM || number == SIGHUP ||
                                                                     number == SIGQUIT ||
                                                                     (number == front_died && getppid() != around_.front))
                return false;
    }
}

int keeper::conclude()
{
    double const seconds = static_cast<double>(base::monotonic_ns() - started_ns_) / 1e9;
    finish_output();
    end_leftovers();
    finish_output();
    for (auto& r : ranks_)
        for (auto* s : {&r.out, &r.err})
            if (*s && (*s)->fd() >= 0)
                (*s)->close();
    if (hub_) {
        hub_->tell();
        if (options_.stats)
            hub_->tell_counters();
        hub_->finish();
    } else if (options_.stats) {
        if (options_.stats_file.empty()) {
            auto const table = stats_table(*view_, seconds);
            say(table.substr(0, table.size() - 1));
        } else {
            if (!write_file(options_.stats_file, stats_json(*view_, seconds))) {
                say(fmt::format("{}: {}: {}", options_.name, options_.stats_file, std::strerror(errno)));
                note_code(exit_failed);
            }
        }
    }
    flush_all();
    if (out_.finish() && err_->finish() && !out_.broken() && !err_own_.broken())
        return code_;
    look_at_outputs();
    err_->flush();
    return code_;
}

} // namespace towline::tools
