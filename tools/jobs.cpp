#include "jobs.hpp"

#include "base/clock.hpp"
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
    std::string text{std::istreambuf_iterator<char>(file), {}};
    while (!text.empty() && text.back() == '\0')
        text.pop_back();
    for (char& c : text)
        c = c == '\0' ? ' ' : c >= ' ' && c != 127 ? c : '?';
    return text;
}

} // namespace

job_window::job_window(int fd)
{
    struct stat about {};
    if (fstat(fd, &about) != 0 || about.st_size < static_cast<off_t>(sizeof(job::control_header)))
        throw error("it is not a job file");
    void* const page = mmap(nullptr, sizeof(job::control_header), PROT_READ, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        throw system_error("mapping the control block", errno);
    char const* const wrong = job::check_control(*static_cast<job::control_header const*>(page), static_cast<std::uint64_t>(about.st_size));
    bytes_ = sizeof(job::control_header) + static_cast<job::control_header const*>(page)->size * sizeof(job::rank_slot);
    munmap(page, sizeof(job::control_header));
    if (wrong != nullptr)
        throw error(wrong);
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
            base::unique_fd const file(open(h.path.c_str(), O_RDONLY | O_CLOEXEC));
            if (!file)
                continue;
            j.window = std::make_shared<job_window>(file.get());
        } catch (error const&) {
            continue;  // of another version, or gone
        }
        j.id = j.window->header().job_id.data();
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
