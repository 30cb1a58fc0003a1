// Reduce_scatter by messages.

#include "collective/messages/accumulator.hpp"
#include "collective/messages/algorithms.hpp"
#include "collective/messages/fold.hpp"

namespace towline::collective::algorithms {
namespace {

/// Blocks given in elements, looked at in bytes.
struct in_bytes {
    layout_of_blocks const& blocks;
    std::uint64_t element;
    [[nodiscard]] std::uint64_t size(int rank) const noexcept { return blocks.size(rank) * element; }
    [[nodiscard]] std::byte const* at(void const* buffer, int rank) const noexcept
    {
        return static_cast<std::byte const*>(buffer) + (size(rank) == 0 ? 0 : blocks.offset(rank) * element);
    }
};

} // namespace

void reduce_scatter_direct(schedule& s, position here, void const* send, void* receive, layout_of_blocks const& blocks,
                           combination const& r)
{
    in_bytes const all{blocks, r.element};
    void const* const own = send == in_place ? receive : send;
    std::uint64_t const mine = all.size(here.rank);
    std::byte* const operands = s.scratch(mine * static_cast<std::uint64_t>(here.size));
    auto const operand = [&](int rank) { return operands + mine * static_cast<std::uint64_t>(rank); };
    for (int i = 1; i < here.size; ++i) {
        int const from = here.around(-i);
        int const to = here.around(i);
        s.receive_any(from, operand(from), mine);
        s.send_any(to, all.at(own, to), all.size(to));
    }
    s.copy(operand(here.rank), all.at(own, here.rank), mine);
    s.wait();
    for (int i = here.size - 2; i >= 0; --i)
        s.combine(r, operand(i), operand(here.size - 1), blocks.size(here.rank));
    s.copy(receive, operand(here.size - 1), mine);
}

void reduce_scatter_pairwise(schedule& s, position here, void const* send, void* receive, layout_of_blocks const& blocks,
                             combination const& r)
{
    in_bytes const all{blocks, r.element};
    bool const over = send == in_place;
    void const* const own = over ? receive : send;
    std::uint64_t const mine = all.size(here.rank);
    // What is still to be sent must not be overwritten.
    std::byte* const end = over ? s.scratch(mine) : static_cast<std::byte*>(receive);
    accumulator sum(s, r, blocks.size(here.rank), all.at(own, here.rank), end);
    for (int i = 1; i < here.size; ++i) {
        int const to = here.around(i);
        if (mine != 0)
            s.receive(here.around(-i), sum.landing(), mine);
        s.send_any(to, all.at(own, to), all.size(to));
        s.wait();
        if (mine != 0)
            sum.take_right();
    }
    if (mine == 0)
        return;
    sum.finish();
    s.copy(receive, end, mine);
}

void reduce_scatter_halving(schedule& s, position here, void const* send, void* receive, layout_of_blocks const& blocks,
                            combination const& r)
{
    folded const fold(here);
    in_bytes const all{blocks, r.element};
    auto const begin = [&](int rank) {
        return rank == here.size ? blocks.offset(rank - 1) + blocks.size(rank - 1) : blocks.offset(rank);
    };
    std::uint64_t const count = begin(here.size);
    std::uint64_t const mine = all.size(here.rank);
    if (count == 0)
        return;
    void const* const own = send == in_place ? receive : send;
    if (fold.gives) {
        s.send(here.rank + 1, own, count * r.element);
        s.wait();
        s.receive(here.rank + 1, receive, mine);
        s.wait();
        return;
    }
    std::byte* const sum = s.scratch(count * r.element);
    std::byte* const in = s.scratch(count * r.element);
    s.copy(sum, own, count * r.element);
    if (fold.takes) {
        s.receive(here.rank - 1, in, count * r.element);
        s.wait();
        s.combine(r, in, sum, count);
    }
    auto const element = [&](int number) { return begin(fold.first_of(number)); };
    halve(s, fold, sum, in, r, element);
    if (fold.takes)
        s.send(here.rank - 1, all.at(sum, here.rank - 1), all.size(here.rank - 1));
    s.copy(receive, all.at(sum, here.rank), mine);
    s.wait();
}

} // namespace towline::collective::algorithms
