#pragma once
// What processes agree on while they make communicators: operations on a communicator's house team.

#include "collective/request.hpp"
#include "mpi/communicator.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace towline::mpi {

/// Processes that agree on something, in an order that all of them know; the first leads.
class party {
public:
    /// All of a communicator in the order of their ranks; of an intercommunicator first the group whose first process has the lower number.
    explicit party(communicator&);
    /// Some ranks of an intracommunicator (of the local group); this process is one of them.
    party(communicator const&, std::span<int const> ranks);

    [[nodiscard]] int size() const noexcept { return size_; }
    /// The place of this process.
    [[nodiscard]] int here() const noexcept { return here_; }
    [[nodiscard]] bool leads() const noexcept { return here_ == 0; }
    /// How many of the first are in this process's group, or in the other: an intercommunicator's first group.
    [[nodiscard]] int first_group() const noexcept { return first_group_; }
    /// The places from here on are of that side.
    [[nodiscard]] int begin_of(collective::side where) const noexcept { return where == first_side_ ? 0 : first_group_; }

    struct member {
        collective::side where;
        int rank;
    };
    [[nodiscard]] member at(int place) const noexcept;

    /// The leader's bytes come to all.
    void broadcast(collective::schedule&, void* data, std::uint64_t bytes) const;
    /// All get all blocks, in the order of places; each has put its own into the table.
    void gather_to_all(collective::schedule&, void* table, std::uint64_t block) const;

private:
    int size_ = 0;
    int here_ = 0;
    int first_group_ = 0;
    collective::side first_side_ = collective::side::local;
    std::span<int const> ranks_;  ///< empty: all
};

/// Members that have no part in what others agree on leave out their operation's place in the order.
inline void agree_on_nothing(communicator& c) noexcept
{
    (void)c.house_team().next_sequence();
}

/// Starts an operation whose schedule was filled.
void start_agreement(collective::collective_request&, communicator&, std::uint32_t sequence);
/// Of an operation that has ended.
[[nodiscard]] int agreement_code(collective::ending) noexcept;
/// Waits for it; throws where it failed.
void await_agreement(collective::collective_request&, char const* call);

/// One operation: `build` fills its schedule. All members do the same, or leave it out. `call` as for matcher::wait.
template <class Build>
void agree(communicator& c, char const* call, Build&& build)
{
    std::uint32_t const sequence = c.house_team().next_sequence();
    collective::collective_request r;
    build(r.schedule());
    start_agreement(r, c, sequence);
    await_agreement(r, call);
}

/// All members get the blocks of all, in the order of places of `party(c)`; each has put its own into the table.
void agree_on_table(communicator& c, party const&, void* table, std::uint64_t block, char const* call);

/// A number for a communicator of the party's members.
[[nodiscard]] std::uint32_t agree_on_number(communicator&, party const&, char const* call);
/// Throws where the leader had no number left.
void check_number(std::uint32_t number);

} // namespace towline::mpi
