// Polls the nonblocking operations over lanes.

#include "collective/lanes/lane_queue.hpp"

namespace towline::collective {

void lane_queue::leave(lane_task& t)
{
    {
        std::scoped_lock const lock(mutex_);
        left_.push_back(&t);
        is_left_.store(true, std::memory_order_relaxed);
    }
    ask_(context_, 1);
}

int lane_queue::poll()
{
    if (is_left_.load(std::memory_order_relaxed)) {
        std::scoped_lock const lock(mutex_);
        is_left_.store(false, std::memory_order_relaxed);
        polled_.insert(polled_.end(), left_.begin(), left_.end());
        left_.clear();
    }
    int ended = 0;
    std::size_t kept = 0;
    // What a task's end leaves here comes with the next poll.
    for (lane_task* const t : polled_) {
        if (t->poll())
            ++ended;
        else
            polled_[kept++] = t;
    }
    polled_.resize(kept);
    if (ended != 0)
        ask_(context_, -ended);
    return ended;
}

} // namespace towline::collective
