// Copies inside submit.

#include "onload/inline_engine.hpp"

#include "onload/move.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>

namespace towline::onload {
namespace {

class inline_engine final : public copy_engine {
public:
    [[nodiscard]] capabilities caps() const noexcept override { return {"inline", false, true}; }

    [[nodiscard]] ticket submit(task const& t) noexcept override
    {
        completion c;
        {
            std::lock_guard const lock(mutex_);
            if (stopped_ || tail_ - head_ == ends_.size())
                return 0;
            c.number = ++tail_;  // room is taken before the copy: the end always finds it
        }
        std::uint64_t all = 0;
        for (range const& r : t.ranges)
            all += r.bytes;
        moved const m = move_part(t.ranges, 0, all, t.where, t.pid);
        c.context = t.context;
        c.error = m.error;
        c.bytes = m.bytes;
        std::lock_guard const lock(mutex_);
        ends_[told_++ % ends_.size()] = c;
        ended_.store(told_ - head_, std::memory_order_release);
        return c.number;
    }
    [[nodiscard]] std::size_t poll(std::span<completion> ends) noexcept override
    {
        if (ended_.load(std::memory_order_acquire) == 0)
            return 0;
        std::lock_guard const lock(mutex_);
        std::size_t n = 0;
        for (; n < ends.size() && head_ != told_; ++head_)
            ends[n++] = ends_[head_ % ends_.size()];
        ended_.store(told_ - head_, std::memory_order_release);
        return n;
    }
    [[nodiscard]] bool ready() const noexcept override { return ended_.load(std::memory_order_acquire) != 0; }
    [[nodiscard]] std::size_t under_way() const noexcept override
    {
        std::lock_guard const lock(mutex_);
        return static_cast<std::size_t>(tail_ - head_);
    }
    void stop() noexcept override
    {
        std::lock_guard const lock(mutex_);
        stopped_ = true;
    }

private:
    mutable std::mutex mutex_;  // held for a few stores, never for a copy
    std::array<completion, 64> ends_{};
    std::uint64_t tail_ = 0;  ///< submitted
    std::uint64_t told_ = 0;  ///< copied
    std::uint64_t head_ = 0;  ///< polled
    std::atomic<std::uint64_t> ended_{0};
    bool stopped_ = false;
};

} // namespace

std::unique_ptr<copy_engine> make_inline()
{
    return std::make_unique<inline_engine>();
}

} // namespace towline::onload
