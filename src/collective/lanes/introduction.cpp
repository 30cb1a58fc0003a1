// The introduction of a team's ranks to each other's lanes.

#include "collective/lanes/introduction.hpp"

#include "base/log.hpp"
#include "base/settings.hpp"
#include "collective/call_check.hpp"
#include "collective/lanes/lane_steps.hpp"
#include "collective/operations.hpp"
#include "collective/thresholds.hpp"

#include <algorithm>
#include <array>
#include <new>

namespace towline::collective {
namespace {

[[nodiscard]] lanes::limits limits_for(bool is_oversubscribed)
{
    if (is_oversubscribed)
        return {.slots = thresholds::slots_oversubscribed, .payloads = thresholds::payloads_oversubscribed};
    return {.posted = thresholds::posted, .shown = thresholds::shown, .payloads = thresholds::payloads};
}

} // namespace

lane_use wished_lanes()
{
    static lane_use const wish =
        std::array{lane_use::never, lane_use::usual, lane_use::first}[base::setting_choice("TOWLINE_LANES", {"off", "on", "first"}, 1)];
    return wish;
}

introduction::introduction(team& t, node_memory& memory, bool is_oversubscribed, of what)
    : team_(t), what_(what), words_(static_cast<std::size_t>(t.size()))
{
    std::vector<peer> peers;
    for (int r = 0; r < t.size(); ++r)
        peers.push_back(t.peer_of(side::local, r));
    // A problem that only this rank has reaches the others as the word 0.
    if (!std::ranges::all_of(peers, [&](peer p) { return memory.is_shared_with(p); }))
        return;
    try {
        lanes_ = std::make_unique<lanes>(memory, t.rank(), std::move(peers), limits_for(is_oversubscribed));
    } catch (std::bad_alloc const&) {
        return;
    }
    words_[static_cast<std::size_t>(t.rank())] = lanes_->own_word();
}

void introduction::build(schedule& s)
{
    collective::build(s, team_, allgather(in_place, sizeof words_[0], words_.data(), sizeof words_[0]));
}

void introduction::finish()
{
    bool const opens = lanes_ != nullptr && lanes_->open(words_);
    base::log(base::log_level::debug, "{} operations of {} ranks (context {}) go {}",
              what_ == of::starts ? "persistent collective" : "collective", team_.size(), team_.context(),
              opens               ? "over shared memory"
              : lanes_ != nullptr ? "as messages: some of their memory is not shared with all, or there is none left for it"
                                  : "as messages: some ranks share no memory with this one");
    if (opens && what_ == of::starts)
        team_.set_lanes_of_starts(std::move(lanes_));
    else if (opens)
        team_.set_lanes(std::move(lanes_), !checks_calls());
}

void introduction::fail(ending why) noexcept
{
    team_.set_broken(why);
    if (lanes_ != nullptr)
        lanes::abandon(std::move(lanes_), static_cast<std::uint64_t>(why == ending::peer_died ? lane_run::state::failed_dead
                                                                                           : lane_run::state::failed_lost));
}

} // namespace towline::collective
