// The beginning of a job: what the ranks share is made, and they are started.

#include "keeper.hpp"

#include "base/log.hpp"
#include "base/machine.hpp"
#include "base/settings.hpp"
#include "binding.hpp"
#include "engine/tuning.hpp"
#include "instrumentation.hpp"
#include "processes.hpp"
#include "towline/error.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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

/// A descriptor that reads nothing.
base::unique_fd nothing()
{
    base::unique_fd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (null)
        return null;
    int ends[2];  // a chroot may have no /dev/null
    if (pipe2(ends, O_CLOEXEC) != 0)
        throw system_error("a pipe for the standard input of ranks", errno);
    close(ends[1]);
    return base::unique_fd(ends[0]);
}

/// What may keep a process from being started, for people.
std::string limits_of_processes()
{
    std::string text;
    rlimit limit{};
    if (getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && getuid() != 0)
        text = fmt::format("ulimit -u is {}", limit.rlim_cur);
    if (auto const pids = base::cgroup::pids_bound(base::cgroup::this_process()); pids)
        text += fmt::format("{}the cgroup allows {} processes and threads ({}/pids.max)", text.empty() ? "" : ", ", pids->limit,
                            pids->folder);
    return text.empty() ? "ulimit -u, pids.max of the cgroup" : text;
}

} // namespace

int keep(run_options const& options, surroundings const& around)
{
    keeper k(options, around);
    return k.run();
}

keeper::keeper(run_options const& options, surroundings const& around) : options_(options), around_(around), timeout_(options.timeout)
{
    // A session of its own for the whole job. Signals from the terminal go to the front, which passes them on; and where the scheduler
    // shares the cores among sessions (autogroup), the job counts beside the shell that it was started from. Not one session a rank: ranks
    // that yield to each other have to be of one group.
    setsid();
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
    job.bound = options.bind == unit::core || options.bind == unit::hwthread;
    job.cores = base::usable_cores();
    auto const tuning = engine::tuning::to_words(engine::tuning::read_and_tell());
    job.tuning = tuning;
    for (std::size_t p = 0; p < options.parts.size(); ++p)
        places_.insert(places_.end(), static_cast<std::size_t>(options.parts[p].ranks), p);
    for (std::size_t r = 0; r < places_.size(); ++r)
        local_.push_back(is_here(r) ? here_++ : 0);
    if (around.node != nullptr) {
        job.node_of = around.node->node_of;
        job.node = around.node->node;
        job.beside = around.node->beside;
        job.id = around.node->id;
        job.key = &around.node->key;
        job.addresses = around.node->addresses;
        for (auto const& name : around.node->hosts)
            job.hosts += name + '\0';
    }
    change_environment(options.environment);
    job.segment_bytes = look_at_programs();
    file_ = job::create_job_file(static_cast<std::uint32_t>(places_.size()), job);
    if (int const high = fcntl(file_.get(), F_DUPFD_CLOEXEC, 100); high >= 0)
        file_.reset(high);  // out of the way of scripts that use 3 to 9, and of those of the shell
    own_namespace_ = job::pid_namespace();
    view_ = std::make_unique<job::control_view>(file_.get());
    if (around.node != nullptr)
        hub_ = std::make_unique<hub>(*around.node, *view_);
    cores_ = places_of(static_cast<int>(here_), options.bind, options.map);
    for (std::size_t r = 0; r < places_.size(); ++r)
        view_->slots()[r].program.store(static_cast<std::uint32_t>(places_[r]) + 1);
    if (same_file(1, 2))
        err_ = &out_;
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    host_ = around.node != nullptr ? around.node->host : name.data();
    nothing_ = nothing();
    int ends[2];
    if (!signals_ || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        throw system_error("preparing to start ranks (ulimit -n)", errno);
    exec_failures_.reset(ends[0]);
    exec_failures_in_.reset(ends[1]);
    prepare_environment();
}

std::uint64_t keeper::look_at_programs()
{
    std::string library = options_.heap ? preload_library() : std::string();
    if (library.find_first_of(" :") != library.npos) {
        // These separate names in LD_PRELOAD. Through /proc the same file has a name without them.
        auto const slash = library.rfind('/');
        library_folder_.reset(open(library.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        library = fmt::format("/proc/{}/fd/{}{}", getpid(), library_folder_.get(), library.substr(slash));
        if (access(library.c_str(), R_OK) != 0)
            library.clear();
    }
    bool small = false;
    for (std::size_t p = 0; p < options_.parts.size(); ++p) {
        auto const& part = options_.parts[p];
        if (around_.programs[p].empty()) {
            preloads_.emplace_back();
            continue;
        }
        auto preloaded = base::setting("LD_PRELOAD").value_or("");
        for (auto const& [name, value] : part.environment.set)
            if (name == "LD_PRELOAD")
                preloaded = value;
        auto const found = instrumentation_of(part, around_.programs[p], std::string(preloaded));
        if (!library.empty() && !found.no_preload.empty())
            base::log(base::log_level::info,
                      "{}: big blocks of malloc stay outside the shared heap (libtowline-malloc.so is not preloaded)", found.no_preload);
        preloads_.push_back(found.no_preload.empty() ? library : std::string());
        small = small || !found.small_segments.empty();
        if (!found.small_segments.empty() && !base::setting("TOWLINE_SEGMENT"))
            base::log(base::log_level::info, "{}: segments are small", found.small_segments);
    }
    if (!small || base::setting("TOWLINE_SEGMENT"))
        return 0;
    constexpr std::uint64_t gib = std::uint64_t{1} << 30;
    return std::max(job::min_segment_bytes, std::bit_floor(std::min<std::uint64_t>(4 * gib, 32 * gib / here_)));
}

void keeper::prepare_environment()
{
    auto const size = fmt::format("{}", places_.size());
    setenv("TOWLINE_SIZE", size.c_str(), 1);
    setenv("MPI_LOCALNRANKS", fmt::format("{}", here_).c_str(), 1);
    setenv("TOWLINE_HEAP", options_.heap ? "on" : "off", 1);
    unsetenv("TOWLINE_CORES");
    if (!cores_.empty()) {  // a bound rank cannot see which cores there are besides its own
        std::vector<int> first;
        for (auto const& threads : allowed_units(options_.bind == unit::hwthread ? unit::hwthread : unit::core))
            first.push_back(threads.front());
        setenv("TOWLINE_CORES", fmt::format("{}", fmt::join(first, ",")).c_str(), 1);
    }
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
    base::unique_fd const own_out = own_output(rank, "-outfile-pattern", options_.out_pattern);
    base::unique_fd const own_err = own_output(rank, "-errfile-pattern", options_.err_pattern);
    if (options_.bind == unit::core || options_.bind == unit::hwthread)
        view_->slots()[static_cast<std::size_t>(rank)].cpu.store(
            static_cast<std::uint32_t>(cores_[local_[static_cast<std::size_t>(rank)]].front()) + 1);

    pid_t const pid = fork();
    if (pid < 0)
        throw system_error(fmt::format("starting the process of rank {} of {} ({})", rank, places_.size(), limits_of_processes()), errno);
    if (pid == 0)
        become(rank, own_out ? own_out.get() : out[1], own_err ? own_err.get() : err[1]);
    setpgid(pid, pid);  // here and in the child: whoever comes first

    auto& r = ranks_[static_cast<std::size_t>(rank)];
    r.pid = pid;
    r.running = true;
    std::string const tag = options_.tag ? expanded(options_.tag_pattern, rank, host_) : std::string();
    r.out.emplace(std::move(out_read), out_, tag);
    r.err.emplace(std::move(err_read), *err_, tag);
    if (options_.verbose)
        say(fmt::format("{}: rank {} is pid {}: {}", options_.name, rank, pid, fmt::join(options_.parts[part_of(rank)].command, " ")));
    if (!options_.report_bindings)
        return;
    if (cores_.empty())
        return say(fmt::format("{}: rank {} is not bound", options_.name, rank));
    auto const& cpus = cores_[local_[static_cast<std::size_t>(rank)]];
    say(fmt::format("{}: rank {} is bound to cpu{} {}", options_.name, rank, cpus.size() == 1 ? "" : "s", fmt::join(cpus, ",")));
}

base::unique_fd keeper::own_output(int rank, char const* option, std::string const& pattern)
{
    if (options_.output_from >= 0 && rank != options_.output_from)
        return base::unique_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return pattern.empty() ? base::unique_fd() : files_.open(option, expanded(pattern, rank, host_));
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
    if (auto const& preload = preloads_[part_of(rank)]; !preload.empty()) {
        auto const others = base::setting("LD_PRELOAD");
        setenv("LD_PRELOAD", others ? fmt::format("{}:{}", preload, *others).c_str() : preload.c_str(), 1);
    }
    auto const number = fmt::format("{}", rank);
    setenv("TOWLINE_JOB", fmt::format("{}:{}", file_.get(), rank).c_str(), 1);
    setenv("TOWLINE_RANK", number.c_str(), 1);
    std::size_t const local = local_[static_cast<std::size_t>(rank)];
    setenv("MPI_LOCALRANKID", fmt::format("{}", local).c_str(), 1);
    if (!cores_.empty() && !bind_to(cores_[local]))
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
