#pragma once
// One rank's side of a team: its ranks, and the execution of its operations. The operations themselves: collective/operations.hpp.

#include "collective/call.hpp"
#include "collective/call_check.hpp"
#include "collective/request.hpp"
#include "remote/team_ground.hpp"

#include <towline/error.hpp>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace towline::detail {

class team_core {
public:
    /// `ranks` are world ranks, in the team's order. No other team of these ranks has this `number`.
    team_core(remoting::team_ground&, std::uint32_t number, int rank, std::vector<int> ranks);
    /// No operation is in flight.
    ~team_core();
    team_core(team_core const&) = delete;
    team_core& operator=(team_core const&) = delete;

    [[nodiscard]] int rank() const noexcept { return team_.rank(); }
    [[nodiscard]] int size() const noexcept { return team_.size(); }
    [[nodiscard]] std::vector<int> const& ranks() const noexcept { return ranks_; }
    /// The lowest world rank of a member that is known to have ended.
    [[nodiscard]] std::optional<int> first_dead() const;
    [[nodiscard]] remoting::team_ground& ground() noexcept { return ground_; }

    /// A collective operation: the ranks exchange their lanes.
    void introduce();
    /// A collective operation: ranks of the same color become a team; null for a negative color.
    [[nodiscard]] std::shared_ptr<team_core> split(int color, int key);

    void run(team_call const&);
    [[nodiscard]] static state_ref<state<void>> start(std::shared_ptr<team_core> const&, team_call const&, std::shared_ptr<void> kept);

private:
    struct operation;

    /// Throws for arguments that can never be valid. The other ranks are not told.
    void check(team_call const&) const;
    /// The error in this rank's rows, if there is one.
    [[nodiscard]] std::optional<usage_error> find_unfit(team_call const&) const;
    void check_rows(team_call const&) const;
    void check_counts(team_call const&) const;
    /// The operation as a collective::call; `lists` stores its lists of blocks.
    [[nodiscard]] collective::call call_of(team_call const&, std::vector<std::uint64_t>& lists) const;
    /// Runs the operation if this rank's rows fit together and are contiguous.
    void run_fit(team_call const&);
    /// Builds this rank's part as a schedule.
    void build(collective::schedule&, team_call const&, bool over_lanes = true);
    /// The same if this rank's rows do not fit together (team_unfit.cpp): the rank takes part and gives no data, so that all ranks that
    /// need some fail. Returns the call that it makes instead, without its lists.
    team_call build_unfit(collective::schedule&, team_call, bool over_lanes = true);
    /// Runs such an operation, and throws this rank's error.
    [[noreturn]] void run_unfit(team_call const&, usage_error const& why);
    /// Runs it in this thread, without a schedule. False: not possible now; nothing was begun.
    [[nodiscard]] bool run_now(team_call const&);
    /// Runs the built operation until it is done.
    void complete(collective::collective_request&, std::uint32_t sequence, char const* name);
    /// The same with the next sequence number; throws its error.
    void run(collective::collective_request&, char const* name);
    [[nodiscard]] collective::call_card card_of(team_call const&) const;
    /// Runs the built operation if all ranks call the same; throws if they do not.
    void run_checked(team_call const&);
    [[nodiscard]] std::exception_ptr error_of(collective::ending, char const* name) const;
    /// The error for an ending. If another rank detected a death first, waits until this rank knows who died.
    [[nodiscard]] std::exception_ptr wait_for_error(collective::ending, char const* name);

    remoting::team_ground& ground_;
    std::vector<int> const ranks_;
    collective::team team_;
    std::unique_ptr<collective::collective_request> blocking_;  ///< reused by one operation after another
};

[[nodiscard]] char const* name_of(team_operation) noexcept;

} // namespace towline::detail
