#pragma once
// A team as one rank sees it: who the others are, and how its operations run. The operations themselves: collective/operations.hpp.

#include "collective/request.hpp"
#include "remote/team_ground.hpp"

#include <memory>
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
    [[nodiscard]] remoting::team_ground& ground() noexcept { return ground_; }

    /// An operation: the ranks show each other memory by which they may go on without messages.
    void introduce();
    /// An operation of this team: who gives the same color is a team; null for a negative one.
    [[nodiscard]] std::shared_ptr<team_core> split(int color, int key);

    void run(team_call const&);
    [[nodiscard]] static state_ref<state<void>> start(std::shared_ptr<team_core> const&, team_call const&, std::shared_ptr<void> kept);

private:
    struct operation;

    /// Throws for what can never be.
    void check(team_call const&) const;
    void check_rows(team_call const&) const;
    void check_counts(team_call const&) const;
    /// This rank's part as steps.
    void build(collective::schedule&, team_call const&);
    void build_by_counts(collective::schedule&, team_call const&);
    /// False: it is not of this kind, and nothing happened (team_at_once.cpp).
    [[nodiscard]] bool run_at_once(team_call const&);
    /// Runs what was built.
    void run(collective::collective_request&, char const* name);
    [[nodiscard]] std::exception_ptr error_of(collective::ending, char const* name) const;

    remoting::team_ground& ground_;
    std::vector<int> const ranks_;
    collective::team team_;
    std::unique_ptr<collective::collective_request> blocking_;  ///< used by one operation after the other
};

[[nodiscard]] char const* name_of(team_operation) noexcept;

} // namespace towline::detail
