#pragma once
// Groups (7.3): ordered sets of processes. Immutable.

#include "mpi/object.hpp"

#include <array>
#include <span>
#include <vector>

namespace towline::mpi {

/// A process, as all ranks of the job number it.
using process_id = int;

class group final : public object {
public:
    /// `self` is this process. `origin` is the session whose process set the members come from; null: none.
    group(std::vector<process_id> members, process_id self, object* origin = nullptr);

    /// MPI_GROUP_EMPTY.
    [[nodiscard]] static group& empty() noexcept;

    [[nodiscard]] int size() const noexcept { return static_cast<int>(members_.size()); }
    /// This process's rank; MPI_UNDEFINED if it is no member.
    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] process_id member(int rank) const noexcept { return members_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] std::span<process_id const> members() const noexcept { return members_; }
    [[nodiscard]] process_id self() const noexcept { return self_; }
    [[nodiscard]] object* origin() const noexcept { return origin_.get(); }

private:
    std::vector<process_id> const members_;
    process_id const self_;
    int const rank_;
    ref<object> const origin_;
};

/// Maps processes to their ranks in a group, in constant time.
class positions {
public:
    explicit positions(group const&);
    /// MPI_UNDEFINED for a process that is no member.
    [[nodiscard]] int of(process_id) const noexcept;

private:
    std::vector<int> rank_of_;
};

/// MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL.
[[nodiscard]] int compare(group const&, group const&);

/// As the standard's functions of these names: the members of the first group in its order, then those that the second adds, in its order.
/// Returns `group::empty` if no member is left.
[[nodiscard]] ref<group> set_union(group const&, group const&);
[[nodiscard]] ref<group> set_intersection(group const&, group const&);
[[nodiscard]] ref<group> set_difference(group const&, group const&);

/// A first and a last rank, and the step between.
using rank_range = std::array<int, 3>;

/// `including`: the members with these ranks, in this order. `excluding`: the members without these ranks, in the group's order. Throws a
/// failure for ranks that are out of range or named twice.
[[nodiscard]] ref<group> including(group const&, std::span<int const> ranks);
[[nodiscard]] ref<group> excluding(group const&, std::span<int const> ranks);
/// The ranks in the ranges. Throws a failure for a step of 0 or in the wrong direction, and for ranks outside the group.
[[nodiscard]] std::vector<int> expand(group const&, std::span<rank_range const>);

} // namespace towline::mpi
