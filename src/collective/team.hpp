#pragma once
// A communicator as collective operations see it: a context of their own, and its ranks.

#include "collective/ending.hpp"
#include "collective/lanes/lanes.hpp"
#include "collective/levels/levels.hpp"
#include "collective/schedule.hpp"
#include "matching/envelope.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace towline::collective {

using matching::context_id;
using matching::peer;

/// Ranks in their order, and the engine's peers behind them. What `context` points to must live as long as the team.
struct members {
    int size = 1;
    peer (*peer_of)(void const* context, int rank) = nullptr;
    void const* context = nullptr;
    int cores = 0;  ///< that all ranks of the job share, the same for every rank; 0: not known, or the job has several nodes
    bool in_order = false;  ///< reductions combine in one order in any case (team::combines_in_order)
};

/// Reductions of floating-point numbers give the same bits whatever their size and way: TOWLINE_DETERMINISTIC.
[[nodiscard]] bool wished_in_order();

/// One per communicator and process. The context must carry nothing else. All ranks start their operations in the same order, from one
/// thread at a time; many may be under way.
class team {
public:
    team(context_id context, int rank, members local) noexcept : context_(context), here_{rank, local.size}, local_(local) {}
    /// An intercommunicator; `rank` is the one in the local group. Both groups use the same context.
    team(context_id context, int rank, members local, members remote) noexcept
        : context_(context), here_{rank, local.size}, local_(local), remote_(remote), is_inter_(true)
    {
    }

    [[nodiscard]] context_id context() const noexcept { return context_; }
    /// Before the first operation.
    void set_context(context_id context) noexcept { context_ = context; }
    [[nodiscard]] position here() const noexcept { return here_; }
    [[nodiscard]] int rank() const noexcept { return here_.rank; }
    [[nodiscard]] int size() const noexcept { return here_.size; }
    [[nodiscard]] bool is_inter() const noexcept { return is_inter_; }
    /// So many ranks share a core that a message to one of them waits for the turns of others: an algorithm of few steps is fastest then,
    /// though one rank does most of the work. On many cores that rank's work would cost more than the turns.
    [[nodiscard]] bool is_crowded() const noexcept { return local_.cores > 0 && local_.cores <= 16 && local_.size >= 3 * local_.cores; }
    /// Reductions combine in the order x0 op (x1 op (x2 ...)), whatever their size and way, so that a result always has the same bits.
    /// Intercommunicators have an order of their own.
    [[nodiscard]] bool combines_in_order() const noexcept { return local_.in_order; }
    /// 0 for an intracommunicator.
    [[nodiscard]] int remote_size() const noexcept { return is_inter_ ? remote_.size : 0; }
    [[nodiscard]] peer peer_of(side where, int rank) const
    {
        members const& m = where == side::local ? local_ : remote_;
        return m.peer_of(m.context, rank);
    }

    /// The introduction failed here, while others may have lanes now, and expect this rank to use them: no operation can work any more.
    [[nodiscard]] ending broken() const noexcept { return broken_; }
    void set_broken(ending why) noexcept { broken_ = why; }
    /// Null: none, or the ranks have not introduced themselves to each other yet.
    [[nodiscard]] collective::lanes* lanes() const noexcept { return lanes_.get(); }
    /// Those of run_now (lanes/run_now.hpp). Null also where calls are checked, which is done before steps are built.
    [[nodiscard]] collective::lanes* quick_lanes() const noexcept { return quick_lanes_; }
    void set_lanes(std::unique_ptr<collective::lanes> l, bool also_quick = true) noexcept
    {
        lanes_ = std::move(l);
        quick_lanes_ = also_quick ? lanes_.get() : nullptr;
    }
    /// Of a team on several nodes, some of which have lanes; else null, as lanes() is then.
    [[nodiscard]] collective::levels const* levels() const noexcept { return levels_.get(); }
    void set_levels(std::unique_ptr<collective::levels> l) noexcept { levels_ = std::move(l); }
    /// What an operation over lanes found (lanes::take_difference).
    [[nodiscard]] std::optional<different_calls> take_difference() const noexcept
    {
        collective::lanes* const l = levels_ != nullptr ? levels_->lanes() : lanes_.get();
        return l != nullptr ? l->take_difference() : std::nullopt;
    }
    /// Lanes for persistent operations that all ranks start in one order; null: none. Separate from lanes(): a rank may start one before
    /// another collective operation of the team where a second rank starts it after.
    [[nodiscard]] collective::lanes* lanes_of_starts() const noexcept { return lanes_of_starts_.get(); }
    void set_lanes_of_starts(std::unique_ptr<collective::lanes> l) noexcept { lanes_of_starts_ = std::move(l); }
    /// The same where the team is on several nodes.
    [[nodiscard]] collective::levels const* levels_of_starts() const noexcept { return levels_of_starts_.get(); }
    void set_levels_of_starts(std::unique_ptr<collective::levels> l) noexcept { levels_of_starts_ = std::move(l); }
    /// True for the first call: the ranks exchange those lanes now.
    [[nodiscard]] bool is_time_for_lanes_of_starts() noexcept { return !is_inter_ && size() > 1 && !std::exchange(has_starts_, true); }

    /// Counts an operation that every rank counts (not what it refuses), and says whether it is the n-th, before which the ranks introduce
    /// themselves: they do where operations are many. `n` is the same on all ranks; 0: never.
    [[nodiscard]] bool is_time_for_lanes(unsigned n) noexcept { return counted_ < n && ++counted_ == n && !is_inter_ && size() > 1; }

    /// The number that keeps the messages of the next operation apart from all others; the same on all ranks. Once per operation; a
    /// persistent one keeps its own.
    [[nodiscard]] std::uint32_t next_sequence() noexcept { return sequence_.fetch_add(1, std::memory_order_relaxed) & last_sequence; }
    /// That of the introduction, which no operation has: its messages never meet those of an operation, on whichever of these a rank is.
    static constexpr std::uint32_t introduction_sequence = std::uint32_t{1} << 29;
    /// That of a check of calls (call_check.hpp) before the operation of that sequence.
    [[nodiscard]] static constexpr std::uint32_t check_sequence(std::uint32_t sequence) noexcept
    {
        return sequence | std::uint32_t{1} << 28;
    }
    /// The envelope of a message. Ranks of the two groups may be equal: the last bit tells them apart.
    [[nodiscard]] static std::int32_t tag(std::uint32_t sequence, side where) noexcept
    {
        return static_cast<std::int32_t>(sequence << 1 | (where == side::remote ? 1u : 0u));
    }

private:
    static constexpr std::uint32_t last_sequence = (std::uint32_t{1} << 28) - 1;
    context_id context_;
    position here_;
    members local_;
    members remote_;
    bool is_inter_ = false;
    unsigned counted_ = 0;
    ending broken_ = ending::ok;
    std::unique_ptr<collective::lanes> lanes_;
    collective::lanes* quick_lanes_ = nullptr;
    std::unique_ptr<collective::levels> levels_;
    bool has_starts_ = false;
    std::unique_ptr<collective::lanes> lanes_of_starts_;
    std::unique_ptr<collective::levels> levels_of_starts_;
    std::atomic<std::uint32_t> sequence_{0};
};

} // namespace towline::collective
