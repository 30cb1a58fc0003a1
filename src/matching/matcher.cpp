// Setup and end, completion, waiting, the pool.

#include "matching/core.hpp"

#include "base/log.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

namespace towline::matching {

core::core(engine::engine& e, options const& o) : engine_(e), config(o), size(e.size()), lock(o.threaded)
{
    held_back = std::make_unique<std::atomic<std::uint8_t>[]>(size);
    throttle_seen = std::make_unique<std::uint32_t[]>(size);
    accounts = std::make_unique<account[]>(size);
    paths = std::make_unique<std::atomic<relay_path*>[]>(size);
    static constexpr std::array<engine::handler, wire::kinds> handlers{&on_eager, &on_ready,   &on_synchronous,
                                                                       &on_lent,  &on_matched, &on_throttle,
                                                                       &on_withdraw, &on_withdrawn, &on_here,
                                                                       &on_relayed, &on_laid};
    for (std::size_t k = 0; k < handlers.size(); ++k) {
        engine::handler_id const id = e.add_handler(handlers[k], this);
        if (k == 0)
            first_handler = id;
        else if (id != first_handler + k)
            throw usage_error("matching: handlers were added by another thread between ours");
    }
    if (config.take_on_death)
        e.on_death([](void* self, peer p) { static_cast<core*>(self)->peer_died(p); }, this);
}

core::~core()
{
    forget_paths();
    std::vector<unexpected_message*> left;
    unexpected.for_each([&](unexpected_message& m) { left.push_back(&m); });
    for (auto* const m : left)
        delete m;
    while (free_nodes != nullptr)
        delete std::exchange(free_nodes, free_nodes->links[0].after);
}

void core::throw_under_way()
{
    throw usage_error("matching: a request is started while its last operation is under way");
}

void core::finish(request& r) noexcept
{
    auto const then = r.then;
    r.place_ = next_place();
    request::state before = request::state::pending;
    if (config.threaded)
        before = r.state_.exchange(request::state::ended, std::memory_order_acq_rel);
    else {
        before = r.state_.load(std::memory_order_relaxed);
        r.state_.store(request::state::ended, std::memory_order_release);
    }
    if (then != nullptr)
        then(r);
    if (before == request::state::detached)
        recycle(r);
    count_end();
}

void core::abandon(request& r) noexcept
{
    guard const g(*this);
    if (r.posted_) {
        posted.remove(r);
        r.posted_ = false;
    } else if (r.behind_ != nullptr) {
        if (r.what_ == operation::send)
            static_cast<sending_slot*>(r.behind_)->target = nullptr;
        else
            static_cast<landing*>(r.behind_)->target = nullptr;
        r.behind_ = nullptr;
    }
    r.state_.store(request::state::idle, std::memory_order_release);
}

void core::recycle(request& r) noexcept
{
    r.then = nullptr;
    r.user = nullptr;
    r.state_.store(request::state::idle, std::memory_order_relaxed);
    guard const g(*this);
    r.link_.after = free_requests;
    free_requests = &r;
}

matcher::matcher(engine::engine& e, options o) : core_(std::make_unique<core>(e, o)), completions_(&core_->completions) {}

matcher::~matcher() = default;

engine::engine& matcher::transport() noexcept
{
    return core_->engine_;
}

request& matcher::acquire()
{
    core& c = *core_;
    core::guard const g(c);
    request* r = c.free_requests;
    if (r != nullptr) {
        c.free_requests = r->link_.after;
    } else {
        r = &c.pool.emplace_back();
        r->pooled_ = true;
    }
    return *r;
}

void matcher::release(request& r) noexcept
{
    auto expected = request::state::pending;
    if (!r.state_.compare_exchange_strong(expected, request::state::detached, std::memory_order_acq_rel, std::memory_order_acquire))
        core_->recycle(r);
}

waited::waited(pending_operation const& o) noexcept : what(o)
{
    write = [](engine::wait_detail const& self, char const* call, std::span<char> text) noexcept {
        try {
            auto const all = fmt::format("{}: {}", call, matcher::describe(static_cast<waited const&>(self).what));
            text[all.copy(text.data(), text.size() - 1)] = '\0';
        } catch (...) {  // no memory: it waits all the same
            text[0] = '\0';
        }
    };
}

void matcher::wait(request& r, char const* call)
{
    core& c = *core_;
    auto const ready = [&r] { return r.done(); };
    // The operation is copied only by who is going to wait long: it may end, and be used again, by another thread's hand.
    if (c.engine_.spin(ready, call))
        return;
    waited const about({r.what_, r.pattern_, r.peer_, 0, false});
    c.engine_.wait(ready, call, std::chrono::nanoseconds::max(), &about);
}

bool matcher::test(request& r)
{
    if (r.done())
        return true;
    if (!core_->engine_.in_handler())
        core_->engine_.progress();
    return r.done();
}

void matcher::note_end() noexcept
{
    core_->count_end();
    core_->engine_.notify();
}

bool matcher::drain(std::chrono::nanoseconds timeout, char const* call)
{
    core& c = *core_;
    auto const ended = [&c] {
        core::guard const g(c);
        return c.slots_in_use == 0 && c.landings.first == nullptr;
    };
    do {
        auto const begin = std::chrono::steady_clock::now();
        if (!c.engine_.wait(ended, call, timeout))
            return false;
        if (timeout != std::chrono::nanoseconds::max())
            timeout -= std::min<std::chrono::nanoseconds>(timeout, std::chrono::steady_clock::now() - begin);
        if (!c.engine_.drain(timeout))
            return false;
    } while (!ended());  // another thread was handling a message, and a receive of it is under way now
    return true;
}

} // namespace towline::matching
