// Waiting for a future on a fiber, on a plain thread of a runtime, or without a runtime.

#include "remote/runtime.hpp"
#include "remote/workers.hpp"

#include <towline/detail/state.hpp>
#include <towline/future.hpp>
#include <towline/remote_error.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>

namespace towline::remoting {
std::atomic<std::uint64_t> replies_seen{0};
}

namespace towline::detail {
namespace {

using remoting::fiber;
using remoting::runtime;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

void wait_on_fiber(state_base const& s, fiber& f, char const* what)
{
    fiber::waiting const told(f, what, &s);
    struct node : waiter {
        state_base const* state = nullptr;
        fiber* sleeper = nullptr;
    } n;
    n.state = &s;
    n.sleeper = &f;
    n.notify = [](waiter* w) noexcept {
        fiber* const sleeper = static_cast<node*>(w)->sleeper;
        sleeper->pool->resume(*sleeper);
    };
    // The fiber may be resumed only after it has left its stack: the waiter is added from the thread's own stack.
    f.suspend([](void* context, fiber& left) noexcept {
        node* const mine = static_cast<node*>(context);
        left.pool->note_suspension();
        if (!mine->state->add(*mine))
            left.pool->resume(left);
    }, &n);
}

// Waits without a runtime.
struct parking {
    std::mutex mutex;
    std::condition_variable changed;
};
parking& lot() noexcept
{
    static parking* const instance = new parking;
    return *instance;
}

// Shared by the waiting caller and the state's list, because it outlives a caller that timed out.
struct timed final : waiter, pooled {
    std::atomic<int> owners{2};
    std::atomic<bool> done{false};
    engine::engine* engine = nullptr;

    static void drop(timed* t) noexcept
    {
        if (t->owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete t;
    }
    static void fire(waiter* w) noexcept
    {
        timed* const t = static_cast<timed*>(w);
        engine::engine* const e = t->engine;
        if (e != nullptr) {
            t->done.store(true, std::memory_order_release);
            drop(t);
            e->notify();
        } else {
            {
                std::scoped_lock lock(lot().mutex);
                t->done.store(true, std::memory_order_release);
            }
            lot().changed.notify_all();
            drop(t);
        }
    }
};

bool wait_limited(state_base const& s, char const* what, nanoseconds limit)
{
    runtime* const r = runtime::current_or_null();
    if (r != nullptr)
        r->check_may_wait(what);
    auto* t = new timed;
    t->engine = r != nullptr ? &r->engine() : nullptr;
    t->notify = timed::fire;
    if (!s.add(*t)) {
        delete t;
        return true;
    }
    auto ready = [t] { return t->done.load(std::memory_order_acquire); };
    bool ok = false;
    if (r != nullptr) {
        remoting::waiting const about(&s);
        ok = r->engine().wait(ready, what, limit, &about);
    } else {
        std::unique_lock lock(lot().mutex);
        ok = lot().changed.wait_for(lock, limit, ready);
    }
    timed::drop(t);
    return ok;
}

} // namespace

void state_base::wait_slow(char const* what_for) const
{
    if (fiber* const f = fiber::current())
        return wait_on_fiber(*this, *f, what_for);
    runtime* const r = runtime::current_or_null();
    if (r == nullptr) {
        while (!wait_limited(*this, what_for, std::chrono::hours(1)))
            ;
        return;
    }
    r->check_may_wait(what_for);
    // Most answers arrive while this thread spins: then no waiter has to be notified.
    if (r->engine().spin([this] { return ready(); }, what_for))
        return;
    struct node : waiter {
        std::atomic<bool> done{false};
        engine::engine* engine = nullptr;
    } n;
    n.engine = &r->engine();
    n.notify = [](waiter* w) noexcept {
        node* const mine = static_cast<node*>(w);
        engine::engine* const e = mine->engine;
        mine->done.store(true, std::memory_order_release);  // the waiter may destroy the node now
        e->notify();
    };
    remoting::waiting const about(this);
    if (add(n))
        r->engine().wait([&n] { return n.done.load(std::memory_order_acquire); }, what_for, nanoseconds::max(), &about);
}

bool state_base::wait_for(char const* what_for, std::int64_t ns) const
{
    if (ready())
        return true;
    if (ns <= 0)
        return false;
    if (fiber* const f = fiber::current()) {
        auto const end = steady_clock::now() + nanoseconds(ns);
        while (!ready()) {
            if (steady_clock::now() >= end)
                return false;
            f->pool->yield();
        }
        return true;
    }
    // At most a year, so that the deadline does not overflow.
    return wait_limited(*this, what_for, nanoseconds(std::min<std::int64_t>(ns, 31'536'000'000'000'000)));
}

void schedule(task& t) noexcept
{
    if (runtime* const r = runtime::current_or_null(); r != nullptr && r->active())
        r->pool().push(t);
    else
        t.run(&t);
}

std::uint64_t next_order() noexcept
{
    static std::atomic<std::uint32_t> others{0};
    return remoting::replies_seen.load(std::memory_order_relaxed) << 32 | (others.fetch_add(1, std::memory_order_relaxed) + 1);
}

void state_base::cancel()
{
    if (call_slot() != 0)
        if (runtime* const r = runtime::current_or_null())
            r->cancel(*this);
}

std::exception_ptr cancelled(char const* what)
{
    return std::make_exception_ptr(cancelled_error(std::string(what) + " was cancelled"));
}

void throw_no_state()
{
    throw usage_error("this future or promise was used up: get and then take its state, and a promise is set once");
}

std::exception_ptr broken_promise()
{
    return std::make_exception_ptr(error("broken promise: a towline::promise was destroyed before its value was set"));
}

} // namespace towline::detail
