// Finds running jobs through /proc.

#include "jobs.hpp"

#include "base/clock.hpp"
#include "base/printable.hpp"
#include "base/unique_fd.hpp"
#include "job/file.hpp"
#include "processes.hpp"
#include "towline/error.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
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

job_window::job_window(int fd) : about_(job::read_header(fd))
{
    bytes_ = sizeof(job::control_header) + about_.size * sizeof(job::rank_slot);
    void* const all = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, fd, 0);
    if (all == MAP_FAILED)
        throw system_error("mapping the control block", errno);
    header_ = static_cast<job::control_header const*>(all);
}

job_window::~job_window()
{
    munmap(const_cast<job::control_header*>(header_), bytes_);
}

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
            base::unique_fd const file = open_regular(h.path);
            if (!file)
                continue;
            j.window = std::make_shared<job_window>(file.get());
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
        if (is_here && j.launched)
            if (process_facts const front = facts_of(maker); front.parent > 1) {
                j.launcher = front.parent;
                j.pids.push_back(front.parent);
            }
        j.command = command_of(j.launcher);
        j.seconds = facts_of(j.launcher).age_seconds;
        jobs.push_back(std::move(j));
    }
    std::sort(jobs.begin(), jobs.end(), [](auto const& a, auto const& b) { return a.seconds > b.seconds; });
    return jobs;
}

} // namespace towline::tools
