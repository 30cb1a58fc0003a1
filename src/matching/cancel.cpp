// Cancelling: a receive that has not matched ends immediately; a send that has not ended is asked back from its receiver, which answers.
// A send to oneself that has not matched ends immediately, too.

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
        c.ask_back(r);
        return false;
    }
    r.result_ = {any_source, any_tag, 0, outcome::ok, true};
    c.ends.finish(r);
    c.engine_.notify();
    return true;
}

void core::ask_back(request& r)
{
    auto const asked = out.begin_withdrawal(r);
    if (!asked)
        return;
    // This rank answers itself now: a program may look at the request before this process polls again. The message may have to come out
    // of this rank's own queue before. One that does not, or has matched, is asked for as at any peer.
    if (asked->to == engine_.rank()) {
        bool dropped = take_back(asked->to, asked->token);
        for (int i = 0; i < thresholds::withdrawal_polls && !dropped && !engine_.in_handler() && engine_.progress() != 0; ++i)
            dropped = take_back(asked->to, asked->token);
        if (dropped) {
            (void)out.end_withdrawal(asked->token, asked->to, true);
            return engine_.notify();
        }
    }
    try {
        engine_.send({.to = asked->to, .handler = handler_of(wire::withdraw), .head = bytes_of(wire::withdraw_message{asked->token}),
                      .waits = false});
    } catch (...) {
        out.end_withdrawal_of_dead(asked->token);  // the death ends the send, if it has not yet
    }
}

bool core::take_back(peer sender, std::uint64_t token)
{
    unexpected_message* found = nullptr;
    bool tell = false;
    {
        guard const g(*this);
        early.for_each([&](unexpected_message& u) {
            if (u.number == token && token != 0 && u.from == sender)
                found = &u;
        });
        if (found != nullptr)
            tell = early.take(*found);
    }
    if (found != nullptr)
        early.give_back(*found);
    if (tell)
        early.regulate(sender);
    return found != nullptr;
}

void core::on_withdraw(engine::incoming& m)
{
    auto const w = read_whole<wire::withdraw_message>(m);
    if (!w || m.source() >= size)
        return drop(m, "a withdrawal");
    bool const dropped = take_back(m.source(), w->token);
    common::tell(m.source(), wire::withdrawn, wire::withdrawn_message{w->token, dropped ? 1u : 0u, 0});
}

std::optional<sends::withdrawal> sends::begin_withdrawal(request& r)
{
    common::guard const g(common_);
    if (r.behind_ == nullptr || r.done())
        return std::nullopt;
    auto& s = *static_cast<sending_slot*>(r.behind_);
    if (s.wants_back || s.withdrawn)
        return std::nullopt;
    s.wants_back = true;
    ++s.ends;
    return withdrawal{slots_.number_of(s), s.to};
}

bool sends::end_withdrawal(std::uint64_t token, peer from, bool dropped) noexcept
{
    request* r = nullptr;
    {
        common::guard const g(common_);
        sending_slot* const s = slots_.find(token);
        if (s == nullptr || !s->wants_back || s->to != from)
            return false;
        s->wants_back = false;
        s->withdrawn = dropped;
        if (s->withdrawn && s->wants_match) {
            s->wants_match = false;
            r = end_one(*s, true);
        }
        if (r == nullptr)
            r = end_one(*s, true);
    }
    if (r != nullptr)
        requests_.finish(*r);
    return true;
}

void sends::end_withdrawal_of_dead(std::uint64_t token) noexcept
{
    request* r = nullptr;
    {
        common::guard const g(common_);
        sending_slot* const s = slots_.find(token);
        if (s != nullptr && s->wants_back) {
            s->wants_back = false;
            r = end_one(*s, false);
        }
    }
    if (r != nullptr)
        requests_.finish(*r);
}

void sends::on_withdrawn(engine::incoming& m)
{
    auto const a = read_whole<wire::withdrawn_message>(m);
    if (!a)
        return common_.drop(m, "an answer to a withdrawal");
    if (a->dropped > 1 || !end_withdrawal(a->token, m.source(), a->dropped == 1))
        common_.drop(m.source(), fmt::format("an answer to the withdrawal of send {:#x}, which nobody asked back", a->token));
}

} // namespace towline::matching
