#include "run.hpp"

#include "base/unique_fd.hpp"
#include "find_program.hpp"
#include "processes.hpp"
#include "towline/error.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace towline::tools {

namespace {

static_assert(SIGHUP == 1 && SIGINT == 2 && SIGQUIT == 3 && SIGUSR1 == 10 && SIGUSR2 == 12 && SIGTERM == 15 && SIGCONT == 18 &&
              SIGTSTP == 20);

sigset_t first_mask;
struct sigaction first_pipe_action;

/// A daemon may start us without them; a rank's pipe must not become its descriptor 1 by accident.
void open_standard_descriptors()
{
    for (int fd = 0; fd <= 2; ++fd)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
}

/// Typed lines go to their rank through a pipe: only the foreground process group may read a terminal, and ranks have groups of their own.
class typist {
public:
    explicit typist(int to) : to_(to) {}
    [[nodiscard]] bool open() const noexcept { return static_cast<bool>(to_); }
    void pump()
    {
        std::array<char, 4096> buffer;  // a terminal gives at most a line; the pipe has room for many
        ssize_t const got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR)
            return;
        if (got <= 0 || ::write(to_.get(), buffer.data(), static_cast<std::size_t>(got)) < 0)
            to_.reset();  // ^D, or nobody reads any more
    }

private:
    base::unique_fd to_;
};

int mind(pid_t keeper, base::unique_fd signals, typist typed)
{
    for (;;) {
        std::array<pollfd, 2> watched{pollfd{signals.get(), POLLIN, 0}, pollfd{typed.open() ? STDIN_FILENO : -1, POLLIN, 0}};
        if (poll(watched.data(), watched.size(), -1) < 0)
            continue;
        if (watched[1].revents != 0)
            typed.pump();
        if (watched[0].revents == 0)
            continue;
        signalfd_siginfo info{};
        if (::read(signals.get(), &info, sizeof info) != sizeof info)
            continue;
        int const number = static_cast<int>(info.ssi_signo);
        if (number != SIGCHLD) {
            kill(keeper, number);
            if (number == SIGTSTP)
                raise(SIGSTOP);
            continue;
        }
        int status = 0;
        for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
            if (ended != keeper)
                continue;
            if (WIFEXITED(status))
                return WEXITSTATUS(status);
            fmt::print(stderr, "towline: the keeper of the job (pid {}) was killed by {}; the job is ended\n", keeper,
                       describe_signal(WTERMSIG(status)));
            kill_descendants(2000);
            return exit_code(status);
        }
    }
}

} // namespace

void restore_signals() noexcept
{
    sigaction(SIGPIPE, &first_pipe_action, nullptr);
    sigprocmask(SIG_SETMASK, &first_mask, nullptr);
}

int run(run_options const& options)
{
    open_standard_descriptors();
    surroundings around;
    for (auto const& part : options.parts) {
        if (int const refused = check_folder(options.name, part.folder); refused != 0)
            return refused;
        if (int const refused = find_program(options.name, part, around.programs.emplace_back()); refused != 0)
            return refused;
    }

    sigset_t ours;
    sigemptyset(&ours);
    for (int const number : forwarded_signals)
        sigaddset(&ours, number);
    sigaddset(&ours, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ours, &first_mask);
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &first_pipe_action);
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &usual, nullptr);  // ignored by some parents; then nothing could be waited for
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    around.front = getpid();
    around.descriptors = raise_descriptor_limit();

    base::unique_fd signals(signalfd(-1, &ours, SFD_CLOEXEC));
    if (!signals)
        throw system_error("signalfd", errno);
    int ends[2] = {-1, -1};
    if (options.stdin_rank >= 0 && isatty(STDIN_FILENO) != 0 && pipe2(ends, O_CLOEXEC) != 0)
        throw system_error("pipe", errno);
    if (ends[0] >= 0)
        around.input = ends[0];

    std::fflush(nullptr);
    pid_t const keeper = fork();
    if (keeper < 0)
        throw system_error("fork", errno);
    if (keeper == 0) {
        signals.reset();
        if (ends[1] >= 0)
            close(ends[1]);
        int code = exit_failed;
        try {
            code = keep(options, around);
        } catch (std::exception const& e) {
            fmt::print(stderr, "{}: {}\n", options.name, e.what());
            kill_descendants(2000);
        }
        std::fflush(nullptr);
        _exit(code);
    }
    if (ends[0] >= 0)
        close(ends[0]);
    return mind(keeper, std::move(signals), typist(ends[1]));
}

} // namespace towline::tools
