// The front of one host's part of a job: what stands at the terminal on one machine is on another one here, and speaks in frames.

#include "base/clock.hpp"
#include "base/unique_fd.hpp"
#include "branches.hpp"
#include "description.hpp"
#include "find_program.hpp"
#include "frames.hpp"
#include "job/launch/host_facts.hpp"
#include "processes.hpp"
#include "run.hpp"
#include "timing.hpp"
#include "towline/error.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace towline::tools {

namespace {

/// Passes on what the keeper writes, what it is told and tells, and what the ranks read.
class agent_front {
public:
    agent_front()
        : front_(base::unique_fd(fcntl(0, F_DUPFD_CLOEXEC, 3)), base::unique_fd(fcntl(1, F_DUPFD_CLOEXEC, 3))), branches_(front_)
    {
        // Nothing but frames goes there.
        int const nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (nothing < 0)
            throw system_error("/dev/null", errno);
        dup2(nothing, 0);
        dup2(2, 1);
        close(nothing);
    }

    int run()
    {
        surroundings around;
        signals_ = become_front(around);
        front_.send(frame::hello, job::launch::to_text(job::launch::facts_of_host()));
        auto const text = first_frame();
        if (!text)
            return exit_failed;
        description job = description_in(*text);
        adopt(job);
        for (std::size_t p = 0, first = 0; p < job.options.parts.size(); ++p) {
            auto const& part = job.options.parts[p];
            auto& program = around.programs.emplace_back();
            bool here = false;
            for (int r = 0; r < part.ranks; ++r)
                here = here || job.node.node_of[first + static_cast<std::size_t>(r)] == job.node.node;
            first += static_cast<std::size_t>(part.ranks);
            if (!here)
                continue;
            if (int const refused = check_folder(job.options.name, part.folder); refused != 0)
                return end(refused);
            if (int const refused = find_program(job.options.name, part, program); refused != 0)
                return end(refused);
        }
        start(job, around);
        while (!ended_)
            look();
        return end(code_);
    }

private:
    std::optional<std::string> first_frame()
    {
        base::deadline const until(timing::job_to_agent);
        while (!until.passed()) {
            std::vector<pollfd> watched{{front_.in(), POLLIN, 0}};
            branches_.watch(watched);
            poll(watched.data(), watched.size(), 100);
            front_.flush();
            bool const more = front_.receive();
            while (auto m = front_.next()) {
                if (m->kind == frame::job)
                    return std::move(m->payload);  // what came behind it is for the keeper
                if (m->kind == frame::start)
                    branches_.start(m->payload);
                else if (m->kind == frame::relay)
                    branches_.pass_down(m->payload);
            }
            branches_.look();
            if (!more)
                return std::nullopt;  // the front gave up; it says why
        }
        fmt::print(stderr, "towline agent: nobody told what to run within {} s\n", timing::job_to_agent.count());
        return std::nullopt;
    }

    static void adopt(description& job)
    {
        clearenv();
        for (auto const& variable : job.environment)
            if (auto const equals = variable.find('='); equals != variable.npos)
                setenv(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str(), 1);
        umask(static_cast<mode_t>(job.mask));
        if (chdir(job.folder.c_str()) != 0)
            throw system_error(fmt::format("host {} has no folder {}, in which the job was started", job.node.host, job.folder), errno);
        setenv("PWD", job.folder.c_str(), 1);
        if (job.options.stdin_rank >= 0 && job.node.node_of[static_cast<std::size_t>(job.options.stdin_rank)] != job.node.node)
            job.options.stdin_rank = -1;
    }

    static std::array<base::unique_fd, 2> pipe_of(char const* what)
    {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            throw system_error(what, errno);
        return {base::unique_fd(ends[0]), base::unique_fd(ends[1])};
    }

    void start(description& job, surroundings& around)
    {
        auto out = pipe_of("a pipe for the output of the job");
        auto errors = pipe_of("a pipe for the errors of the job");
        std::array<base::unique_fd, 2> input;
        if (job.options.stdin_rank >= 0) {
            input = pipe_of("a pipe for the input of the job");
            around.input = input[0].get();
            fcntl(input[1].get(), F_SETFL, O_NONBLOCK);
        }
        int link[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link) != 0)
            throw system_error("a socket to the keeper", errno);
        job.node.link = link[1];
        around.node = &job.node;
        keeper_ = start_keeper(job.options, around, [&] {
            signals_.reset();
            dup2(out[1].get(), 1);
            dup2(job.joined ? out[1].get() : errors[1].get(), 2);
            for (auto* fd : {&out[0], &out[1], &errors[0], &errors[1], &input[1]})
                fd->reset();
            close(link[0]);
            close(front_.in());
            close(front_.out());
        });
        close(link[1]);
        job.node.link = -1;
        out_ = std::move(out[0]);
        errors_ = std::move(errors[0]);
        input_ = std::move(input[1]);
        hub_.emplace(base::unique_fd(link[0]), base::unique_fd(fcntl(link[0], F_DUPFD_CLOEXEC, 3)));
        hub_open_ = true;
    }

    void look()
    {
        bool const reads = under_way_ < stream_credit;
        std::vector<pollfd> watched{{signals_.get(), POLLIN, 0},
                                    {front_.in(), POLLIN, 0},
                                    {front_.waiting() > 0 ? front_.out() : -1, POLLOUT, 0},
                                    {reads ? out_.get() : -1, POLLIN, 0},
                                    {reads ? errors_.get() : -1, POLLIN, 0},
                                    {hub_open_ ? hub_->in() : -1, POLLIN, 0},
                                    {hub_open_ && hub_->waiting() > 0 ? hub_->out() : -1, POLLOUT, 0},
                                    {!typed_.empty() ? input_.get() : -1, POLLOUT, 0}};
        branches_.watch(watched);
        poll(watched.data(), watched.size(), static_cast<int>(timing::alive.count()));
        if (!front_.flush() || !front_.receive())
            leave();
        while (auto const m = front_.next())
            obey(*m);
        branches_.look();
        if (hub_open_) {
            hub_->flush();
            hub_open_ = hub_->receive();
            while (auto const m = hub_->next())
                front_.send(m->kind, m->payload);
        }
        pass_on(watched[3], out_, frame::output);
        pass_on(watched[4], errors_, frame::errors);
        type();
        if (watched[0].revents != 0)
            on_signal();
        std::int64_t const now = base::monotonic_ns();
        if (now - told_ns_ > std::chrono::nanoseconds(timing::alive).count()) {
            told_ns_ = now;
            front_.send(frame::alive, {});
        }
        if (!stopped_ && now - front_.heard_ns() > std::chrono::nanoseconds(timing::silence).count())
            leave();
        // The last words of the keeper come before its end is told.
        ended_ = code_ >= 0 && !out_ && !errors_ && !hub_open_;
    }

    void obey(message const& m)
    {
        stopped_ = false;
        switch (m.kind) {
        case frame::relay:
            branches_.pass_down(m.payload);
            break;
        case frame::news:
            if (hub_open_)
                hub_->send(m.kind, m.payload);
            break;
        case frame::signal:
            if (!m.payload.empty() && keeper_ > 0) {
                stopped_ = m.payload[0] == SIGTSTP;
                kill(keeper_, m.payload[0]);
            }
            break;
        case frame::input:
            typed_ += m.payload;
            typed_ends_ = typed_ends_ || m.payload.empty();
            break;
        case frame::taken:
            under_way_ -= std::min<std::size_t>(under_way_, number_in(m.payload));
            break;
        default:
            break;
        }
    }

    void pass_on(pollfd const& ready, base::unique_fd& from, frame kind)
    {
        if (ready.revents == 0 || !from)
            return;
        std::array<char, 65536> piece;
        ssize_t const got = ::read(from.get(), piece.data(), piece.size());
        if (got > 0) {
            front_.send(kind, {piece.data(), static_cast<std::size_t>(got)});
            under_way_ += static_cast<std::size_t>(got);
        } else if (got == 0 || errno != EINTR) {
            from.reset();
        }
    }

    void type()
    {
        if (!typed_.empty() && input_) {
            ssize_t const wrote = ::write(input_.get(), typed_.data(), typed_.size());
            if (wrote < 0 && errno != EAGAIN && errno != EINTR) {
                input_.reset();  // nobody reads any more
            } else if (wrote > 0) {
                typed_.erase(0, static_cast<std::size_t>(wrote));
                front_.send(frame::taken, text_of(static_cast<std::uint32_t>(wrote)));
            }
        }
        if (!input_ && !typed_.empty()) {
            front_.send(frame::taken, text_of(static_cast<std::uint32_t>(typed_.size())));
            typed_.clear();
        }
        if (typed_ends_ && typed_.empty())
            input_.reset();
    }

    void on_signal()
    {
        signalfd_siginfo info{};
        if (::read(signals_.get(), &info, sizeof info) != sizeof info)
            return;
        if (static_cast<int>(info.ssi_signo) != SIGCHLD) {
            if (keeper_ > 0)
                kill(keeper_, static_cast<int>(info.ssi_signo));
            return;
        }
        int status = 0;
        for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
            branches_.reaped(ended);
            if (ended != keeper_)
                continue;
            code_ = exit_code(status);
            if (WIFSIGNALED(status))
                fmt::print(stderr, "towline: the keeper of the job (pid {}) was killed by {}; the job is ended\n", keeper_,
                           describe_signal(WTERMSIG(status)));
            keeper_ = -1;
            kill_descendants(2000, branches_.leads());
        }
    }

    /// The front is gone. The keeper ends everything when this process ends.
    [[noreturn]] void leave()
    {
        if (keeper_ > 0)
            kill(keeper_, SIGKILL);
        kill_descendants(2000);
        _exit(exit_failed);
    }

    int end(int code)
    {
        front_.send(frame::exit, std::string(1, static_cast<char>(code)));
        while (branches_.any())  // they speak through this process
            look();
        base::deadline const until(std::chrono::seconds(5));
        while (front_.flush() && front_.waiting() > 0 && !until.passed()) {
            pollfd writable{front_.out(), POLLOUT, 0};
            poll(&writable, 1, 100);
        }
        return code;
    }

    channel front_;
    branches branches_;
    base::unique_fd signals_, out_, errors_, input_;
    std::optional<channel> hub_;
    bool hub_open_ = false;
    pid_t keeper_ = -1;
    int code_ = -1;
    bool ended_ = false;
    bool stopped_ = false;        ///< the front was told to stop: it is silent
    std::size_t under_way_ = 0;   ///< bytes of output that the front has not passed on
    std::string typed_;
    bool typed_ends_ = false;
    std::int64_t told_ns_ = base::monotonic_ns();
};

} // namespace

int agent()
{
    if (isatty(0) != 0 || isatty(1) != 0) {
        fmt::print(stderr, "towline agent: the front of a job starts it, by ssh; see towline run --hosts\n");
        return exit_usage;
    }
    return agent_front().run();
}

} // namespace towline::tools
