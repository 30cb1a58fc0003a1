#pragma once
// A team as one rank sees it: its other ranks, and how its operations run. The operations themselves: collective/operations.hpp.

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
    /// `ranks` are those of the world, in the team's order. `number` is no other team's of these ranks.
    team_core(remoting::team_ground&, std::uint32_t number, int rank, std::vector<int> ranks);
    /// Nothing is under way.
    ~team_core();
    team_core(team_core const&) = delete;
    team_core& operator=(team_core const&) = delete;

    [[nodiscard]] int rank() const noexcept { return team_.rank(); }
    [[nodiscard]] int size() const noexcept { return team_.size(); }
    [[nodiscard]] std::vector<int> const& ranks() const noexcept { return ranks_; }
    /// The lowest rank of the world that is in the team and is known to have ended.
    [[nodiscard]] std::optional<int> first_dead() const;
    [[nodiscard]] remoting::team_ground& ground() noexcept { return ground_; }

    /// An operation: the ranks introduce their lanes to each other.
    void introduce();
    /// An operation of this team: ranks of the same color become a team; null for a negative color.
    [[nodiscard]] std::shared_ptr<team_core> split(int color, int key);

    void run(team_call const&);
    [[nodiscard]] static state_ref<state<void>> start(std::shared_ptr<team_core> const&, team_call const&, std::shared_ptr<void> kept);

private:
    struct operation;

    /// Throws for arguments that can never be right; the other ranks are not told.
    void check(team_call const&) const;
    /// What is wrong with this rank's rows, if anything is.
    [[nodiscard]] std::optional<usage_error> find_unfit(team_call const&) const;
    void check_rows(team_call const&) const;
    void check_counts(team_call const&) const;
    /// The operation as a collective::call; its lists of blocks lie in `lists`.
    [[nodiscard]] collective::call call_of(team_call const&, std::vector<std::uint64_t>& lists) const;
    /// The operation, where this rank's rows fit together and lie in rows.
    void run_fit(team_call const&);
    /// This rank's part as steps.
    void build(collective::schedule&, team_call const&, bool over_lanes = true);
    /// The same where this rank's rows do not fit together (team_unfit.cpp): it takes part and gives no data, so that all ranks fail that
    /// need some. Returns the call that it makes instead, without its lists.
    team_call build_unfit(collective::schedule&, team_call, bool over_lanes = true);
    /// Runs that, and throws what is wrong here.
    [[noreturn]] void run_unfit(team_call const&, usage_error const& why);
    /// Runs it in this thread, without steps. False: that is not possible now, and nothing was begun.
    [[nodiscard]] bool run_now(team_call const&);
    /// Runs what was built to its end.
    void complete(collective::collective_request&, std::uint32_t sequence, char const* name);
    /// The same under the next number; throws what went wrong.
    void run(collective::collective_request&, char const* name);
    [[nodiscard]] collective::call_card card_of(team_call const&) const;
    /// Runs what was built, if the ranks call the same; throws if they do not.
    void run_checked(team_call const&);
    [[nodiscard]] std::exception_ptr error_of(collective::ending, char const* name) const;
    /// The same; another rank may have found a death first, so this waits until it is known here who died.
    [[nodiscard]] std::exception_ptr wait_for_error(collective::ending, char const* name);

    remoting::team_ground& ground_;
    std::vector<int> const ranks_;
    collective::team team_;
    std::unique_ptr<collective::collective_request> blocking_;  ///< used by one operation after the other
};

[[nodiscard]] char const* name_of(team_operation) noexcept;

} // namespace towline::detail
