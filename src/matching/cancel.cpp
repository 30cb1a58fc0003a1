// Cancelling: a receive that has not matched ends immediately; a send that has not ended is asked back from its receiver, which answers.

#include "matching/core.hpp"

#include <fmt/format.h>

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
        c.out.ask_back(r);
        return false;
    }
    r.result_ = {any_source, any_tag, 0, outcome::ok, true};
    c.ends.finish(r);
    c.engine_.notify();
    return true;
}

void sends::ask_back(request& r)
{
    wire::withdraw_message m{};
    peer to = 0;
    {
        common::guard const g(common_);
        if (r.behind_ == nullptr || r.done())
            return;
        auto& s = *static_cast<sending_slot*>(r.behind_);
        if (s.wants_back || s.withdrawn)
            return;
        s.wants_back = true;
        ++s.ends;
        m.token = slots_.number_of(s);
        to = s.to;
    }
    try {
        common_.engine_.send({.to = to, .handler = common_.handler_of(wire::withdraw), .head = bytes_of(m), .waits = false});
    } catch (...) {
        // The peer is dead: its death ends the send, if it has not yet.
        request* ended = nullptr;
        {
            common::guard const g(common_);
            sending_slot* const s = slots_.find(m.token);
            if (s != nullptr && s->wants_back) {
                s->wants_back = false;
                ended = end_one(*s, false);
            }
        }
        if (ended != nullptr)
            requests_.finish(*ended);
    }
}

void core::on_withdraw(engine::incoming& m)
{
    auto const w = read_whole<wire::withdraw_message>(m);
    if (!w || m.source() >= size)
        return drop(m, "a withdrawal");
    unexpected_message* found = nullptr;
    bool tell = false;
    {
        guard const g(*this);
        early.for_each([&](unexpected_message& u) {
            if (u.number == w->token && w->token != 0 && u.from == m.source())
                found = &u;
        });
        if (found != nullptr)
            tell = early.take(*found);
    }
    common::tell(m.source(), wire::withdrawn, wire::withdrawn_message{w->token, found != nullptr ? 1u : 0u, 0});
    if (found != nullptr)
        early.give_back(*found);
    if (tell)
        early.regulate(m.source());
}

void sends::on_withdrawn(engine::incoming& m)
{
    auto const a = read_whole<wire::withdrawn_message>(m);
    if (!a)
        return common_.drop(m, "an answer to a withdrawal");
    request* r = nullptr;
    bool known = false;
    {
        common::guard const g(common_);
        sending_slot* const s = a->dropped <= 1 ? slots_.find(a->token) : nullptr;
        known = s != nullptr && s->wants_back && s->to == m.source();
        if (known) {
            s->wants_back = false;
            s->withdrawn = a->dropped == 1;
            if (s->withdrawn && s->wants_match) {
                s->wants_match = false;
                r = end_one(*s, true);
            }
            if (r == nullptr)
                r = end_one(*s, true);
        }
    }
    if (!known)
        return common_.drop(m.source(), fmt::format("an answer to the withdrawal of send {:#x}, which nobody asked back", a->token));
    if (r != nullptr)
        requests_.finish(*r);
}

} // namespace towline::matching
