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
    /// `self` is the process that asks for its rank. `origin`: the session whose process set the members come from; null: none.
    group(std::vector<process_id> members, process_id self, object* origin = nullptr);

    /// MPI_GROUP_EMPTY.
    [[nodiscard]] static group& empty() noexcept;

    [[nodiscard]] int size() const noexcept { return static_cast<int>(members_.size()); }
    /// Of this process; MPI_UNDEFINED where it is no member.
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

/// Where the processes of a group are in it, in constant time.
class positions {
public:
    explicit positions(group const&);
    /// MPI_UNDEFINED where it is no member.
    [[nodiscard]] int of(process_id) const noexcept;

private:
    std::vector<int> rank_of_;
};

/// MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL.
[[nodiscard]] int compare(group const&, group const&);

/// As the standard's functions of these names: members of the first in its order, then what the second adds in its order. The result is
/// `group::empty` where nobody is left.
[[nodiscard]] ref<group> set_union(group const&, group const&);
[[nodiscard]] ref<group> set_intersection(group const&, group const&);
[[nodiscard]] ref<group> set_difference(group const&, group const&);

/// A first and a last rank, and the step between.
using rank_range = std::array<int, 3>;

/// The members with these ranks, in this order; and the members without these, in the group's. Throws a failure for ranks that are outside
/// or named twice.
[[nodiscard]] ref<group> including(group const&, std::span<int const> ranks);
[[nodiscard]] ref<group> excluding(group const&, std::span<int const> ranks);
/// The ranks that ranges name. Throws a failure for a step of 0 or away from the end, and for ranks outside the group.
[[nodiscard]] std::vector<int> expand(group const&, std::span<rank_range const>);

} // namespace towline::mpi
