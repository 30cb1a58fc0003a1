// Runs the operations by which processes agree on new communicators.

#include "mpi/agreement.hpp"

#include "collective/operations.hpp"
#include "mpi/failure.hpp"
#include "mpi/process.hpp"

#include <algorithm>

namespace towline::mpi {

using collective::schedule;
using collective::side;

party::party(communicator& c) : size_(c.size()), here_(c.rank()), first_group_(c.size())
{
    if (!c.is_inter())
        return;
    bool const local_first = c.remote().size() == 0 || c.local().member(0) < c.remote().member(0);
    size_ += c.remote().size();
    if (!local_first) {
        first_side_ = side::remote;
        first_group_ = c.remote().size();
        here_ += first_group_;
    }
}

party::party(communicator const& c, std::span<int const> ranks)
    : size_(static_cast<int>(ranks.size())), here_(static_cast<int>(std::ranges::find(ranks, c.rank()) - ranks.begin())),
      first_group_(size_), ranks_(ranks)
{
}

party::member party::at(int place) const noexcept
{
    if (!ranks_.empty())
        return {side::local, ranks_[static_cast<std::size_t>(place)]};
    if (place < first_group_)
        return {first_side_, place};
    return {first_side_ == side::local ? side::remote : side::local, place - first_group_};
}

// Both are binomial trees. The subtree of a place begins there and ends before the next multiple of the place's lowest set bit.

void party::broadcast(schedule& s, void* data, std::uint64_t bytes) const
{
    int bit = 1;
    for (; bit < size_; bit <<= 1) {
        if ((here_ & bit) != 0) {
            member const from = at(here_ - bit);
            s.receive(from.rank, data, bytes, from.where);
            s.wait();
            break;
        }
    }
    for (bit >>= 1; bit > 0; bit >>= 1) {
        if (here_ + bit < size_) {
            member const to = at(here_ + bit);
            s.send(to.rank, data, bytes, to.where);
        }
    }
    s.wait();
}

void party::gather_to_all(schedule& s, void* table, std::uint64_t block) const
{
    auto const at_place = [&](int place) { return static_cast<std::byte*>(table) + static_cast<std::uint64_t>(place) * block; };
    auto const blocks = [&](int from, int bit) { return static_cast<std::uint64_t>(std::min(from + bit, size_) - from) * block; };
    for (int bit = 1; bit < size_; bit <<= 1) {
        if ((here_ & bit) != 0) {
            s.wait();
            member const to = at(here_ - bit);
            s.send(to.rank, at_place(here_), blocks(here_, bit), to.where);
            break;
        }
        if (here_ + bit < size_) {
            member const from = at(here_ + bit);
            s.receive(from.rank, at_place(here_ + bit), blocks(here_ + bit, bit), from.where);
        }
    }
    s.wait();
    broadcast(s, table, static_cast<std::uint64_t>(size_) * block);
}

void start_agreement(collective::collective_request& r, communicator& c, std::uint32_t sequence)
{
    r.start(process::instance().matcher(), c.house_team(), sequence);
}

int agreement_code(collective::ending e) noexcept
{
    switch (e) {
    case collective::ending::ok: return MPI_SUCCESS;
    case collective::ending::mismatch: return MPI_ERR_ARG;
    case collective::ending::peer_died: return MPI_ERR_PROC_ABORTED;
    case collective::ending::lost: break;
    }
    return MPI_ERR_OTHER;
}

void await_agreement(collective::collective_request& r, char const* call)
{
    process::instance().matcher().wait_until([&r] { return r.done(); }, call);
    int const code = agreement_code(r.result());
    if (code != MPI_SUCCESS)
        throw failure(code, code == MPI_ERR_ARG            ? "the ranks gave arguments that do not fit together, or made different calls"
                            : code == MPI_ERR_PROC_ABORTED ? "a rank ended before it had taken its part"
                                                           : "a message could not be brought");
}

void agree_on_table(communicator& c, party const& everybody, void* table, std::uint64_t block, char const* call)
{
    agree(c, call, [&](schedule& s) {
        if (c.is_inter())
            everybody.gather_to_all(s, table, block);
        else
            collective::build(s, c.house_team(), collective::allgather(collective::in_place, block, table, block));
    });
}

void check_number(std::uint32_t number)
{
    if (number == communicator_numbers::none)
        throw failure(MPI_ERR_OTHER, "no communicator can be made: the process that leads the new one has no context left for it, because "
                                     "it has as many communicators as fit into its share of all contexts. Free some");
}

std::uint32_t agree_on_number(communicator& c, party const& members, char const* call)
{
    std::uint32_t number = communicator_numbers::none;
    if (members.leads()) {
        number_pool& pool = process::instance().numbers().pool();
        number = pool.reserve();
        pool.settle(number, members.size());
    }
    agree(c, call, [&](schedule& s) { members.broadcast(s, &number, sizeof number); });
    check_number(number);
    return number;
}

} // namespace towline::mpi
