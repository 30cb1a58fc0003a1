// The thread that waits for packets while all others sleep.

#include "engine/packet_watch.hpp"

#include "base/futex.hpp"
#include "base/threads.hpp"
#include "engine/common.hpp"

#include <towline/error.hpp>

#include <cerrno>
#include <chrono>
#include <new>
#include <system_error>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace towline::engine {

std::unique_ptr<packet_watch> packet_watch::make(common& c)
{
    std::vector<int> descriptors;
    for (auto const& t : c.config.transports)
        if (int const fd = t->wait_descriptor(); fd >= 0)
            descriptors.push_back(fd);
    if (descriptors.empty() || c.config.event == nullptr)
        return nullptr;
    return std::unique_ptr<packet_watch>(new packet_watch(c, std::move(descriptors)));
}

packet_watch::packet_watch(common& c, std::vector<int> descriptors)
    : common_(c), descriptors_(std::move(descriptors)), stop_(eventfd(0, EFD_CLOEXEC))
{
    if (!stop_)
        throw system_error("eventfd", errno);
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's signals are for the program's threads
    int refused = 0;
    try {
        thread_ = std::thread([this] { watch(); });
    } catch (std::system_error const& e) {
        refused = e.code().value();
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (refused != 0)
        throw base::no_thread("the thread that waits for packets", refused);
    pthread_setname_np(thread_.native_handle(), "towline packets");
}

packet_watch::~packet_watch()
{
    if (!thread_.joinable())
        return;
    stopped_.store(true, std::memory_order_release);
    std::uint64_t const one = 1;
    (void)!::write(stop_.get(), &one, sizeof one);
    armed_.fetch_add(1, std::memory_order_acq_rel);  // the word changes, so that a futex wait that is about to begin does not
    base::futex_wake_all(armed_);
    thread_.join();
}

void packet_watch::forget_thread() noexcept
{
    if (thread_.joinable())
        new (&thread_) std::thread;
}

void packet_watch::arm() noexcept
{
    if (armed_.exchange(1, std::memory_order_acq_rel) == 0)
        base::futex_wake_all(armed_);
}

void packet_watch::watch() noexcept
{
    std::vector<pollfd> watched{{stop_.get(), POLLIN, 0}};
    for (int const fd : descriptors_)
        watched.push_back({fd, POLLIN, 0});
    for (;;) {
        while (armed_.load(std::memory_order_acquire) == 0 && !stopped_.load(std::memory_order_acquire))
            (void)base::futex_wait(armed_, 0, std::chrono::hours(1));
        if (stopped_.load(std::memory_order_acquire))
            return;
        if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR)
            return;
        // Before the wake: a sleeper that finds nothing arms again. Not after the end was told, which would be forgotten.
        if (!stopped_.load(std::memory_order_acquire))
            armed_.store(0, std::memory_order_release);
        common_.wake();
    }
}

} // namespace towline::engine
