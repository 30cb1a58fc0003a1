// The ends of sends.

#include "matching/sends.hpp"

#include <fmt/format.h>

namespace towline::matching {

sends::sends(common& c, requests& r)
    : common_(c), requests_(r), held_back_(c.size), throttle_seen_(c.size)
{
}

sends::opened sends::open(request& r, peer to, std::uint64_t bytes, std::uint8_t ends, bool wants_match)
{
    common::guard const g(common_);
    sending_slot& s = slots_.claim();
    in_use_.fetch_add(1, std::memory_order_relaxed);
    s = {.owner = this, .target = &r, .to = to, .ends = ends, .wants_match = wants_match, .bytes = bytes};
    r.behind_ = &s;
    return {s, slots_.number_of(s)};
}

request* sends::end_one(sending_slot& s, bool ok) noexcept
{
    s.failed = s.failed || !ok;
    if (--s.ends != 0)
        return nullptr;
    request* const r = std::exchange(s.target, nullptr);
    if (r != nullptr) {
        r->behind_ = nullptr;
        r->result_.error = s.failed ? outcome::peer_died : outcome::ok;
        r->result_.cancelled = s.withdrawn && !s.failed;
    }
    s.laid.reset();
    slots_.free(s);
    in_use_.fetch_sub(1, std::memory_order_relaxed);
    return r;
}

bool sends::end_unsent(opened const& o, std::uint8_t ends) noexcept
{
    request* ended = nullptr;
    {
        common::guard const g(common_);
        // *Sent*, or the arrival, never comes now; *matched* may have come, with the peer's death.
        if (slots_.find(o.token) == nullptr)
            return true;
        request& r = *o.slot.target;
        if (o.slot.ends == ends) {
            o.slot.target = nullptr;
            o.slot.ends = 1;
            (void)end_one(o.slot, false);
            r.behind_ = nullptr;
            r.state_.store(request::state::idle, std::memory_order_relaxed);
            return false;
        }
        ended = end_one(o.slot, false);
    }
    if (ended != nullptr)
        requests_.finish(*ended);
    return true;
}

std::optional<sends::held> sends::hold(std::uint64_t token, peer to)
{
    common::guard const g(common_);
    sending_slot* const s = slots_.find(token);
    if (s == nullptr || s->to != to || !s->laid || std::exchange(s->helped, true))
        return std::nullopt;
    ++s->ends;
    return held{*s->laid, s->bytes};
}

void sends::let_go(std::uint64_t token) noexcept
{
    request* r = nullptr;
    {
        common::guard const g(common_);
        if (sending_slot* const s = slots_.find(token); s != nullptr)
            r = end_one(*s, true);
    }
    if (r != nullptr)
        requests_.finish(*r);
}

void sends::on_sent(void* slot, bool ok)
{
    auto& s = *static_cast<sending_slot*>(slot);
    sends& self = *s.owner;
    request* r = nullptr;
    {
        common::guard const g(self.common_);
        r = self.end_one(s, ok);
    }
    if (r != nullptr) {
        self.requests_.finish(*r);
        self.common_.engine_.notify();
    }
}

void sends::bury(peer who, std::vector<request*>& ended)
{
    // What the engine has to end, it has ended.
    slots_.for_each([&](sending_slot& s) {
        if (s.to != who)
            return;
        for (bool* const waits : {&s.wants_match, &s.wants_back}) {
            if (!std::exchange(*waits, false))
                continue;
            if (request* const r = end_one(s, false); r != nullptr)
                ended.push_back(r);
        }
    });
}

void sends::on_matched(engine::incoming& m)
{
    auto const a = read_whole<wire::matched_message>(m);
    if (!a)
        return common_.drop(m, "an answer");
    request* r = nullptr;
    bool known = false;
    {
        common::guard const g(common_);
        sending_slot* const s = slots_.find(a->token);
        known = s != nullptr && s->wants_match && s->to == m.source();
        if (known) {
            s->wants_match = false;
            r = end_one(*s, true);
        }
    }
    if (!known)
        return common_.drop(m.source(), fmt::format("an answer to send {:#x}, which waits for none", a->token));
    if (r != nullptr)
        requests_.finish(*r);
}

void sends::on_throttle(engine::incoming& m)
{
    auto const t = read_whole<wire::throttle_message>(m);
    if (!t || t->on > 1 || m.source() >= common_.size)
        return common_.drop(m, "a request to hold back");
    // Two threads of the receiver may have sent theirs in the wrong order.
    std::uint32_t& seen = throttle_seen_[m.source()];
    if (static_cast<std::int32_t>(t->number - seen) <= 0)
        return;
    seen = t->number;
    held_back_[m.source()].store(static_cast<std::uint8_t>(t->on), std::memory_order_relaxed);
}

} // namespace towline::matching
