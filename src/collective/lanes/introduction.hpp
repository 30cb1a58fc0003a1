#pragma once
// The introduction gives the ranks of a team their lanes: an allgather of the words by which each rank's lane is found. Both faces run it,
// each before the first operation that may go over lanes. Where the team is on several nodes, the ranks of each get lanes among them.

#include "collective/lanes/lanes.hpp"
#include "collective/schedule.hpp"
#include "collective/team.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace towline::collective {

/// Whether operations may go over lanes, and from which one on (TOWLINE_LANES); the same on all ranks.
enum class lane_use { never, usual, first };
[[nodiscard]] lane_use wished_lanes();

/// All ranks of the team run it at the same place in their order of operations, under team::introduction_sequence. A problem of one rank
/// must not divide them: a rank that cannot have a lane sends the word 0, and one for which the introduction fails after it has sent its
/// word leaves its lane behind, in which every operation has failed.
class introduction {
public:
    enum class of { operations, starts };
    /// `what`: as of team::lanes, or of team::lanes_of_starts. Not for intercommunicators.
    introduction(team&, node_memory&, bool is_oversubscribed, of what = of::operations);
    /// The operation that exchanges the words, to be run to its end.
    void build(schedule&);
    /// After it was successful: gives the team its lanes, if all ranks reach each other's; on several nodes its levels, if there is a node
    /// whose ranks do. Throws error for an impossible word.
    void finish();
    /// After it failed, or finish() threw: the team is broken. Other ranks may have opened this rank's lane.
    void fail(ending why) noexcept;

private:
    /// Ranks on that node, by the numbers of node_memory, have lanes.
    [[nodiscard]] bool have_lanes(std::uint64_t node) const;
    void finish_levels();

    team& team_;
    of const what_;
    bool const is_oversubscribed_;
    std::vector<std::uint64_t> nodes_;  ///< by rank
    bool is_on_several_nodes_ = false;
    std::unique_ptr<lanes> lanes_;  ///< null: this rank cannot have a lane
    std::vector<std::uint64_t> words_;
};

} // namespace towline::collective
