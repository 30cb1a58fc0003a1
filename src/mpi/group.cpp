// Translations and combinations of groups.

#include "mpi/group.hpp"

#include "mpi/abi.hpp"
#include "mpi/failure.hpp"
#include "mpi/handles.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace towline::mpi {
namespace {

int rank_in(std::vector<process_id> const& members, process_id self) noexcept
{
    auto const found = std::find(members.begin(), members.end(), self);
    return found == members.end() ? MPI_UNDEFINED : static_cast<int>(found - members.begin());
}

/// Makes a group of members of `from`.
ref<group> made(std::vector<process_id> members, process_id self, group const& from)
{
    return members.empty() ? ref<group>(group::empty()) : make<group>(std::move(members), self, from.origin());
}

/// Marks ranks; throws for ranks that are out of range or marked twice.
std::vector<bool> marked(group const& g, std::span<int const> ranks)
{
    std::vector<bool> marks(static_cast<std::size_t>(g.size()));
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        int const rank = ranks[i];
        if (rank < 0 || rank >= g.size())
            throw failure(MPI_ERR_RANK, fmt::format("rank {} (number {}) is not in a group of {}", rank, i, g.size()));
        if (marks[static_cast<std::size_t>(rank)])
            throw failure(MPI_ERR_RANK, fmt::format("rank {} is named twice", rank));
        marks[static_cast<std::size_t>(rank)] = true;
    }
    return marks;
}

} // namespace

group::group(std::vector<process_id> members, process_id self, object* origin)
    : members_(std::move(members)), self_(self), rank_(rank_in(members_, self)),
      origin_(origin != nullptr ? ref<object>(*origin) : ref<object>())
{
}

group& group::empty() noexcept
{
    static group& instance = [] () -> group& {
        group* const g = new group({}, -1);  // never destroyed: programs call MPI from destructors
        predefined_of<MPI_Group>[1] = g;
        return *g;
    }();
    return instance;
}

namespace {
[[maybe_unused]] group const& made_at_load = group::empty();
} // namespace

positions::positions(group const& g)
{
    auto const members = g.members();
    if (!members.empty())
        rank_of_.assign(static_cast<std::size_t>(*std::max_element(members.begin(), members.end())) + 1, MPI_UNDEFINED);
    for (int rank = 0; rank < g.size(); ++rank)
        rank_of_[static_cast<std::size_t>(g.member(rank))] = rank;
}

int positions::of(process_id process) const noexcept
{
    auto const i = static_cast<std::size_t>(process);
    return i < rank_of_.size() ? rank_of_[i] : MPI_UNDEFINED;
}

int compare(group const& a, group const& b)
{
    if (std::ranges::equal(a.members(), b.members()))
        return MPI_IDENT;
    if (a.size() != b.size())
        return MPI_UNEQUAL;
    positions const in_b(b);
    return std::ranges::all_of(a.members(), [&](process_id p) { return in_b.of(p) != MPI_UNDEFINED; }) ? MPI_SIMILAR : MPI_UNEQUAL;
}

ref<group> set_union(group const& a, group const& b)
{
    positions const in_a(a);
    std::vector<process_id> members(a.members().begin(), a.members().end());
    std::ranges::copy_if(b.members(), std::back_inserter(members), [&](process_id p) { return in_a.of(p) == MPI_UNDEFINED; });
    return made(std::move(members), std::max(a.self(), b.self()), a);
}

ref<group> set_intersection(group const& a, group const& b)
{
    positions const in_b(b);
    std::vector<process_id> members;
    std::ranges::copy_if(a.members(), std::back_inserter(members), [&](process_id p) { return in_b.of(p) != MPI_UNDEFINED; });
    return made(std::move(members), a.self(), a);
}

ref<group> set_difference(group const& a, group const& b)
{
    positions const in_b(b);
    std::vector<process_id> members;
    std::ranges::copy_if(a.members(), std::back_inserter(members), [&](process_id p) { return in_b.of(p) == MPI_UNDEFINED; });
    return made(std::move(members), a.self(), a);
}

ref<group> including(group const& g, std::span<int const> ranks)
{
    (void)marked(g, ranks);
    std::vector<process_id> members;
    members.reserve(ranks.size());
    for (int const rank : ranks)
        members.push_back(g.member(rank));
    return made(std::move(members), g.self(), g);
}

ref<group> excluding(group const& g, std::span<int const> ranks)
{
    std::vector<bool> const out = marked(g, ranks);
    std::vector<process_id> members;
    for (int rank = 0; rank < g.size(); ++rank)
        if (!out[static_cast<std::size_t>(rank)])
            members.push_back(g.member(rank));
    return made(std::move(members), g.self(), g);
}

std::vector<int> expand(group const& g, std::span<rank_range const> ranges)
{
    std::vector<int> ranks;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        auto const [first, last, step] = ranges[i];
        auto const outside = [&](int rank) { return rank < 0 || rank >= g.size(); };
        if (step == 0)
            throw failure(MPI_ERR_ARG, fmt::format("range {} is ({}, {}, 0): its step is zero", i, first, last));
        if ((step > 0 && first > last) || (step < 0 && first < last))
            throw failure(MPI_ERR_ARG, fmt::format("range {} is ({}, {}, {}): its step leads away from its end", i, first, last, step));
        // Only the ranks that the range reaches must exist: its last one need not be among them.
        std::int64_t const steps = (std::int64_t{last} - first) / step;
        std::int64_t const end = first + steps * step;
        if (outside(first) || end < 0 || end >= g.size())
            throw failure(MPI_ERR_RANK,
                          fmt::format("range {} is ({}, {}, {}), which leaves the group of {}", i, first, last, step, g.size()));
        for (std::int64_t k = 0; k <= steps; ++k)
            ranks.push_back(static_cast<int>(first + k * step));
        if (ranks.size() > static_cast<std::size_t>(g.size()))
            throw failure(MPI_ERR_RANK, fmt::format("the ranges name ranks twice: more than the group of {} has", g.size()));
    }
    return ranks;
}

} // namespace towline::mpi
