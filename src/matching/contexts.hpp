#pragma once
// Which peers have died, and which belong to a context: together they tell whether a receive can still be satisfied.
//
// All under common::lock.

#include "matching/envelope.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace towline::matching {

class contexts {
public:
    /// As matcher::set_members.
    void set_members(context_id context, bool (*is_member)(void*, peer), void* members) { members_[context] = {is_member, members}; }
    void forget(context_id context) { members_.erase(context); }
    /// False: it was known.
    bool note_death(peer p)
    {
        if (is_dead(p))
            return false;
        dead_.push_back(p);
        return true;
    }
    [[nodiscard]] bool is_dead(peer p) const noexcept { return std::ranges::find(dead_, p) != dead_.end(); }
    /// A receive of this pattern, from this peer (no_peer: any), would wait in vain.
    [[nodiscard]] bool is_hopeless(pattern const& p, peer from) const noexcept { return !dead_.empty() && has_lost(p, from); }

private:
    [[nodiscard]] bool has_lost(pattern const& p, peer from) const noexcept
    {
        if (from != no_peer)
            return is_dead(from);
        if (p.source != any_source)
            return false;
        auto const at = members_.find(p.context);
        return at != members_.end() &&
               std::ranges::any_of(dead_, [&](peer d) { return at->second.is_member(at->second.members, d); });
    }
    struct membership {
        bool (*is_member)(void*, peer) = nullptr;
        void* members = nullptr;
    };
    std::unordered_map<context_id, membership> members_;
    std::vector<peer> dead_;
};

} // namespace towline::matching
