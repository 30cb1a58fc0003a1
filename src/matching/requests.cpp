// The ends of requests, and their pool.

#include "matching/requests.hpp"

#include <towline/error.hpp>

namespace towline::matching {

void requests::throw_under_way()
{
    throw usage_error("matching: a request is started while its last operation is under way");
}

void requests::finish(request& r) noexcept
{
    auto const then = r.then;
    r.place_ = next_place();
    request::state before = r.state_.load(std::memory_order_acquire);
    engine::berth* waiter = nullptr;
    if (threaded_) {
        do  // what is awaited may be gone once it has ended
            waiter = before == request::state::awaited ? r.waiter_.load(std::memory_order_relaxed) : nullptr;
        while (!r.state_.compare_exchange_weak(before, request::state::ended, std::memory_order_acq_rel, std::memory_order_acquire));
    } else {
        r.state_.store(request::state::ended, std::memory_order_release);
    }
    if (then != nullptr)
        then(r);
    if (before == request::state::detached)
        recycle(r);
    count_end();
    if (waiter != nullptr)
        common_.engine_.wake(*waiter);
}

bool requests::announce(request& r, engine::berth& b) noexcept
{
    auto expected = request::state::pending;
    r.waiter_.store(&b, std::memory_order_relaxed);
    return r.state_.compare_exchange_strong(expected, request::state::awaited, std::memory_order_acq_rel, std::memory_order_acquire);
}

void requests::withdraw(request& r) noexcept
{
    auto expected = request::state::awaited;
    r.state_.compare_exchange_strong(expected, request::state::pending, std::memory_order_acq_rel, std::memory_order_acquire);
}

request& requests::acquire()
{
    common::guard const g(common_);
    if (free_ != nullptr)
        return *std::exchange(free_, free_->link_.after);
    request& r = pool_.emplace_back();
    return r;
}

void requests::release(request& r) noexcept
{
    auto expected = request::state::pending;
    if (!r.state_.compare_exchange_strong(expected, request::state::detached, std::memory_order_acq_rel, std::memory_order_acquire))
        recycle(r);
}

void requests::recycle(request& r) noexcept
{
    r.then = nullptr;
    r.user = nullptr;
    r.state_.store(request::state::idle, std::memory_order_relaxed);
    common::guard const g(common_);
    r.link_.after = free_;
    free_ = &r;
}

} // namespace towline::matching
