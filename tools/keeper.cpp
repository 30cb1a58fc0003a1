// Starts, watches and ends ranks.

#include "keeper.hpp"

#include "processes.hpp"
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

} // namespace

// --- the loop

int keeper::run()
{
    started_ns_ = base::monotonic_ns();
    ranks_.resize(places_.size());
    for (std::size_t r = 0; r < places_.size(); ++r)
        if (is_here(r))
            start(static_cast<int>(r));
    memory_.emplace();
    if (hub_)
        hub_->start();
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
    if (hub_) {
        watched.push_back({hub_->news(), POLLIN, 0});
        watched.push_back({hub_->link(), static_cast<short>(hub_->unsent() ? POLLIN | POLLOUT : POLLIN), 0});
    }
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
    look_at_outputs();
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
    if (hub_)
        look_at_hub();
    on_timers();
    return running() > 0;
}

void keeper::look_at_hub()
{
    hub_->tell();
    auto const orders = hub_->look();
    if (orders.timeout && !ending_)
        code_ = exit_timeout;  // the front has said what all ranks do
    if (orders.end || orders.timeout || orders.lost)
        end_job();
}

void keeper::note_code(int code)
{
    if (code_ != 0 || code == 0)
        return;
    code_ = code;
    if (hub_)
        hub_->tell_code(code);
}

void keeper::look_at_outputs()
{
    for (auto* s : {&out_, &err_own_}) {
        bool& told = s == &out_ ? output_refused_ : errors_refused_;
        if (!s->broken() || told)
            continue;
        told = true;
        // Ranks that write on get SIGPIPE, as they would without us.
        note_code(s->error() == EPIPE ? 128 + SIGPIPE : exit_failed);
        for (auto& r : ranks_)
            for (auto* stream : {&r.out, &r.err})
                if (*stream && (*stream)->goes_to(*s))
                    (*stream)->close();
        if (s->error() != EPIPE && err_ != s)
            say(fmt::format("{}: the standard output cannot be written: {}", options_.name, std::strerror(s->error())));
    }
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
            bool const insists = number == SIGINT || number == SIGTERM;
            bool const ends = insists || number == SIGHUP || number == SIGQUIT;
            // A second ^C or SIGTERM means it; two at the same moment are one that came by two ways.
            if (insists && (asked_to_end_ == SIGINT || asked_to_end_ == SIGTERM) && now - asked_ns_ > 200 * ms) {
                note_code(128 + number);
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

} // namespace towline::tools
