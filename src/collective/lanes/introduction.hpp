#pragma once
// How the ranks of a team come to have lanes: each shows the others its own. Both faces do it, each where it begins to need them.

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

/// All ranks of the team do this at the same place in their order of operations, under team::introduction_sequence. What only one rank finds
/// must not part them: a rank that cannot have lanes tells so (a word of 0), and one for which the introduction fails after it has told its
/// word leaves its lane behind, in which every operation has failed.
class introduction {
public:
    enum class of { operations, starts };
    /// `shares_cores`: the job has more ranks than cores. `what`: as of team::lanes, or of team::lanes_of_starts. Not for intercommunicators.
    introduction(team&, node_memory&, bool shares_cores, of what = of::operations);
    /// The operation that brings everybody's word, to be run to its end.
    void build(schedule&);
    /// When it has ended well: the team has lanes now, if all ranks reach each other's. Throws error for a word that none can have told.
    void finish();
    /// When it has ended otherwise, or finish() threw: the team is broken. Others may have open lanes with this rank's among them.
    void fail(ending why) noexcept;

private:
    team& team_;
    of const what_;
    std::unique_ptr<lanes> lanes_;  ///< null: this rank finds that it cannot
    std::vector<std::uint64_t> words_;
};

} // namespace towline::collective
