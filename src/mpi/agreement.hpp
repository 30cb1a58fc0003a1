#pragma once
// Internal operations by which processes agree while they make communicators. They run on the communicator's house team.

#include "collective/request.hpp"
#include "mpi/communicator.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace towline::mpi {

/// Processes that take part in one agreement, in an order that all of them know. The first one leads.
class party {
public:
    /// All ranks of a communicator, in rank order. Of an intercommunicator, the group whose first process has the lower number comes first.
    explicit party(communicator&);
    /// Some ranks of an intracommunicator (of the local group); they include this process.
    party(communicator const&, std::span<int const> ranks);

    [[nodiscard]] int size() const noexcept { return size_; }
    /// This process's place in the order.
    [[nodiscard]] int here() const noexcept { return here_; }
    [[nodiscard]] bool leads() const noexcept { return here_ == 0; }
    /// The number of leading places that belong to one group: the whole party, or the first group of an intercommunicator.
    [[nodiscard]] int first_group() const noexcept { return first_group_; }
    /// The first place of that side's group.
    [[nodiscard]] int begin_of(collective::side where) const noexcept { return where == first_side_ ? 0 : first_group_; }

    struct member {
        collective::side where;
        int rank;
    };
    [[nodiscard]] member at(int place) const noexcept;

    /// Sends the leader's bytes to all.
    void broadcast(collective::schedule&, void* data, std::uint64_t bytes) const;
    /// Allgather, in the order of places. Each process has put its own block into the table.
    void gather_to_all(collective::schedule&, void* table, std::uint64_t block) const;

private:
    int size_ = 0;
    int here_ = 0;
    int first_group_ = 0;
    collective::side first_side_ = collective::side::local;
    std::span<int const> ranks_;  ///< empty: all
};

/// Members that take no part in an agreement skip its sequence number, so that later operations still match.
inline void agree_on_nothing(communicator& c) noexcept
{
    (void)c.house_team().next_sequence();
}

/// Starts an operation whose schedule is complete.
void start_agreement(collective::collective_request&, communicator&, std::uint32_t sequence);
/// The MPI error class of a finished operation.
[[nodiscard]] int agreement_code(collective::ending) noexcept;
/// Waits for it; throws if it failed.
void await_agreement(collective::collective_request&, char const* call);

/// Runs one operation: `build` fills its schedule. All members do the same, or skip it. `call` as for matcher::wait.
template <class Build>
void agree(communicator& c, char const* call, Build&& build)
{
    std::uint32_t const sequence = c.house_team().next_sequence();
    collective::collective_request r;
    build(r.schedule());
    start_agreement(r, c, sequence);
    await_agreement(r, call);
}

/// Allgather in the order of places of `party(c)`. Each member has put its own block into the table.
void agree_on_table(communicator& c, party const&, void* table, std::uint64_t block, char const* call);

/// A number for a communicator of the party's members.
[[nodiscard]] std::uint32_t agree_on_number(communicator&, party const&, char const* call);
/// Throws if the leader had no number left.
void check_number(std::uint32_t number);

} // namespace towline::mpi
