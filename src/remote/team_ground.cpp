// Makes the objects that a runtime's teams share.

#include "remote/team_ground.hpp"

#include "remote/runtime.hpp"
#include "remote/team_core.hpp"

#include <towline/error.hpp>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

namespace towline::remoting {
namespace {

[[nodiscard]] matching::options matching_options()
{
    matching::options o;
    o.eager_outside = matching::thresholds::eager_outside;
    o.take_on_death = false; // the runtime uses the engine's only slot for it
    o.way = matching::wished_way();
    return o;
}

} // namespace

team_ground::team_ground(runtime& r)
    : owner_(r), matcher_(r.engine(), matching_options()),
      memory_(collective::heap_memory(
          r.engine(), [](void* self, matching::peer p) { return !static_cast<runtime*>(self)->alive(static_cast<int>(p)); }, &r)),
      queue_([](void* self, int change) { static_cast<runtime*>(self)->engine().ask_polls(change); }, &r)
{
    r.engine().on_poll([](void* self) { return static_cast<team_ground*>(self)->queue_.poll(); }, this);
}

team_ground::~team_ground()
{
    for (untold const& u : untold_)
        u.then();
}

detail::team_core& team_ground::everybody()
{
    std::call_once(everybody_made_, [this] {
        std::vector<int> all(static_cast<std::size_t>(owner_.size()));
        std::iota(all.begin(), all.end(), 0);
        everybody_ = std::make_unique<detail::team_core>(*this, 0, owner_.rank(), std::move(all));
    });
    return *everybody_;
}

team_ground::making::making(team_ground& ground) : ground_(ground)
{
    if (ground.is_made_.exchange(true, std::memory_order_acquire))
        throw usage_error("a team is made while another thread makes one: one at a time in a process, in the same order on all ranks");
}

void team_ground::peer_left(int rank)
{
    matcher_.peer_died(static_cast<matching::peer>(rank));
    std::vector<untold> told;
    {
        std::scoped_lock const lock(untold_mutex_);
        auto const first = std::stable_partition(untold_.begin(), untold_.end(), [](untold const& u) { return !u.team->first_dead(); });
        std::move(first, untold_.end(), std::back_inserter(told));
        untold_.erase(first, untold_.end());
    }
    for (untold const& u : told)
        u.then();
}

bool team_ground::leave_until_death(detail::team_core const& team, std::function<void()> then)
{
    std::scoped_lock const lock(untold_mutex_);
    if (team.first_dead())
        return false;
    untold_.push_back({&team, std::move(then)});
    return true;
}

} // namespace towline::remoting
