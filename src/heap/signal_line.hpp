#pragma once
// For fork.cpp: a one-time signal from a forked child to its parent.

#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

namespace towline::heap {

/// By it the child says that it has its copy: a pipe, which also closes when the child dies; if no descriptor is left, a shared word.
struct signal_line {
    static constexpr int patience_ms = 60'000;  ///< where there is no pipe
    int ends[2] = {-1, -1};
    std::atomic<int>* word = nullptr;

    void make() noexcept
    {
        word = nullptr;
        if (pipe2(ends, O_CLOEXEC) == 0)
            return;
        ends[0] = ends[1] = -1;
        void* const page = mmap(nullptr, sizeof *word, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        word = page == MAP_FAILED ? nullptr : static_cast<std::atomic<int>*>(page);
    }
    void tell() noexcept
    {
        if (ends[1] >= 0)
            while (write(ends[1], "x", 1) < 0 && errno == EINTR) {}
        if (word != nullptr)
            word->store(1, std::memory_order_release);
    }
    /// Waits until the child has signalled, or has ended.
    void wait() noexcept
    {
        if (ends[0] >= 0) {
            close(ends[1]);
            ends[1] = -1;
            pollfd look{ends[0], POLLIN, 0};
            while (poll(&look, 1, -1) < 0 && errno == EINTR) {}
        }
        if (word != nullptr)
            for (int i = 0; i < patience_ms * 10 && word->load(std::memory_order_acquire) == 0; ++i) {
                timespec const moment{0, 100'000};
                nanosleep(&moment, nullptr);
            }
    }
    void done() noexcept
    {
        for (int& end : ends) {
            if (end >= 0)
                close(end);
            end = -1;
        }
        if (word != nullptr)
            munmap(word, sizeof *word);
        word = nullptr;
    }
};

} // namespace towline::heap
