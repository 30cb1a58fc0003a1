// The beginning of a job: what the ranks share is made, and they are started.

#include "keeper.hpp"

#include "base/machine.hpp"
#include "base/settings.hpp"
#include "binding.hpp"
#include "engine/tuning.hpp"
#include "processes.hpp"
#include "towline/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace towline::tools {

namespace {

bool same_file(int a, int b)
{
    struct stat first {};
    struct stat second {};
    return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev && first.st_ino == second.st_ino &&
           first.st_rdev == second.st_rdev;
}

/// Of what this process gives its children. The launcher's own settings stay.
void change_environment(environment_change const& change)
{
    if (!change.inherit) {
        std::vector<std::string> kept;
        for (char** entry = environ; *entry != nullptr; ++entry) {
            std::string_view const text(*entry);
            std::string_view const name = text.substr(0, text.find('='));
            if (name.starts_with("TOWLINE_") || name == "LD_PRELOAD" || name == "MPI_LOCALNRANKS" ||
                std::find(change.kept.begin(), change.kept.end(), name) != change.kept.end())
                kept.emplace_back(text);
        }
        clearenv();
        for (auto const& text : kept) {
            auto const equals = text.find('=');
            setenv(text.substr(0, equals).c_str(), text.substr(equals + 1).c_str(), 1);
        }
    }
    for (auto const& [name, value] : change.set)
        setenv(name.c_str(), value.c_str(), 1);
}

} // namespace

int keep(run_options const& options, surroundings const& around)
{
    keeper k(options, around);
    return k.run();
}

keeper::keeper(run_options const& options, surroundings const& around) : options_(options), around_(around), timeout_(options.timeout)
{
    setpgid(0, 0);  // signals from the terminal go to the front, which passes them on
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigset_t ours;
    sigemptyset(&ours);
    for (int const number : forwarded_signals)
        sigaddset(&ours, number);
    sigaddset(&ours, SIGCHLD);
    sigaddset(&ours, front_died);
    sigprocmask(SIG_BLOCK, &ours, nullptr);
    sigset_t tty_write;
    sigemptyset(&tty_write);
    sigaddset(&tty_write, SIGTTOU);
    sigprocmask(SIG_BLOCK, &tty_write, nullptr);  // `stty tostop` must not stop us
    signals_.reset(signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
    prctl(PR_SET_PDEATHSIG, front_died);
    if (getppid() != around.front)
        _exit(exit_failed);

    job::job_options job;
    job.keep_going = options.keep_going;
    job.bound = options.bind_to_cores;
    job.cores = base::usable_cores();
    auto const tuning = engine::tuning::to_words(engine::tuning::read_and_tell());
    job.tuning = tuning;
    for (std::size_t p = 0; p < options.parts.size(); ++p)
        places_.insert(places_.end(), static_cast<std::size_t>(options.parts[p].ranks), p);
    file_ = job::create_job_file(static_cast<std::uint32_t>(places_.size()), job);
    if (int const high = fcntl(file_.get(), F_DUPFD_CLOEXEC, 100); high >= 0)
        file_.reset(high);  // out of the way of scripts that use 3 to 9, and of those of the shell
    own_namespace_ = job::pid_namespace();
    view_ = std::make_unique<job::control_view>(file_.get());
    if (options.bind_to_cores)
        cores_ = allowed_cores();
    for (std::size_t r = 0; r < places_.size(); ++r)
        view_->slots()[r].program.store(static_cast<std::uint32_t>(places_[r]) + 1);
    if (same_file(1, 2))
        err_ = &out_;
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    host_ = name.data();
    nothing_.reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
    int ends[2];
    if (!signals_ || !nothing_ || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        throw system_error("preparing to start ranks", errno);
    exec_failures_.reset(ends[0]);
    exec_failures_in_.reset(ends[1]);
    prepare_environment();
}

void keeper::prepare_environment()
{
    if (options_.heap)
        preload_ = preload_library();
    change_environment(options_.environment);
    auto const size = fmt::format("{}", places_.size());
    setenv("TOWLINE_SIZE", size.c_str(), 1);
    setenv("MPI_LOCALNRANKS", size.c_str(), 1);
    setenv("TOWLINE_HEAP", options_.heap ? "on" : "off", 1);
    unsetenv("TOWLINE_CORES");
    if (!cores_.empty()) {  // a bound rank cannot see which cores there are besides its own
        std::vector<int> first;
        for (auto const& threads : cores_)
            first.push_back(threads.front());
        setenv("TOWLINE_CORES", fmt::format("{}", fmt::join(first, ",")).c_str(), 1);
    }
    if (preload_.empty())
        return;
    auto const others = base::setting("LD_PRELOAD");
    setenv("LD_PRELOAD", others ? fmt::format("{}:{}", preload_, *others).c_str() : preload_.c_str(), 1);
}

// --- starting

void keeper::start(int rank)
{
    int out[2];
    int err[2];
    if (pipe2(out, O_CLOEXEC) != 0)
        throw system_error(fmt::format("a pipe for rank {} (ulimit -n)", rank), errno);
    base::unique_fd out_read(out[0]);
    base::unique_fd out_write(out[1]);
    if (pipe2(err, O_CLOEXEC) != 0)
        throw system_error(fmt::format("a pipe for rank {} (ulimit -n)", rank), errno);
    base::unique_fd err_read(err[0]);
    base::unique_fd err_write(err[1]);
    if (!cores_.empty())
        view_->slots()[static_cast<std::size_t>(rank)].cpu.store(
            static_cast<std::uint32_t>(cores_[static_cast<std::size_t>(rank) % cores_.size()].front()) + 1);

    pid_t const pid = fork();
    if (pid < 0)
        throw system_error(fmt::format("fork of rank {} (ulimit -u, pids of the cgroup)", rank), errno);
    if (pid == 0)
        become(rank, out[1], err[1]);
    setpgid(pid, pid);  // here and in the child: whoever comes first

    auto& r = ranks_[static_cast<std::size_t>(rank)];
    r.pid = pid;
    r.running = true;
    std::string const tag = options_.tag ? fmt::format("[{}] ", rank) : std::string();
    r.out.emplace(std::move(out_read), out_, tag);
    r.err.emplace(std::move(err_read), *err_, tag);
    if (options_.verbose)
        say(fmt::format("{}: rank {} is pid {}: {}", options_.name, rank, pid, fmt::join(options_.parts[part_of(rank)].command, " ")));
}

void keeper::become(int rank, int out, int err)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == around_.front || getppid() == 1)
        _exit(exit_failed);  // the keeper died in between
    dup2(rank == options_.stdin_rank ? around_.input : nothing_.get(), 0);
    dup2(out, 1);
    dup2(err, 2);
    fcntl(file_.get(), F_SETFD, 0);
    program_part const& part = options_.parts[part_of(rank)];
    auto failed = [&](int why) {
        std::array<int, 2> const failure{rank, why};
        (void)!::write(exec_failures_in_.get(), failure.data(), sizeof failure);
        _exit(why == ENOENT ? exit_not_found : exit_not_executable);
    };
    if (!part.folder.empty()) {
        if (chdir(part.folder.c_str()) != 0)
            failed(errno);
        std::unique_ptr<char, void (*)(void*)> const here(getcwd(nullptr, 0), &std::free);
        if (here)
            setenv("PWD", here.get(), 1);
    }
    change_environment(part.environment);
    auto const number = fmt::format("{}", rank);
    setenv("TOWLINE_JOB", fmt::format("{}:{}", file_.get(), rank).c_str(), 1);
    setenv("TOWLINE_RANK", number.c_str(), 1);
    setenv("MPI_LOCALRANKID", number.c_str(), 1);
    if (!cores_.empty() && !bind_to(cores_[static_cast<std::size_t>(rank) % cores_.size()]))
        fmt::print(stderr, "{}: rank {} could not be bound to a core: {}\n", options_.name, rank, std::strerror(errno));
    std::vector<char*> arguments;
    for (auto const& argument : part.command)
        arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    restore_descriptor_limit(around_.descriptors);
    restore_signals();
    execvp(around_.programs[part_of(rank)].c_str(), arguments.data());  // p: a script without #! runs in a shell, as everywhere
    failed(errno);
    std::abort();
}

} // namespace towline::tools
