#include "collective/lanes/introduction.hpp"

#include "base/log.hpp"
#include "base/settings.hpp"
#include "collective/call_check.hpp"
#include "collective/lanes/lane_steps.hpp"
#include "collective/operations.hpp"

#include <algorithm>
#include <array>
#include <new>

namespace towline::collective {
namespace {

/// Where every rank has a core, both wait for each other sooner than one copies more than this. Where cores are shared, a wait is a change
/// of ranks, and whoever offers copies runs ahead, the further the better; else few payloads that stay in the nearest caches are.
[[nodiscard]] lanes::limits limits_for(bool shares_cores)
{
    if (shares_cores)
        return {.slots = 256, .payloads = 64};
    return {.posted = 1024, .shown = 8192, .payloads = 8};
}

} // namespace

lane_use wished_lanes()
{
    static lane_use const wish =
        std::array{lane_use::never, lane_use::usual, lane_use::first}[base::setting_choice("TOWLINE_LANES", {"off", "on", "first"}, 1)];
    return wish;
}

introduction::introduction(team& t, node_memory& memory, bool shares_cores, of what)
    : team_(t), what_(what), words_(static_cast<std::size_t>(t.size()))
{
    std::vector<peer> peers;
    for (int r = 0; r < t.size(); ++r)
        peers.push_back(t.peer_of(side::local, r));
    // What only this rank finds keeps the others from it, too: a word of 0.
    if (!std::ranges::all_of(peers, [&](peer p) { return memory.is_shared_with(p); }))
        return;
    try {
        lanes_ = std::make_unique<lanes>(memory, t.rank(), std::move(peers), limits_for(shares_cores));
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
