#pragma once
// Nonblocking operations over lanes: each poll advances them, in the order in which they were left here.

#include <atomic>
#include <mutex>
#include <vector>

namespace towline::collective {

class lane_task {
public:
    /// Does what can be done now; true if it has ended: then it may be gone.
    virtual bool poll() = 0;

protected:
    lane_task() = default;
    lane_task(lane_task const&) = default;
    ~lane_task() = default;
};

class lane_queue {
public:
    /// Calls ask(1) for each task that is to be polled, and ask(-n) when n have ended.
    lane_queue(void (*ask)(void* context, int change), void* context) noexcept : ask_(ask), context_(context) {}
    lane_queue(lane_queue const&) = delete;
    lane_queue& operator=(lane_queue const&) = delete;

    /// Any thread. The task stays until it has ended.
    void leave(lane_task&);
    /// Drives all of them; how many have ended. One thread at a time.
    int poll();

private:
    void (*ask_)(void*, int);
    void* context_;
    std::atomic<bool> is_left_{false};  ///< something is, perhaps: polls look here first, and take no lock in vain
    std::mutex mutex_;
    std::vector<lane_task*> left_;    ///< since the last poll
    std::vector<lane_task*> polled_;  ///< the poller's
};

} // namespace towline::collective
