#include "harness/pair.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {

namespace {

std::vector<int> allowed_cores()
{
    std::vector<int> found;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (int c = 0; c < CPU_SETSIZE; ++c)
            if (CPU_ISSET(c, &set))
                found.push_back(c);
    return found;
}

[[noreturn]] void fail(char const* what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

} // namespace

std::vector<int> const& cores()
{
    static std::vector<int> const all = allowed_cores();
    return all;
}

void pin(int n)
{
    if (cores().size() < 2)
        return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cores()[static_cast<std::size_t>(n) % cores().size()], &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        fail("sched_setaffinity");
}

std::byte* shared_memory(std::size_t size)
{
    int const fd = memfd_create("bench", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, static_cast<off_t>(size)) != 0)
        fail("memfd_create");
    void* const p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (p == MAP_FAILED)
        fail("mmap");
    return static_cast<std::byte*>(p);
}

partner::partner(std::function<void()> work, int core)
{
    static_cast<void>(cores());
    auto const parent = getpid();
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ < 0)
        fail("fork");
    if (pid_ == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(0);
        int status = 0;
        try {
            if (core >= 0)
                pin(core);
            work();
        } catch (std::exception const& e) {
            std::fprintf(stderr, "bench: the partner process failed: %s\n", e.what());
            status = 1;
        }
        _exit(status);
    }
}

partner::~partner()
{
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void doorbell::wait() noexcept
{
    ++seen_;
    for (;;) {
        auto const now = rung_.load(std::memory_order_acquire);
        if (static_cast<std::int32_t>(now - seen_) >= 0)
            return;
        syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&rung_), FUTEX_WAIT, now, nullptr, nullptr, 0);
    }
}

void doorbell::ring() noexcept
{
    rung_.fetch_add(1, std::memory_order_release);
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&rung_), FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

socket_path::socket_path() : owner_(getpid())
{
    std::string folder = (std::filesystem::temp_directory_path() / "towline-bench-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr)
        fail("mkdtemp");
    path_ = folder + "/socket";
}

socket_path::~socket_path()
{
    if (getpid() != owner_)
        return;
    std::error_code ignored;
    std::filesystem::remove_all(std::filesystem::path(path_).parent_path(), ignored);
}

} // namespace bench
