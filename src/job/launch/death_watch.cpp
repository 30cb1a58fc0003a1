// Watches the processes of the node's ranks by pidfds.

#include "job/launch/death_watch.hpp"

#include "base/log.hpp"
#include "base/unique_fd.hpp"
#include "job/file.hpp"
#include "job/job.hpp"

#include <cerrno>
#include <chrono>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <system_error>
#include <thread>
#include <vector>

namespace towline::job::launch {

namespace {

struct watched {
    int rank;
    base::unique_fd process;  ///< empty: it has ended already
};

void report(control_view& view, int rank)
{
    auto const& slot = view.slots()[static_cast<std::size_t>(rank)];
    auto const state = static_cast<rank_state>(slot.state.load(std::memory_order_seq_cst));
    // It has told the launcher to end the job with its code: errors of others would be other codes.
    if (state == rank_state::joined && (slot.marks.load() & mark_explained) != 0)
        std::this_thread::sleep_for(std::chrono::seconds(1));
    if (state == rank_state::joined && view.mark_dead(rank, status_unknown))
        view.wake_fences();
}

void watch(control_view& view, std::vector<watched> all)
{
    while (!all.empty()) {
        std::vector<pollfd> wait;
        for (auto const& w : all)
            wait.push_back({w.process.get(), POLLIN, 0});
        if (poll(wait.data(), wait.size(), -1) < 0 && errno != EINTR)
            return;
        for (std::size_t i = wait.size(); i-- > 0;)
            if (wait[i].revents != 0) {
                report(view, all[i].rank);
                all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
            }
    }
}

} // namespace

void watch_deaths(membership& job)
{
    auto* const view = new control_view(job.fd());  // the thread ends with the process
    std::vector<watched> all;
    for (int r = 0; r < job.size(); ++r) {
        auto const& slot = job.slot(r);
        if (r == job.rank() || !job.is_here(r) || slot.pid_namespace.load() != job.self().pid_namespace.load())
            continue;
        auto const fd = static_cast<int>(syscall(SYS_pidfd_open, slot.pid.load(), 0));
        if (fd >= 0)
            all.push_back({r, base::unique_fd(fd)});
        else if (errno == ESRCH)
            report(*view, r);
        else
            base::log(base::log_level::info, "the death of rank {} would not be noticed here: pidfd_open: {}", r,
                      std::generic_category().message(errno));
    }
    sigset_t every;
    sigset_t before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    std::thread([view, all = std::move(all)]() mutable {
        pthread_setname_np(pthread_self(), "towline deaths");
        watch(*view, std::move(all));
    }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

} // namespace towline::job::launch
