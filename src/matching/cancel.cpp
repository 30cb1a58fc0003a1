// Cancelling: a receive that has not matched ends at once; a send that has not ended is asked back from its receiver, who answers.

#include "matching/core.hpp"

#include <fmt/format.h>

#include <cstring>

namespace towline::matching {

bool matcher::cancel(request& r)
{
    core& c = *core_;
    {
        core::guard const g(c);
        if (!r.posted_) {
            if (r.what_ != operation::send)
                return false;
        } else {
            c.posted.remove(r);
            r.posted_ = false;
        }
    }
    if (r.what_ == operation::send) {
        c.ask_back(r);
        return false;
    }
    r.result_ = {any_source, any_tag, 0, outcome::ok, true};
    c.finish(r);
    c.engine_.notify();
    return true;
}

void core::ask_back(request& r)
{
    wire::withdraw_message m{};
    peer to = 0;
    {
        guard const g(*this);
        if (r.behind_ == nullptr || r.done())
            return;
        auto& s = *static_cast<sending_slot*>(r.behind_);
        if (s.wants_back || s.withdrawn)
            return;
        s.wants_back = true;
        ++s.ends;
        m.token = slots.number_of(s);
        to = s.to;
    }
    try {
        engine_.send({.to = to, .handler = static_cast<engine::handler_id>(first_handler + wire::withdraw),
                      .head = {reinterpret_cast<std::byte const*>(&m), sizeof m}, .waits = false});
    } catch (...) {
        // The peer is dead: its death ends the send, if it has not yet.
        request* ended = nullptr;
        {
            guard const g(*this);
            sending_slot* const s = slots.find(m.token);
            if (s != nullptr && s->wants_back) {
                s->wants_back = false;
                ended = end_one(*s, false);
            }
        }
        if (ended != nullptr)
            finish(*ended);
    }
}

void core::on_withdraw(void* self, engine::engine&, engine::incoming& m)
{
    auto& c = *static_cast<core*>(self);
    wire::withdraw_message w;
    if (m.head().size() != sizeof w || m.blocks() != 0 || m.source() >= c.size)
        return c.drop(m.source(), fmt::format("a withdrawal of {} bytes with {} blocks is none", m.head().size(), m.blocks()));
    std::memcpy(&w, m.head().data(), sizeof w);
    unexpected_message* found = nullptr;
    bool tell = false;
    {
        guard const g(c);
        c.unexpected.for_each([&](unexpected_message& u) {
            if (u.number == w.token && w.token != 0 && u.from == m.source())
                found = &u;
        });
        if (found != nullptr)
            tell = c.take_unexpected(*found);
    }
    wire::withdrawn_message const answer{w.token, found != nullptr ? 1u : 0u, 0};
    c.control(m.source(), wire::withdrawn, {reinterpret_cast<std::byte const*>(&answer), sizeof answer});
    if (found != nullptr)
        c.give_back(*found);
    if (tell)
        c.regulate(m.source());
}

void core::on_withdrawn(void* self, engine::engine&, engine::incoming& m)
{
    auto& c = *static_cast<core*>(self);
    wire::withdrawn_message a;
    if (m.head().size() != sizeof a || m.blocks() != 0)
        return c.drop(m.source(), fmt::format("an answer to a withdrawal of {} bytes with {} blocks is none", m.head().size(), m.blocks()));
    std::memcpy(&a, m.head().data(), sizeof a);
    request* r = nullptr;
    bool known = false;
    {
        guard const g(c);
        sending_slot* const s = a.dropped <= 1 ? c.slots.find(a.token) : nullptr;
        known = s != nullptr && s->wants_back && s->to == m.source();
        if (known) {
            s->wants_back = false;
            s->withdrawn = a.dropped == 1;
            if (s->withdrawn && s->wants_match) {
                s->wants_match = false;
                r = c.end_one(*s, true);
            }
            if (r == nullptr)
                r = c.end_one(*s, true);
        }
    }
    if (!known)
        return c.drop(m.source(), fmt::format("an answer to the withdrawal of send {:#x}, which nobody asked back", a.token));
    if (r != nullptr)
        c.finish(*r);
}

} // namespace towline::matching
