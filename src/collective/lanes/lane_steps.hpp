#pragma once
// An operation over lanes as one rank sees it: steps that are built once and run as far as the others have come.

#include "collective/ending.hpp"
#include "collective/lanes/lanes.hpp"
#include "collective/lanes/seldom.hpp"
#include "collective/thresholds.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace towline::collective {

struct combination;
class laid_rows;
class lane_offers;

/// A stage is for everybody.
inline constexpr int all_ranks = -1;

/// Small operations: each rank looks at all others, unless the ranks are many or crowded; then they go by way of rank 0.
[[nodiscard]] constexpr bool looks_around(int ranks, bool crowded) noexcept
{
    return ranks <= thresholds::looks_around && !crowded;
}

/// What nobody reads of an offer: a copy leaves it out.
struct unread_part {
    std::uint64_t offset = 0, size = 0;
};

struct lane_step {
    enum class kind : std::uint8_t {
        post,      ///< offers a copy of `size` bytes at `from`: at most lanes::payload_bytes; nobody reads `expected` of them at `offset`
        lend,      ///< offers `size` bytes at `from` to be read, and `expected` at `to` to be written, where they are; `offset` not 0: what
                   ///< is to be read is a copy
        mark,      ///< says that this rank has come so far
        meet,      ///< waits for the stage of `rank`, or of all; for stage 1 of all: who have all offered something
        take,      ///< copies `size` bytes at `offset` of what `rank` offers to `to`
        push,      ///< copies `size` bytes from `from` to `offset` of what `rank` lent to be written
        take_shared, ///< take, while `rank` does push_shared, or the other way round: each does what the other has not done yet
        push_shared,
        fold,      ///< `to` = the combination over ranks 0 to `rank` of `size` bytes at `offset` of what they offer; `from`, not null: this
                   ///< rank's own part of that
        fold_push, ///< the same over all ranks, to the same offset of what `rank` (or all) lent to be written; in pieces, by way of `to`
                   ///< if need be
        copy,      ///< `size` bytes; `offset` not 0: which another rank wrote, and writes anew in the next such operation
        table,     ///< offers the table of `size` lane_blocks at `from`, up to `expected` bytes with its copies; not null: lent, at `to`
        tell,      ///< offers nothing, and tells `size`
        take_block, ///< copies the block of `size` bytes in the table of `rank` to `to` that is number `offset` of those for this rank
        push_block, ///< copies `size` bytes from `from` to the block in the table of `rank` that this rank shall write
        retreat,   ///< this rank has no memory that others reach: all ranks leave the lanes
        give_up,   ///< the same, where not all ranks would know: it fails
        stay,      ///< waits until `rank` uses nothing of this rank's any more, and fails if it failed; not 0: or did not tell `expected`
    };

    kind what = kind::mark;
    std::uint8_t stage = 1;  ///< of post, lend, mark, table, tell: that it says; of meet: that it waits for
    int rank = all_ranks;
    void const* from = nullptr;
    void* to = nullptr;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint64_t expected = 0;  ///< bytes that those who are read must offer; else the operation fails
};

/// The progress of an operation over lanes. `advance` runs the steps that can be run now.
class lane_run {
public:
    /// retreats: the operation has not failed; all its ranks have this state, and do it by messages instead.
    enum class state : std::uint8_t { waits, ended, failed_mismatch, failed_dead, failed_lost, retreats };

    /// `spoiled`: as of schedule. `rows`, not null: results that are not in a row.
    void start(lanes& l, called operation, bool spoiled = false, laid_rows const* rows = nullptr) noexcept
    {
        start(l, l.begin(), operation, spoiled ? state::failed_mismatch : state::ended, rows);
    }
    /// The same under a number that was taken before. `failure`: ended, or why this rank has failed already.
    void start(lanes& l, std::uint64_t number, called operation, state failure, laid_rows const* rows = nullptr) noexcept
    {
        lanes_ = &l;
        rows_ = rows;
        operation_ = operation;
        number_ = number;
        at_ = 0;
        met_ = 0;
        has_told_ = false;
        outcome_ = state::retreats;
        failure_ = failure;
        others_ = seldom(l);
    }
    /// The rank for which it waits, or all_ranks, as far as that is known.
    [[nodiscard]] int waits_for(std::vector<lane_step> const& steps) const noexcept;
    /// By one thread at a time.
    [[nodiscard]] state advance(std::vector<lane_step> const& steps, combination const& r) noexcept;
    /// Why a rank fails that needs something which this slot does not offer.
    [[nodiscard]] static state failure_of(lanes::slot::terms const&) noexcept;
    /// Of one that does not wait any more.
    [[nodiscard]] static ending ending_of(state s) noexcept
    {
        return s == state::failed_mismatch ? ending::mismatch
               : s == state::failed_dead   ? ending::peer_died
               : s == state::failed_lost   ? ending::lost
                                           : ending::ok;
    }
    /// The state of a rank that ended so.
    [[nodiscard]] static state state_of(ending e) noexcept
    {
        return e == ending::mismatch    ? state::failed_mismatch
               : e == ending::peer_died ? state::failed_dead
               : e == ending::lost      ? state::failed_lost
                                        : state::ended;
    }

private:
    /// True: it is done; false: it waits for others. Throws a state.
    [[nodiscard]] bool run(lane_step const&, combination const&);
    [[nodiscard]] bool may_write(bool payload);
    [[nodiscard]] bool meet(lane_step const&);
    [[nodiscard]] bool meet_one(int rank, int stage);
    [[nodiscard]] lane_offers offers() const noexcept;
    void lend(lane_step const&);
    [[nodiscard]] bool put(lane_step const&);
    void fold(lane_step const&, combination const&);
    void fold_push(lane_step const&, combination const&);
    [[nodiscard]] bool stay(lane_step const&);
    [[nodiscard]] bool end();
    [[nodiscard]] bool has_retreated(int rank, bool is_gone);

    lanes* lanes_ = nullptr;
    laid_rows const* rows_ = nullptr;
    std::uint64_t number_ = 0;
    called operation_;
    std::size_t at_ = 0;
    int met_ = 0;  ///< ranks that the meeting under way has seen
    seldom others_;
    bool has_told_ = false;  ///< of the failure
    state failure_ = state::ended;
    state outcome_ = state::retreats;  ///< of a retreat, as far as others were asked
};

} // namespace towline::collective
