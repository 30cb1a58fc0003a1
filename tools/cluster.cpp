// The front of a job on several hosts: its loop, its timers and its end.

#include "cluster.hpp"

#include "processes.hpp"
#include "settings.hpp"
#include "stats.hpp"
#include "timing.hpp"
#include "towline/error.hpp"
#include "where.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace towline::tools {

bool same_output()
{
    struct stat a {};
    struct stat b {};
    return fstat(1, &a) == 0 && fstat(2, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_rdev == b.st_rdev;
}

void host_lines::add(std::string_view text)
{
    rest_ += text;
    auto const end = rest_.rfind('\n');
    constexpr std::size_t longest = std::size_t{16} << 20;
    std::size_t const whole = end != rest_.npos ? end + 1 : rest_.size() > longest ? rest_.size() : 0;
    to_->append(std::string_view(rest_).substr(0, whole));
    rest_.erase(0, whole);
}

void host_lines::close()
{
    to_->append(rest_);
    rest_.clear();
}

cluster_front::cluster_front(run_options const& options) : options_(options) {}

int cluster_front::run()
{
    surroundings around;
    signals_ = become_front(around);
    try {
        start_agents();
        gather();
        place();
        tell_job();
    } catch (...) {
        end_agents();
        throw;
    }
    timeout_ = base::deadline(options_.timeout);
    while (std::ranges::any_of(hosts_, [](host const& h) { return !h.over; }))
        look();
    return conclude();
}

void cluster_front::look()
{
    constexpr std::size_t enough = 1 << 20;
    bool const types = typing_ && reader_ < hosts_.size() && !hosts_[reader_].over && hosts_[reader_].typed < stream_credit &&
                       (tcgetpgrp(0) < 0 || tcgetpgrp(0) == getpgrp());
    std::vector<pollfd> watched{{signals_.get(), POLLIN, 0},
                                {types ? 0 : -1, POLLIN, 0},
                                {out_.waiting() > 0 ? out_.fd() : -1, POLLOUT, 0},
                                {errors_.waiting() > 0 ? errors_.fd() : -1, POLLOUT, 0}};
    for (auto const& h : hosts_) {
        if (!h.way.link)
            continue;
        watched.push_back({h.way.link->in(), POLLIN, 0});
        watched.push_back({h.way.link->waiting() == 0 ? -1 : h.way.link->out(), POLLOUT, 0});
    }
    poll(watched.data(), watched.size(), patience_ms());
    for (auto& h : hosts_)
        if (h.way.link)
            look_at(h);
    if (watched[1].revents != 0)
        type();
    if (watched[0].revents != 0)
        on_signal();
    out_.flush();
    errors_.flush();
    // A slow reader of our output slows the ranks down, as on one machine.
    for (auto& h : hosts_)
        if (!h.over && h.written > 0 && out_.waiting() < enough && errors_.waiting() < enough)
            send(h, frame::taken, text_of(static_cast<std::uint32_t>(std::exchange(h.written, 0))));
    on_timers();
}

int cluster_front::patience_ms() const
{
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(std::min<std::chrono::nanoseconds>(timeout_.left(), timing::alive));
    return static_cast<int>(left.count());
}

void cluster_front::type()
{
    std::array<char, 65536> buffer;
    ssize_t const got = ::read(0, buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EIO))
        return;
    std::size_t const size = got > 0 ? static_cast<std::size_t>(got) : 0;
    send(hosts_[reader_], frame::input, {buffer.data(), size});
    hosts_[reader_].typed += size;
    typing_ = size > 0;
}

void cluster_front::on_signal()
{
    signalfd_siginfo info{};
    if (::read(signals_.get(), &info, sizeof info) != sizeof info)
        return;
    auto const number = static_cast<int>(info.ssi_signo);
    if (number == SIGCHLD)
        return;  // the end of its stream tells more
    auto const pass_on = [this](int signal) {
        for (auto& h : hosts_)
            if (!h.over)
                send(h, frame::signal, std::string(1, static_cast<char>(signal)));
    };
    pass_on(number);
    if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT)
        ending_ = true;
    if (number == SIGTSTP) {
        raise(SIGSTOP);
        pass_on(SIGCONT);
    }
}

void cluster_front::on_timers()
{
    if (base::monotonic_ns() - told_ns_ > std::chrono::nanoseconds(timing::alive).count())
        look_for_silence();
    if (timeout_.passed()) {
        timeout_ = base::deadline(std::chrono::nanoseconds::max());
        if (ending_)
            return;
        ending_ = true;
        code_ = exit_timeout;
        say(fmt::format("towline: the job did not end within {:.6g} s (--timeout) and is ended",
                        static_cast<double>(options_.timeout.count()) / 1e9));
        ask(questions::front, last_question);
        answers_until_ = base::deadline(timing::answers);
        asking_ = true;
    }
    if (asking_ && (!questions_.is_open(questions::front) || answers_until_.passed()))
        explain_timeout();
}

void cluster_front::look_for_silence()
{
    std::int64_t const now = base::monotonic_ns();
    constexpr std::int64_t silence = std::chrono::nanoseconds(timing::silence).count();
    bool const slept = now - told_ns_ > silence / 2;  // we were stopped, not they
    told_ns_ = now;
    for (auto& h : hosts_) {
        if (h.over)
            continue;
        send(h, frame::alive, {});
        if (slept)
            h.heard_ns = now;
        else if (now - h.heard_ns > silence)
            lost(h, fmt::format("no answer for {} s", timing::silence.count()));
    }
}

void cluster_front::explain_timeout()
{
    asking_ = false;
    asked_elsewhere const asked{last_question, questions::front};
    for (auto const& line : lines_of(slots().slots(), &asked))
        say("towline:   " + line);
    tell_others(nullptr, packed_news({{"timeout", true}}));
}

void cluster_front::say(std::string const& line)
{
    auto& to = same_output() ? out_ : errors_;
    to.append(line + "\n");
    to.flush();
}

void cluster_front::note_code(int code)
{
    if (code_ == 0)
        code_ = code;
}

void cluster_front::end_agents()
{
    for (auto& h : hosts_)
        h.way.link.reset();  // all at once
    for (auto& h : hosts_)
        leave_host(h.way);
}

int cluster_front::conclude()
{
    double const seconds = static_cast<double>(base::monotonic_ns() - started_ns_) / 1e9;
    end_agents();
    kill_descendants(1000);
    if (options_.stats) {
        if (options_.stats_file.empty()) {
            auto const table = stats_table(slots(), seconds);
            say(table.substr(0, table.size() - 1));
        } else if (auto const text = stats_json(slots(), seconds); !write_file(options_.stats_file, text)) {
            say(fmt::format("{}: {}: {}", options_.name, options_.stats_file, std::strerror(errno)));
            note_code(exit_failed);
        }
    }
    while ((out_.waiting() > 0 || errors_.waiting() > 0) && out_.flush() && errors_.flush()) {
        std::array<pollfd, 2> writable{pollfd{out_.waiting() > 0 ? out_.fd() : -1, POLLOUT, 0},
                                       pollfd{errors_.waiting() > 0 ? errors_.fd() : -1, POLLOUT, 0}};
        poll(writable.data(), writable.size(), 1000);
        if (asked_to_end())
            break;
    }
    if (!out_.finish() || out_.broken()) {
        if (out_.error() != EPIPE)
            fmt::print(stderr, "{}: the standard output cannot be written: {}\n", options_.name, std::strerror(out_.error()));
        note_code(out_.error() == EPIPE ? 128 + SIGPIPE : exit_failed);
    }
    return code_;
}

int run_on_hosts(run_options const& options)
{
    check_settings(options);
    return cluster_front(options).run();
}

} // namespace towline::tools
