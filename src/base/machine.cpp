// Reads what the machine offers from the kernel.

#include "base/machine.hpp"

#include "base/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace towline::base {

std::vector<int> allowed_cpus()
{
    // The kernel refuses a mask smaller than its own: grow until it fits.
    for (std::size_t cpus = 1024; cpus <= 1024 * 1024; cpus *= 2) {
        cpu_set_t* mask = CPU_ALLOC(cpus);
        if (mask == nullptr)
            break;
        std::size_t const bytes = CPU_ALLOC_SIZE(cpus);
        if (sched_getaffinity(0, bytes, mask) == 0) {
            std::vector<int> list;
            for (std::size_t i = 0; i < cpus; ++i)
                if (CPU_ISSET_S(i, bytes, mask))
                    list.push_back(static_cast<int>(i));
            CPU_FREE(mask);
            return list;
        }
        CPU_FREE(mask);
        if (errno != EINVAL)
            break;
    }
    long const online = sysconf(_SC_NPROCESSORS_ONLN);
    std::vector<int> list;
    for (int i = 0; i < std::max(1L, online); ++i)
        list.push_back(i);
    return list;
}

std::optional<double> cpu_quota()
{
    return cgroup::cpu_quota(cgroup::this_process());
}

unsigned usable_cores()
{
    double cores = static_cast<double>(allowed_cpus().size());
    if (auto const quota = cpu_quota())
        cores = std::min(cores, std::ceil(*quota));
    return static_cast<unsigned>(std::max(1.0, cores));
}

std::string processor_name()
{
    std::string name;
#if defined(__x86_64__)
    // Not /proc/cpuinfo: there the kernel may first measure every core's clock, which takes milliseconds.
    constexpr unsigned first = 0x80000002;
    for (unsigned leaf = first; leaf < first + 3; ++leaf) {
        std::array<unsigned, 4> words{};
        if (__get_cpuid(leaf, &words[0], &words[1], &words[2], &words[3]) == 0)
            return {};
        name.append(reinterpret_cast<char const*>(words.data()), sizeof words);
    }
    name.resize(std::min(name.find('\0'), name.size()));
#else
    if (auto const model = first_line("/sys/firmware/devicetree/base/model"))
        name = model->substr(0, model->find('\0'));
    else if (auto const id = first_line("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1"))
        name = "MIDR " + *id;
#endif
    auto const begin = name.find_first_not_of(' ');
    return begin == name.npos ? std::string() : name.substr(begin, name.find_last_not_of(' ') - begin + 1);
}

unsigned online_cpus()
{
    return static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

std::uint64_t total_memory()
{
    return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::optional<std::uint64_t> memory_limit()
{
    auto const limit = cgroup::memory_limit(cgroup::this_process());
    if (!limit || *limit >= total_memory())
        return std::nullopt;
    return limit;
}

int try_cross_memory_read(int pid, void const* remote, std::size_t size) noexcept
{
    int const saved = errno;
    std::array<char, 256> buffer;
    iovec const to{buffer.data(), std::min(size, buffer.size())};
    iovec const from{const_cast<void*>(remote), to.iov_len};
    ssize_t const got = process_vm_readv(pid, &to, 1, &from, 1, 0);
    int const result = got == static_cast<ssize_t>(to.iov_len) ? 0 : got < 0 ? errno : EIO;
    errno = saved;
    return result;
}

int probe_cross_memory_attach() noexcept
{
    // The child is the one that reads: ranks are siblings, and a child reading its parent passes the same checks as they do
    // (Yama's "descendants only" lets a parent read its child, but not the other way round).
    std::array<char, 64> volatile_bytes{};
    pid_t const parent = getpid();
    pid_t const child = fork();
    if (child < 0)
        return errno;
    if (child == 0) {
        int const result = try_cross_memory_read(parent, volatile_bytes.data(), volatile_bytes.size());
        _exit(result > 255 ? 255 : result);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;  // a filter that kills instead of refusing
}

std::optional<std::string> first_line(char const* path)
{
    unique_fd const file(::open(path, O_RDONLY | O_CLOEXEC));
    if (!file)
        return std::nullopt;
    std::array<char, 4096> buffer;
    ssize_t const got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0)
        return std::nullopt;
    std::string text(buffer.data(), static_cast<std::size_t>(got));
    return text.substr(0, text.find('\n'));
}

} // namespace towline::base
