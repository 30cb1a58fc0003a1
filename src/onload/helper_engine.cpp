// The helper thread: takes tasks, copies, sleeps.

#include "onload/helper_engine.hpp"

#include "base/clock.hpp"
#include "base/event_count.hpp"
#include "base/idle.hpp"
#include "base/threads.hpp"
#include "onload/queues.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mutex>
#include <utility>

#include <pthread.h>
#include <sched.h>
#include <signal.h>

namespace towline::onload {
namespace {

using std::chrono::nanoseconds;

/// Counts forks between the first process and this one: threads that were started before a fork do not exist here.
std::atomic<std::uint32_t> forks{0};

void count_forks()
{
    static std::once_flag once;
    std::call_once(once, [] { ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); }); });
}

class submit_lock {
public:
    void lock() noexcept
    {
        for (std::uint32_t round = 0; word_.exchange(1, std::memory_order_acquire) != 0; ++round) {
            if (round < 64)
                base::cpu_relax();
            else
                ::sched_yield();  // the holder may have been preempted by this thread
        }
    }
    void unlock() noexcept { word_.store(0, std::memory_order_release); }

private:
    std::atomic<std::uint32_t> word_{0};
};

class helper final : public helper_engine {
public:
    explicit helper(helper_options const& o) : options_(o), queues_(o.slots, o.chunk) {}
    ~helper() override { stop(); }

    /// 0 or errno.
    [[nodiscard]] int start() noexcept
    {
        pthread_attr_t about;
        pthread_attr_init(&about);
        sigset_t all;
        sigfillset(&all);
        int error = pthread_attr_setsigmask_np(&about, &all);
        if (error == 0 && !options_.cores.empty()) {
            auto const most = static_cast<std::size_t>(*std::max_element(options_.cores.begin(), options_.cores.end())) + 1;
            cpu_set_t* const mask = CPU_ALLOC(most);
            std::size_t const bytes = CPU_ALLOC_SIZE(most);
            CPU_ZERO_S(bytes, mask);
            for (int const c : options_.cores)
                CPU_SET_S(static_cast<std::size_t>(c), bytes, mask);
            error = pthread_attr_setaffinity_np(&about, bytes, mask);
            CPU_FREE(mask);
        }
        if (error == 0)
            error = pthread_create(&thread_, &about, [](void* self) -> void* { return static_cast<helper*>(self)->run(), nullptr; }, this);
        pthread_attr_destroy(&about);
        running_ = error == 0;
        if (running_)
            pthread_setname_np(thread_, options_.thread_name);
        return error;
    }

    [[nodiscard]] capabilities caps() const noexcept override { return {"helper thread", true, true}; }

    [[nodiscard]] ticket submit(task const& t) noexcept override
    {
        if (forked())
            return 0;
        ticket n = 0;
        {
            std::lock_guard const lock(lock_);
            if (!stopping())
                n = queues_.push(t);
        }
        if (n != 0 && !on_helper())
            call();
        return n;
    }
    [[nodiscard]] std::size_t poll(std::span<completion> ends) noexcept override
    {
        return forked() || !queues_.signalled() ? 0 : queues_.poll(ends);
    }
    bool help() noexcept override { return !forked() && queues_.help(); }
    [[nodiscard]] bool ready() const noexcept override { return queues_.signalled(); }
    [[nodiscard]] std::size_t under_way() const noexcept override { return forked() ? 0 : queues_.under_way(); }
    [[nodiscard]] bool waiting() const noexcept override { return queues_.waiting(); }
    [[nodiscard]] bool stopping() const noexcept override { return stop_.load(std::memory_order_acquire); }
    [[nodiscard]] bool on_helper() const noexcept override { return helper_here == this; }

    void wake() noexcept override
    {
        if (!awake_.exchange(true, std::memory_order_acq_rel))
            call();
    }

    void retire() noexcept override
    {
        if (forked() || !std::exchange(running_, false))
            return;
        {
            std::lock_guard const lock(lock_);
            stop_.store(true, std::memory_order_seq_cst);
        }
        event_.wake_all();
        if (options_.call_back != nullptr)
            options_.call_back(options_.context);
        pthread_join(thread_, nullptr);
    }
    void stop() noexcept override
    {
        if (forked())
            return;
        retire();
        queues_.cancel();
    }

private:
    void call() noexcept
    {
        event_.notify(base::fence_side::notifier_fences);  // a full fence: the loads below come after the task's store
        if (options_.call_back != nullptr && idling_.load(std::memory_order_relaxed))
            options_.call_back(options_.context);
    }

    [[nodiscard]] bool forked() const noexcept { return forks.load(std::memory_order_relaxed) != born_; }

    void run() noexcept
    {
        helper_here = this;
        std::int64_t quiet_since = base::monotonic_ns();
        while (!stopping()) {
            bool signalled = false;
            bool worked = false;
            while (!stopping() && queues_.work(signalled)) {
                worked = true;
                if (std::exchange(signalled, false) && options_.ended != nullptr)
                    options_.ended(options_.context);
            }
            if (worked)
                quiet_since = base::monotonic_ns();
            nanoseconds nap = nanoseconds::max();
            if (awake_.exchange(false, std::memory_order_acq_rel))
                quiet_since = base::monotonic_ns();
            if (options_.idle != nullptr) {
                // Either submit sees the flag, or `idle` sees the task.
                idling_.store(true, std::memory_order_seq_cst);
                nap = queues_.waiting() ? nanoseconds::zero() : options_.idle(options_.context);
                idling_.store(false, std::memory_order_relaxed);
                if (nap == nanoseconds::zero())
                    continue;
            }
            if (base::monotonic_ns() - quiet_since < options_.spin.count()) {
                for (int i = 0; i < 16 && !queues_.waiting(); ++i)
                    base::cpu_relax();
                continue;
            }
            std::uint32_t const key = event_.prepare_wait(base::fence_side::notifier_fences);
            if (queues_.waiting() || stopping() || awake_.load(std::memory_order_acquire))
                event_.cancel_wait();
            else
                (void)event_.wait(key, nap);
        }
    }

    static thread_local helper const* helper_here;
    helper_options const options_;
    std::uint32_t const born_ = forks.load(std::memory_order_relaxed);
    queues queues_;
    submit_lock lock_;
    base::event_count event_;
    std::atomic<bool> stop_{false};
    std::atomic<bool> idling_{false};
    std::atomic<bool> awake_{false};  ///< somebody called wake, and the thread has not seen it
    bool running_ = false;
    pthread_t thread_{};
};

constinit thread_local helper const* helper::helper_here = nullptr;

} // namespace

std::unique_ptr<helper_engine> start_helper(helper_options const& o, std::string& why_not)
{
    count_forks();
    auto made = std::make_unique<helper>(o);
    int const error = made->start();
    if (error == 0)
        return made;
    why_not = error == EAGAIN   ? fmt::format("its thread cannot be started: {}; {}", std::strerror(error), base::thread_limits())
              : o.cores.empty() ? fmt::format("its thread cannot be started: {}", std::strerror(error))
                                : fmt::format("its thread cannot run on core {}: {}", fmt::join(o.cores, ", "), std::strerror(error));
    return nullptr;
}

} // namespace towline::onload
