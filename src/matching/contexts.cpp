// Contexts, and what becomes of them when peers die.

#include "matching/core.hpp"

#include <algorithm>

namespace towline::matching {

bool core::hopeless(pattern const& p, peer from) const noexcept
{
    if (from != no_peer)
        return std::find(dead.begin(), dead.end(), from) != dead.end();
    if (p.source != any_source)
        return false;
    auto const at = members.find(p.context);
    if (at == members.end())
        return false;
    return std::any_of(dead.begin(), dead.end(), [&](peer d) { return at->second.is_member(at->second.members, d); });
}

void core::peer_died(peer who)
{
    std::vector<request*> ended;
    {
        guard const g(*this);
        if (std::find(dead.begin(), dead.end(), who) != dead.end())
            return;
        dead.push_back(who);
        posted.for_each([&](request& r) {
            if (!hopeless(r.pattern_, r.peer_))
                return;
            posted.remove(r);
            r.posted_ = false;
            r.result_ = {r.pattern_.source, r.pattern_.tag, 0, outcome::peer_died, false};
            ended.push_back(&r);
        });
        // What the engine has to end, it has ended.
        slots.for_each([&](sending_slot& s) {
            if (s.to != who)
                return;
            for (bool* const waits : {&s.wants_match, &s.wants_back}) {
                if (!std::exchange(*waits, false))
                    continue;
                if (request* const r = end_one(s, false); r != nullptr)
                    ended.push_back(r);
            }
        });
        // Probes look again.
        arrivals.store(arrivals.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    for (request* const r : ended)
        finish(*r);
    engine_.notify();
}

void matcher::peer_died(peer who)
{
    core_->peer_died(who);
}

void matcher::set_members(context_id context, bool (*is_member)(void*, peer), void* members)
{
    core::guard const g(*core_);
    core_->members[context] = {is_member, members};
}

void matcher::forget(context_id context) noexcept
{
    core& c = *core_;
    std::vector<unexpected_message*> left;
    std::vector<peer> tell;
    {
        core::guard const g(c);
        c.members.erase(context);
        while (unexpected_message* const m = c.unexpected.size() != 0 ? c.unexpected.find({context, any_source, any_tag}) : nullptr) {
            if (c.take_unexpected(*m))
                tell.push_back(m->from);
            left.push_back(m);
        }
    }
    for (auto* const m : left)
        c.discard(*m);
    for (peer const p : tell)
        c.regulate(p);
}

} // namespace towline::matching
