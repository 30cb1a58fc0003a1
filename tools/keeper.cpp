#include "keeper.hpp"

#include "base/machine.hpp"
#include "base/settings.hpp"
#include "binding.hpp"
#include "processes.hpp"
#include "stats.hpp"
#include "towline/error.hpp"
#include "where.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace towline::tools {

namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t told = -1;  // member_gone_ns of a member whose end has been dealt with
std::string printable(char const* text, std::size_t most)
{
    std::string clean;
    for (std::size_t i = 0; i < most && text[i] != '\0'; ++i)
        clean += text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    return clean;
}

} // namespace

// --- the loop

int keeper::run()
{
    started_ns_ = base::monotonic_ns();
    ranks_.resize(places_.size());
    for (std::size_t r = 0; r < places_.size(); ++r)
        start(static_cast<int>(r));
    exec_failures_in_.reset();
    if (around_.input != 0)
        close(around_.input);  // else the reader's end would not close the pipe
    while (watch_once()) {
    }
    return conclude();
}

int keeper::running() const
{
    return static_cast<int>(std::count_if(ranks_.begin(), ranks_.end(), [](auto const& r) { return r.running; }));
}

int keeper::patience_ms()
{
    std::int64_t wait = -1;
    auto at_most = [&](std::int64_t ns) {
        std::int64_t const in_ms = std::max<std::int64_t>(0, (ns + ms - 1) / ms);
        wait = wait < 0 ? in_ms : std::min(wait, in_ms);
    };
    if (kill_at_ns_ != 0)
        at_most(kill_at_ns_ - base::monotonic_ns());
    if (auto const left = timeout_.left(); left != std::chrono::nanoseconds::max())
        at_most(left.count());
    for (auto const& r : ranks_)
        if (r.running && (r.member_gone_ns > 0 || (r.member_gone_ns == 0 && !r.member))) {  // see watch_members
            at_most(100 * ms);
            break;
        }
    return static_cast<int>(std::min<std::int64_t>(wait, 1'000'000));
}

bool keeper::watch_once()
{
    std::vector<pollfd> watched{{signals_.get(), POLLIN, 0}, {exec_failures_ ? exec_failures_.get() : -1, POLLIN, 0}};
    std::vector<stream*> streams;
    constexpr std::size_t enough = 1 << 20;  // no more is read while a slow reader leaves this much
    if (out_.waiting() > 0)
        watched.push_back({out_.fd(), POLLOUT, 0});
    if (err_ != &out_ && err_->waiting() > 0)
        watched.push_back({err_->fd(), POLLOUT, 0});
    std::size_t const first_stream = watched.size();
    for (auto& r : ranks_) {
        if (r.out && r.out->fd() >= 0 && out_.waiting() < enough) {
            streams.push_back(&*r.out);
            watched.push_back({r.out->fd(), POLLIN, 0});
        }
        if (r.err && r.err->fd() >= 0 && err_->waiting() < enough) {
            streams.push_back(&*r.err);
            watched.push_back({r.err->fd(), POLLIN, 0});
        }
    }
    std::size_t const first_member = watched.size();
    for (auto& r : ranks_)
        if (r.running && r.member && r.member_gone_ns == 0)
            watched.push_back({r.member.get(), POLLIN, 0});

    if (poll(watched.data(), watched.size(), patience_ms()) < 0 && errno != EINTR)
        throw system_error("poll", errno);
    for (std::size_t i = first_stream; i < first_member; ++i)
        if (watched[i].revents != 0)
            streams[i - first_stream]->pump();
    out_.flush();
    err_->flush();
    if (out_.broken() && !output_refused_) {
        // Ranks that write on get SIGPIPE, as they would without us.
        output_refused_ = true;
        for (auto& r : ranks_)
            if (r.out)
                r.out->close();
    }
    if (watched[1].revents != 0) {
        std::array<int, 2> failure{};
        if (::read(exec_failures_.get(), failure.data(), sizeof failure) == sizeof failure) {
            if (!ending_)
                say(fmt::format("{}: {}: {}", options_.name, around_.programs[part_of(failure[0])], std::strerror(failure[1])));
            note_code(failure[1] == ENOENT ? exit_not_found : exit_not_executable);
            end_job();
        } else {
            exec_failures_.reset();
        }
    }
    if (watched[0].revents != 0)
        on_signal();
    for (std::size_t i = first_member; i < watched.size(); ++i)
        if (watched[i].revents != 0)
            for (auto& r : ranks_)
                if (r.member.get() == watched[i].fd)
                    r.member_gone_ns = base::monotonic_ns();
    on_timers();
    return running() > 0;
}

void keeper::on_signal()
{
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
        int const number = static_cast<int>(info.ssi_signo);
        if (number == SIGCHLD) {
            reap();
        } else if (number == front_died) {
            if (getppid() == around_.front)
                continue;  // somebody else's
            kill_descendants(2000);
            _exit(exit_failed);
        } else {
            std::int64_t const now = base::monotonic_ns();
            bool const ends = number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
            // A second ^C means it; two at the same moment are one that came by two ways.
            if (number == SIGINT && asked_to_end_ == SIGINT && now - asked_ns_ > 200 * ms) {
                note_code(128 + SIGINT);
                kill_all();
            } else {
                signal_ranks(number);
            }
            if (ends && asked_to_end_ == 0) {
                asked_to_end_ = number;
                asked_ns_ = now;
            }
        }
    }
}

void keeper::on_timers()
{
    watch_members();
    if (kill_at_ns_ != 0 && base::monotonic_ns() >= kill_at_ns_) {
        kill_at_ns_ = 0;
        kill_all();
    }
    if (timeout_.passed() && running() > 0) {
        timeout_ = base::deadline(std::chrono::nanoseconds::max());
        if (ending_)
            return;
        say(fmt::format("towline: the job did not end within {:.6g} s (--timeout) and is ended",
                        static_cast<double>(options_.timeout.count()) / 1e9));
        for (auto const& line : lines_of(view_->slots()))
            say("towline:   " + line);
        code_ = exit_timeout;
        end_job();
    }
}

// --- how ranks end

void keeper::reap()
{
    int status = 0;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        for (std::size_t r = 0; r < ranks_.size(); ++r)
            if (ranks_[r].pid == pid && ranks_[r].running)
                ended(static_cast<int>(r), status);
}

void keeper::ended(int rank, int status)
{
    auto& process = ranks_[static_cast<std::size_t>(rank)];
    auto& slot = view_->slots()[static_cast<std::size_t>(rank)];
    process.running = false;
    auto const state = static_cast<job::rank_state>(slot.state.load());
    int const code = exit_code(status);
    note_code(code);
    if (code == 0 && state != job::rank_state::joined) {
        // A program that never joined: nobody may wait for it.
        if (state == job::rank_state::empty)
            view_->mark_dead(rank, status);
        return;
    }
    if (code == 0)
        note_code(1);
    bool const as_asked = asked_to_end_ != 0 && (code == 128 + asked_to_end_ || code == 128 + SIGKILL);
    bool const unread = output_refused_ && code == 128 + SIGPIPE;
    bool const alone = ranks_.size() == 1 && WIFEXITED(status) && state != job::rank_state::joined;
    bool const first = !ending_;
    if (first && !as_asked && !unread && !alone) {
        std::string how;
        if (WIFSIGNALED(status))
            how = fmt::format("was killed by {}", describe_signal(WTERMSIG(status)));
        else if (state == job::rank_state::joined && (slot.marks.load() & job::mark_unfinished) != 0)
            how = fmt::format("ended with exit code {}, and has not called MPI_Finalize", code);
        else if (code == 0)
            how = "ended without leaving the job (exit code 0)";
        else if (code > 128 && sigabbrev_np(code - 128) != nullptr && slot.pid.load() != 0 && slot.pid.load() != process.pid)
            how = fmt::format("ended with exit code {}: its program (pid {}) was killed by {}", code, slot.pid.load(),
                              describe_signal(code - 128));
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
    auto const waits = printable(slot.waiting_for.data(), slot.waiting_for.size());
    say(fmt::format("towline: rank {} (pid {} on {}) {}{}; {}", rank, ranks_[static_cast<std::size_t>(rank)].pid, host_, how,
                    waits.empty() ? "" : fmt::format(", while it waited for {}", waits),
                    options_.keep_going ? "the others go on" : "the job is ended"));
}

void keeper::say(std::string const& line)
{
    // After what the ranks have written so far.
    for (auto& r : ranks_)
        for (auto* s : {&r.out, &r.err})
            while (*s && (*s)->fd() >= 0) {
                pollfd ready{(*s)->fd(), POLLIN, 0};
                if (poll(&ready, 1, 0) <= 0 || (ready.revents & POLLIN) == 0 || !(*s)->pump() ||
                    err_->waiting() + out_.waiting() > (4 << 20))
                    break;
            }
    if (err_->open_line != nullptr)
        err_->append("\n");
    err_->open_line = nullptr;
    err_->append(line + "\n");
    err_->flush();
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
    // Helpers that end with their input (a tee, a pager) get a moment; then nobody stays.
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
    if (options_.stats) {
        if (options_.stats_file.empty()) {
            auto const table = stats_table(*view_, seconds);
            say(table.substr(0, table.size() - 1));
        } else {
            FILE* file = std::fopen(options_.stats_file.c_str(), "we");
            auto const text = stats_json(*view_, seconds);
            bool const written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
            if ((file != nullptr && std::fclose(file) != 0) || !written) {
                say(fmt::format("{}: {}: {}", options_.name, options_.stats_file, std::strerror(errno)));
                note_code(exit_failed);
            }
        }
    }
    flush_all();
    return code_;
}

} // namespace towline::tools
