#pragma once
// Requests: how they begin and end, the order of their ends, and the pool of those that no caller owns.
//
// Any thread, no lock held. common::lock guards the pool; the state of a request and the count of ends are atomic.

#include "matching/common.hpp"

#include <deque>

namespace towline::matching {

class requests {
public:
    explicit requests(common& c) noexcept : common_(c), threaded_(c.config.threaded) {}

    /// Throws usage_error while the request's last operation is under way.
    static void begin(request& r, operation what)
    {
        if (!r.done()) [[unlikely]]
            throw_under_way();
        r.what_ = what;
        r.behind_ = nullptr;
    }
    /// Ends the request, whose result is written, and tells its owner. The request may be gone afterwards.
    void finish(request&) noexcept;
    /// The same of a request that ends within its start, when no thread can wait for it.
    [[gnu::always_inline]] void finish_in_start(request& r) noexcept
    {
        r.place_ = next_place();
        count_end();
        r.state_.store(request::state::ended, std::memory_order_release);
        if (r.then != nullptr)
            r.then(r);
    }
    /// The same of a send that was successful.
    [[gnu::always_inline]] void finish_send(request& r) noexcept
    {
        r.result_ = {};
        finish_in_start(r);
    }

    /// The same of a send whose receiver is dead.
    void finish_lost_send(request& r) noexcept
    {
        r.result_ = {};
        r.result_.error = outcome::peer_died;
        finish_in_start(r);
    }

    /// matcher::completions.
    [[nodiscard]] std::atomic<std::uint64_t> const& count() const noexcept { return count_; }
    void count_end() noexcept
    {
        if (threaded_)
            count_.fetch_add(1, std::memory_order_release);
        else
            count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }

    /// The thread with this berth is woken when the request ends. False: it has, or another thread is. One thread at a time.
    [[nodiscard]] static bool announce(request&, engine::berth&) noexcept;
    static void withdraw(request&) noexcept;

    [[nodiscard]] request& acquire();
    void release(request&) noexcept;

private:
    [[noreturn, gnu::cold]] static void throw_under_way();
    void recycle(request&) noexcept;
    /// What ends next comes after all that count_end has counted.
    [[nodiscard]] std::uint64_t next_place() const noexcept { return count_.load(std::memory_order_relaxed) + 1; }

    common& common_;
    bool const threaded_;
    std::atomic<std::uint64_t> count_{0};
    std::deque<request> pool_;
    request* free_ = nullptr;
};

} // namespace towline::matching
