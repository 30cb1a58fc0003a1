// The front: keeps the terminal, forwards signals to the keeper, and waits for it.

#include "run.hpp"

#include "base/unique_fd.hpp"
#include "find_program.hpp"
#include "memory_watch.hpp"
#include "processes.hpp"
#include "settings.hpp"
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
              SIGTSTP == 20 && SIGWINCH == 28);

sigset_t first_mask;
struct sigaction first_pipe_action;
struct sigaction first_file_size_action;

/// A daemon may start us without them; a rank's pipe must not become its descriptor 1 by accident.
void open_standard_descriptors()
{
    for (int fd = 0; fd <= 2; ++fd)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            if (open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) < 0)
                if (int ends[2]; pipe(ends) == 0) {  // a chroot may have none: reads return nothing, writes are dropped
                    int const keep = fd == 0 ? ends[0] : ends[1];
                    int const other = fd == 0 ? ends[1] : ends[0];
                    if (keep == fd) {
                        close(other);
                    } else {  // the lower number is the one that is missing
                        dup2(keep, fd);
                        close(keep);
                    }
                }
}

/// Typed lines go to their rank through a pipe: only the foreground process group may read a terminal, and ranks have groups of their own.
class typist {
public:
    explicit typist(int to) : to_(to) {}
    [[nodiscard]] bool open() const noexcept { return static_cast<bool>(to_); }
    /// In the background, typed input belongs to the shell.
    [[nodiscard]] static bool in_foreground() noexcept
    {
        pid_t const group = tcgetpgrp(STDIN_FILENO);
        return group < 0 || group == getpgrp();
    }
    void pump()
    {
        std::array<char, 4096> buffer;  // a terminal gives at most a line; the pipe has room for many
        ssize_t const got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
        if (got < 0 && (errno == EINTR || (errno == EIO && !in_foreground())))  // SIGTTIN is blocked
            return;
        if (got <= 0 || ::write(to_.get(), buffer.data(), static_cast<std::size_t>(got)) < 0)
            to_.reset();  // ^D, or nobody reads any more
    }

private:
    base::unique_fd to_;
};

constexpr int background_poll_ms = 300;  ///< a shell does not tell a running job that it came to the foreground

int mind(pid_t keeper, base::unique_fd signals, typist typed)
{
    memory_watch memory;
    for (;;) {
        bool const reads = typed.open() && typist::in_foreground();
        std::array<pollfd, 2> watched{pollfd{signals.get(), POLLIN, 0}, pollfd{reads ? STDIN_FILENO : -1, POLLIN, 0}};
        if (poll(watched.data(), watched.size(), typed.open() && !reads ? background_poll_ms : -1) < 0)
            continue;
        if (watched[1].revents != 0 && typist::in_foreground())
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
            bool const killed = WTERMSIG(status) == SIGKILL;
            fmt::print(stderr, "towline: the keeper of the job (pid {}) was killed by {}{}; the job is ended\n", keeper,
                       describe_signal(WTERMSIG(status)), killed ? memory.why() : "");
            kill_descendants(2000);
            return exit_code(status);
        }
    }
}

} // namespace

void restore_signals() noexcept
{
    sigaction(SIGPIPE, &first_pipe_action, nullptr);
    sigaction(SIGXFSZ, &first_file_size_action, nullptr);
    sigprocmask(SIG_SETMASK, &first_mask, nullptr);
}

base::unique_fd become_front(surroundings& around)
{
    sigset_t ours;
    sigemptyset(&ours);
    for (int const number : forwarded_signals)
        sigaddset(&ours, number);
    sigaddset(&ours, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ours, &first_mask);
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &first_pipe_action);
    sigaction(SIGXFSZ, &ignore, &first_file_size_action);  // an error of write instead
    sigset_t tty_read;
    sigemptyset(&tty_read);
    sigaddset(&tty_read, SIGTTIN);
    sigprocmask(SIG_BLOCK, &tty_read, nullptr);
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &usual, nullptr);  // ignored by some parents; then nothing could be waited for
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    around.front = getpid();
    around.descriptors = raise_descriptor_limit();
    base::unique_fd signals(signalfd(-1, &ours, SFD_CLOEXEC));
    if (!signals)
        throw system_error("signalfd", errno);
    return signals;
}

pid_t start_keeper(run_options const& options, surroundings const& around, std::function<void()> const& in_keeper)
{
    std::fflush(nullptr);
    pid_t const keeper = fork();
    if (keeper < 0)
        throw system_error("starting the keeper of the job (ulimit -u, pids.max of the cgroup)", errno);
    if (keeper != 0)
        return keeper;
    int code = exit_failed;
    try {
        in_keeper();
        code = keep(options, around);
    } catch (std::exception const& e) {
        fmt::print(stderr, "{}: {}\n", options.name, e.what());
        kill_descendants(2000);
    }
    std::fflush(nullptr);
    _exit(code);
}

int run(run_options const& options)
{
    open_standard_descriptors();
    if (!options.hosts.empty())
        return run_on_hosts(options);
    check_settings(options);
    surroundings around;
    for (auto const& part : options.parts) {
        if (int const refused = check_folder(options.name, part.folder); refused != 0)
            return refused;
        if (int const refused = find_program(options.name, part, around.programs.emplace_back()); refused != 0)
            return refused;
    }

    base::unique_fd signals = become_front(around);
    int ends[2] = {-1, -1};
    if (options.stdin_rank >= 0 && isatty(STDIN_FILENO) != 0 && pipe2(ends, O_CLOEXEC) != 0)
        throw system_error("pipe", errno);
    if (ends[0] >= 0)
        around.input = ends[0];

    pid_t const keeper = start_keeper(options, around, [&] {
        signals.reset();
        if (ends[1] >= 0)
            close(ends[1]);
    });
    if (ends[0] >= 0)
        close(ends[0]);
    return mind(keeper, std::move(signals), typist(ends[1]));
}

} // namespace towline::tools
