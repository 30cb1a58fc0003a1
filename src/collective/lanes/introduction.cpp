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
    : team_(t), what_(what), is_oversubscribed_(is_oversubscribed), words_(static_cast<std::size_t>(t.size()))
{
    for (int r = 0; r < t.size(); ++r)
        nodes_.push_back(memory.node_of(t.peer_of(side::local, r)));
    std::uint64_t const here = nodes_[static_cast<std::size_t>(t.rank())];
    std::vector<peer> peers;
    std::vector<int> ranks;
    int mine = 0;
    for (int r = 0; r < t.size(); ++r) {
        if (nodes_[static_cast<std::size_t>(r)] != here)
            continue;
        if (r == t.rank())
            mine = static_cast<int>(ranks.size());
        peers.push_back(t.peer_of(side::local, r));
        ranks.push_back(r);
    }
    is_on_several_nodes_ = ranks.size() != nodes_.size();
    if (ranks.size() == 1)  // of several
        return;
    // A problem that only this rank has reaches the others as the word 0.
    if (!std::ranges::all_of(peers, [&](peer p) { return memory.is_shared_with(p); }))
        return;
    try {
        lanes_ = std::make_unique<lanes>(memory, mine, std::move(peers), limits_for(is_oversubscribed),
                                         is_on_several_nodes_ ? std::move(ranks) : std::vector<int>());
    } catch (std::bad_alloc const&) {
        return;
    }
    words_[static_cast<std::size_t>(t.rank())] = lanes_->own_word();
}

void introduction::build(schedule& s)
{
    collective::build(s, team_, allgather(in_place, sizeof words_[0], words_.data(), sizeof words_[0]));
}

bool introduction::have_lanes(std::uint64_t node) const
{
    std::size_t ranks = 0;
    for (std::size_t r = 0; r < nodes_.size(); ++r) {
        if (nodes_[r] == node && words_[r] == 0)
            return false;
        ranks += nodes_[r] == node ? 1 : 0;
    }
    return ranks > 1;
}

/// All ranks know all words, and come to the same.
void introduction::finish_levels()
{
    bool const are_useful = std::ranges::any_of(nodes_, [this](std::uint64_t node) { return have_lanes(node); });
    base::log(base::log_level::debug, "{} operations of {} ranks (context {}) go {}",
              what_ == of::starts ? "persistent collective" : "collective", team_.size(), team_.context(),
              are_useful ? "over shared memory within nodes, and as messages between them"
                         : "as messages: they are on several nodes, and on none of them some share memory");
    if (!are_useful)
        return;
    auto all = std::make_unique<levels>(team_.rank(), nodes_, is_oversubscribed_);
    if (have_lanes(nodes_[static_cast<std::size_t>(team_.rank())])) {
        std::vector<std::uint64_t> words;
        for (int const r : all->ranks_of(all->here().node))
            words.push_back(words_[static_cast<std::size_t>(r)]);
        (void)lanes_->open(words);
        all->set_lanes(std::move(lanes_));
    }
    if (what_ == of::starts)
        team_.set_levels_of_starts(std::move(all));
    else
        team_.set_levels(std::move(all));
}

void introduction::finish()
{
    if (is_on_several_nodes_)
        return finish_levels();
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
