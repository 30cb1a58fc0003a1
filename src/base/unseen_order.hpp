#pragma once
// Order among threads of this process that comes about through other processes, or in libraries: the thread sanitizer does not see it, and
// would take what follows for a race.

#include <atomic>

#if defined(__SANITIZE_THREAD__)
#define TOWLINE_BASE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TOWLINE_BASE_TSAN 1
#endif
#endif

namespace towline::base {

/// Whatever a thread did before `pass` happened before what any thread does after a later `pass`. Nothing in builds without the thread
/// sanitizer.
class unseen_order {
public:
    void pass() noexcept
    {
#if defined(TOWLINE_BASE_TSAN)
        passes_.fetch_add(1, std::memory_order_acq_rel);
#endif
    }

#if defined(TOWLINE_BASE_TSAN)
private:
    std::atomic<int> passes_{0};
#endif
};

} // namespace towline::base
