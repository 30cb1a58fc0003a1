#pragma once
// Ranks for tests: forked children of the test program, which is never a member of a job itself.

#include "job/file.hpp"
#include "job/job.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace ranks {

/// Fails a child: gtest's expectations do not reach the parent.
inline void check(bool condition, char const* what)
{
    if (!condition)
        throw std::runtime_error(what);
}
#define CHECK_THAT(...) ::ranks::check((__VA_ARGS__), #__VA_ARGS__)

inline pid_t spawn(std::function<void()> const& body)
{
    pid_t const child = fork();
    if (child == 0) {
        int code = 0;
        try {
            body();
        } catch (std::exception const& e) {
            std::fprintf(stderr, "child %d: %s\n", static_cast<int>(getpid()), e.what());
            code = 99;
        }
        std::exit(code);
    }
    return child;
}

inline pid_t spawn_rank(int fd, int rank, std::function<void(int)> const& body)
{
    return spawn([&] {
        setenv("TOWLINE_JOB", (std::to_string(fd) + ":" + std::to_string(rank)).c_str(), 1);
        body(rank);
    });
}

inline int status_of(pid_t child)
{
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    return status;
}

/// Runs ranks to their end; all must exit with 0.
inline void run(std::uint32_t size, towline::job::job_options const& options, std::function<void(int)> const& body)
{
    auto const file = towline::job::create_job_file(size, options);
    std::vector<pid_t> children;
    for (std::uint32_t r = 0; r < size; ++r)
        children.push_back(spawn_rank(file.get(), static_cast<int>(r), body));
    for (pid_t const child : children)
        EXPECT_EQ(status_of(child), 0);
}
inline void run(std::uint32_t size, std::uint64_t segment_bytes, std::function<void(int)> const& body)
{
    run(size, towline::job::job_options{.segment_bytes = segment_bytes}, body);
}
inline void run_one(std::function<void()> const& body)
{
    run(1, std::uint64_t{1} << 30, [&](int) { body(); });
}

/// Words that all ranks of a test share, zero at first.
class board {
public:
    board()
        : words_(static_cast<std::atomic<std::uint64_t>*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)))
    {
    }
    ~board() { munmap(words_, 4096); }
    board(board const&) = delete;
    board& operator=(board const&) = delete;
    std::atomic<std::uint64_t>& operator[](std::size_t i) const { return words_[i]; }
    /// Waits until word i holds at least `value`.
    std::uint64_t wait(std::size_t i, std::uint64_t value = 1) const
    {
        auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (words_[i].load() < value) {
            check(std::chrono::steady_clock::now() < deadline, "the other rank did not come");
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        return words_[i].load();
    }

private:
    std::atomic<std::uint64_t>* words_;
};

} // namespace ranks
