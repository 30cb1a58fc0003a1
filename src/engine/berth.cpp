// Berths: one for each thread, given back when it ends.

#include "engine/berth.hpp"

#include "base/futex.hpp"

#include <mutex>
#include <utility>

namespace towline::engine {
namespace {

std::mutex free_mutex;
berth* free_berths = nullptr;

} // namespace

/// What a thread has while it lives.
struct berth_of_thread {
    berth* own;
    berth_of_thread()
    {
        {
            std::lock_guard const lock(free_mutex);
            own = free_berths;
            if (own != nullptr)
                free_berths = own->next_free_;
        }
        if (own == nullptr)
            own = new berth;
        berth::threads_.fetch_add(1, std::memory_order_relaxed);
    }
    ~berth_of_thread()
    {
        berth::threads_.fetch_sub(1, std::memory_order_relaxed);
        std::lock_guard const lock(free_mutex);
        own->next_free_ = std::exchange(free_berths, own);
    }
    berth_of_thread(berth_of_thread const&) = delete;
    berth_of_thread& operator=(berth_of_thread const&) = delete;
};

berth& berth::mine()
{
    thread_local berth_of_thread of_thread;
    return *of_thread.own;
}

bool berth::sleep(std::chrono::nanoseconds limit) noexcept
{
    if (word_.load(std::memory_order_acquire) == woken)
        return true;
    (void)base::futex_wait(word_, waits, limit);
    return word_.load(std::memory_order_acquire) == woken;
}

void berth::wake() noexcept
{
    if (word_.exchange(woken, std::memory_order_acq_rel) == waits)
        base::futex_wake(word_, 1);
}

} // namespace towline::engine
