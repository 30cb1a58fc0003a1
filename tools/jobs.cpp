// Finds running jobs through /proc.

#include "jobs.hpp"

#include "base/clock.hpp"
#include "base/machine.hpp"
#include "base/printable.hpp"
#include "base/unique_fd.hpp"
#include "job/file.hpp"
#include "job/questions.hpp"
#include "processes.hpp"
#include "towline/error.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <map>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace towline::tools {

namespace {

bool is_number(char const* text)
{
    return std::isdigit(static_cast<unsigned char>(*text)) != 0;
}

template <class Function>
void for_each_entry(std::string const& folder, Function&& function)
{
    std::unique_ptr<DIR, int (*)(DIR*)> const all(opendir(folder.c_str()), &closedir);
    while (all) {
        dirent const* const entry = readdir(all.get());
        if (entry == nullptr)
            return;
        if (is_number(entry->d_name))
            function(entry->d_name);
    }
}

std::string command_of(pid_t pid)
{
    std::ifstream file(fmt::format("/proc/{}/cmdline", pid), std::ios::binary);
    std::string text(16 << 10, '\0');  // it may be as long as its owner likes
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    while (!text.empty() && text.back() == '\0')
        text.pop_back();
    std::replace(text.begin(), text.end(), '\0', ' ');
    base::make_printable(text);
    return text;
}

/// To read; nothing where it is no regular file (any more). A path in another process's /proc/PID/fd may lead to a pipe or a device
/// from one moment to the next: what is opened first is only the name.
base::unique_fd open_regular(std::string const& path)
{
    base::unique_fd const name(open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat about {};
    if (!name || fstat(name.get(), &about) != 0 || !S_ISREG(about.st_mode))
        return {};
    return base::unique_fd(open(fmt::format("/proc/self/fd/{}", name.get()).c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

} // namespace

job_window::job_window(base::unique_fd file) : file_(std::move(file)), about_(job::read_header(file_.get()))
{
    bytes_ = sizeof(job::control_header) + about_.size * sizeof(job::rank_slot);
    void* const all = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file_.get(), 0);
    if (all == MAP_FAILED)
        throw system_error("mapping the control block", errno);
    header_ = static_cast<job::control_header const*>(all);
}

job_window::~job_window()
{
    munmap(const_cast<job::control_header*>(header_), bytes_);
}

std::uint32_t job_window::ask_others(std::chrono::nanoseconds at_most) const
{
    base::unique_fd const again(open(fmt::format("/proc/self/fd/{}", file_.get()).c_str(), O_RDWR | O_CLOEXEC));
    void* const page = again ? mmap(nullptr, sizeof(job::control_header), PROT_READ | PROT_WRITE, MAP_SHARED, again.get(), 0) : MAP_FAILED;
    if (page == MAP_FAILED) {
        fmt::print(stderr, "towline where: the other nodes of the job cannot be asked: {}\n", std::strerror(errno));
        return 0;
    }
    auto& header = *static_cast<job::control_header*>(page);
    std::uint32_t const question = job::ask_other_nodes(header);
    (void)job::wait_for_answers(header, question, at_most);
    munmap(page, sizeof(job::control_header));
    return question;
}

namespace {

/// Whom the user started, for a job of several nodes: above the keeper stands an agent, and above that one the front, if it is here.
void add_launchers(running_job& j, pid_t keeper)
{
    j.launcher = keeper;
    for (int steps = 0; steps < 2; ++steps) {
        pid_t const parent = facts_of(j.launcher).parent;
        auto const name = base::first_line(fmt::format("/proc/{}/comm", parent).c_str());
        if (parent <= 1 || !name || (*name != "towline" && *name != "mpiexec"))
            return;
        j.launcher = parent;
        j.pids.push_back(parent);
    }
}

/// Nodes of one job that are parts of this machine are listed once.
void merge(std::vector<running_job>& jobs)
{
    std::vector<running_job> merged;
    for (auto& j : jobs) {
        auto const same = std::find_if(merged.begin(), merged.end(), [&](running_job const& m) { return m.id == j.id; });
        if (same == merged.end()) {
            merged.push_back(std::move(j));
            continue;
        }
        if (same->window->nodes() == 1)  // the front's own, which no rank knows
            *same = std::move(j);
        else if (j.window->nodes() > 1)
            same->pids.insert(same->pids.end(), j.pids.begin(), j.pids.end());
    }
    jobs = std::move(merged);
}

} // namespace

std::vector<running_job> running_jobs()
{
    struct held {
        std::vector<pid_t> by;
        std::string path;
    };
    std::map<std::pair<dev_t, ino_t>, held> files;
    for_each_entry("/proc", [&](char const* name) {
        std::string const folder = fmt::format("/proc/{}/fd", name);
        for_each_entry(folder, [&](char const* number) {
            std::string const path = fmt::format("{}/{}", folder, number);
            std::array<char, 64> target{};
            ssize_t const length = readlink(path.c_str(), target.data(), target.size() - 1);
            if (length <= 0 || !std::string_view(target.data()).starts_with("/memfd:towline-job"))
                return;
            struct stat about {};
            if (stat(path.c_str(), &about) != 0)
                return;
            held& h = files[{about.st_dev, about.st_ino}];
            pid_t const pid = std::atoi(name);
            if (h.by.empty() || h.by.back() != pid)
                h.by.push_back(pid);
            h.path = path;
        });
    });
    std::vector<running_job> jobs;
    for (auto& [inode, h] : files) {
        running_job j;
        try {
            base::unique_fd file = open_regular(h.path);
            if (!file)
                continue;
            j.window = std::make_shared<job_window>(std::move(file));
        } catch (error const&) {
            continue;  // of another version, or gone
        }
        j.id = j.window->id();
        j.pids = std::move(h.by);
        // Its maker's number stands in front of the job's name: the keeper, a child of what the user started.
        pid_t const maker = std::atoi(j.id.c_str());
        bool const is_here = std::find(j.pids.begin(), j.pids.end(), maker) != j.pids.end();
        j.launcher = is_here ? maker : j.pids.front();
        j.launched = j.window->slots()[0].pid.load() != maker;
        if (j.window->nodes() > 1)
            add_launchers(j, j.pids.front());
        else if (is_here && j.launched)
            if (process_facts const front = facts_of(maker); front.parent > 1) {
                j.launcher = front.parent;
                j.pids.push_back(front.parent);
            }
        j.command = command_of(j.launcher);
        j.seconds = facts_of(j.launcher).age_seconds;
        jobs.push_back(std::move(j));
    }
    merge(jobs);
    std::sort(jobs.begin(), jobs.end(), [](auto const& a, auto const& b) { return a.seconds > b.seconds; });
    return jobs;
}

} // namespace towline::tools
