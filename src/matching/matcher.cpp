// Setup and end, completion, waiting, contexts, deaths.

#include "matching/core.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

namespace towline::matching {

core::core(engine::engine& e, options const& o) : common(e, o)
{
    struct entry {
        engine::handler function;
        void* part;
    };
    std::array<entry, wire::kinds> const handlers{{
        {&handled<core, &core::on_eager>, this},
        {&handled<core, &core::on_ready>, this},
        {&handled<core, &core::on_synchronous>, this},
        {&handled<core, &core::on_lent>, this},
        {&handled<sends, &sends::on_matched>, &out},
        {&handled<sends, &sends::on_throttle>, &out},
        {&handled<core, &core::on_withdraw>, this},
        {&handled<sends, &sends::on_withdrawn>, &out},
        {&handled<core, &core::on_here<wire::here>>, this},
        {&handled<core, &core::on_relayed>, this},
        {&handled<core, &core::on_here<wire::laid>>, this},
        {&handled<laid_cooperation, &laid_cooperation::on_help>, &together},
    }};
    for (std::size_t k = 0; k < handlers.size(); ++k) {
        engine::handler_id const id = e.add_handler(handlers[k].function, handlers[k].part);
        if (k == 0)
            first_handler = id;
        else if (id != first_handler + k)
            throw usage_error("matching: handlers were added by another thread between ours");
    }
    if (config.take_on_death)
        e.on_death([](void* self, peer p) { static_cast<core*>(self)->peer_died(p); }, this);
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

void core::peer_died(peer who)
{
    std::vector<request*> ended;
    {
        guard const g(*this);
        if (!groups.note_death(who))
            return;
        posted.for_each([&](request& r) {
            if (!groups.is_hopeless(r.pattern_, r.peer_))
                return;
            posted.remove(r);
            r.posted_ = false;
            r.result_ = {r.pattern_.source, r.pattern_.tag, 0, outcome::peer_died, false};
            ended.push_back(&r);
        });
        out.bury(who, ended);
        early.note_arrival();
    }
    for (request* const r : ended)
        ends.finish(*r);
    engine_.notify();
}

matcher::matcher(engine::engine& e, options o) : core_(std::make_unique<core>(e, o)), completions_(&core_->ends.count()) {}

matcher::~matcher() = default;

engine::engine& matcher::transport() noexcept
{
    return core_->engine_;
}

request& matcher::acquire()
{
    return core_->ends.acquire();
}

void matcher::release(request& r) noexcept
{
    core_->ends.release(r);
}

waited::waited(pending_operation const& o, request* r) noexcept : what(o), whose(r)
{
    if (r != nullptr) {
        announce = [](engine::wait_detail const& self, engine::berth& b) noexcept {
            return requests::announce(*static_cast<waited const&>(self).whose, b);
        };
        withdraw = [](engine::wait_detail const& self) noexcept { requests::withdraw(*static_cast<waited const&>(self).whose); };
    }
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
    core_->wait(r, call);
}

void core::wait(request& r, char const* call)
{
    auto const ready = [&r] { return r.done(); };
    if (engine_.spin(ready, call))
        return;
    // Copied only for a wait that lasts: another thread may end the operation, and use the request again.
    waited const about({r.what_, r.pattern_, r.peer_, 0, false}, config.threaded ? &r : nullptr);
    engine_.wait(ready, call, std::chrono::nanoseconds::max(), &about);
}

void core::wait_or_abandon(request& r, char const* call)
{
    try {
        wait(r, call);
    } catch (...) {
        abandon(r);
        throw;
    }
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
    core_->ends.count_end();
    core_->engine_.notify();
}

bool matcher::drain(std::chrono::nanoseconds timeout, char const* call)
{
    core& c = *core_;
    auto const ended = [&c] {
        core::guard const g(c);
        return !c.out.any() && !c.in.any();
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

void matcher::peer_died(peer who)
{
    core_->peer_died(who);
}

void matcher::set_members(context_id context, bool (*is_member)(void*, peer), void* members)
{
    core::guard const g(*core_);
    core_->groups.set_members(context, is_member, members);
}

void matcher::forget(context_id context) noexcept
{
    core& c = *core_;
    std::vector<unexpected_message*> left;
    std::vector<peer> tell;
    {
        core::guard const g(c);
        c.groups.forget(context);
        while (unexpected_message* const m = c.early.find({context, any_source, any_tag})) {
            if (c.early.take(*m))
                tell.push_back(m->from);
            left.push_back(m);
        }
    }
    for (auto* const m : left)
        c.in.discard(*m);
    for (peer const p : tell)
        c.early.regulate(p);
}

} // namespace towline::matching
