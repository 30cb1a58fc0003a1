#pragma once
// A child process with memory of its own, a known pattern in it, and nothing behind its end.

#include "base/machine.hpp"

#include <cstddef>

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

class peer_process {
public:
    static unsigned char pattern(std::size_t i) noexcept { return static_cast<unsigned char>(i * 131 + (i >> 9)); }

    /// `bytes` is a multiple of the page size.
    explicit peer_process(std::size_t bytes) : size_(bytes)
    {
        int ready[2];
        if (::pipe(ready) != 0)
            return;
        // Room for a page that is not there, at an address that is the same in the child.
        auto* const all = static_cast<unsigned char*>(::mmap(nullptr, bytes + 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        address_ = all;
        pid_ = ::fork();
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::mprotect(all, bytes, PROT_READ | PROT_WRITE);
            for (std::size_t i = 0; i < bytes; ++i)
                all[i] = pattern(i);
            (void)!::write(ready[1], "x", 1);
            for (;;)
                ::pause();
        }
        char c = 0;
        ::close(ready[1]);
        (void)!::read(ready[0], &c, 1);
        ::close(ready[0]);
    }
    ~peer_process()
    {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        ::munmap(address_, size_ + 65536);
    }
    peer_process(peer_process const&) = delete;
    peer_process& operator=(peer_process const&) = delete;

    [[nodiscard]] int pid() const noexcept { return pid_; }
    [[nodiscard]] void* address() const noexcept { return address_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool readable() const noexcept { return towline::base::try_cross_memory_read(pid_, address_, 64) == 0; }

private:
    std::size_t size_;
    void* address_ = nullptr;
    pid_t pid_ = -1;
};
