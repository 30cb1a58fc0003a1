#pragma once
// Happens-before among threads of this process that is established through another process or inside a library: the thread sanitizer does
// not see it and would report a race.

#include <atomic>

#if defined(__SANITIZE_THREAD__)
#define TOWLINE_BASE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TOWLINE_BASE_TSAN 1
#endif
#endif

namespace towline::base {

/// What a thread did before `pass` happens before what any thread does after a later `pass`. Compiles to nothing without the thread
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
