// Allreduce by messages.

#include "collective/messages/accumulator.hpp"
#include "collective/messages/algorithms.hpp"
#include "collective/messages/fold.hpp"

namespace towline::collective::algorithms {

void allreduce_doubling(schedule& s, position here, void const* send, void* receive, std::uint64_t count, combination const& r)
{
    if (count == 0)
        return;
    folded const fold(here);
    accumulator sum(s, r, count, send == in_place ? receive : send, receive);
    if (fold.gives) {
        s.send(here.rank + 1, sum.value(), sum.bytes());
        s.wait();
        s.receive(here.rank + 1, receive, sum.bytes());
        s.wait();
        return;
    }
    if (fold.takes) {
        s.receive(here.rank - 1, sum.landing(), sum.bytes());
        s.wait();
        sum.take_left();
    }
    for (int distance = 1; distance < fold.power; distance *= 2) {
        int const partner = fold.number ^ distance;
        s.receive(fold.rank_of(partner), sum.landing(), sum.bytes());
        s.send(fold.rank_of(partner), sum.value(), sum.bytes());
        s.wait();
        if (partner < fold.number)
            sum.take_left();
        else
            sum.take_right_strictly();
    }
    if (fold.takes)
        s.send(here.rank - 1, sum.value(), sum.bytes());
    sum.finish();
    s.wait();
}

void allreduce_rabenseifner(schedule& s, position here, void const* send, void* receive, std::uint64_t count, combination const& r)
{
    if (count == 0)
        return;
    folded const fold(here);
    std::uint64_t const bytes = count * r.element;
    auto* const all = static_cast<std::byte*>(receive);
    void const* const own = send == in_place ? receive : send;
    if (fold.gives) {
        s.send(here.rank + 1, own, bytes);
        s.wait();
        s.receive(here.rank + 1, receive, bytes);
        s.wait();
        return;
    }
    s.copy(all, own, bytes);
    auto const parts = static_cast<std::uint64_t>(fold.power);
    auto const element = [&](int part) {
        auto const i = static_cast<std::uint64_t>(part);
        return count / parts * i + count % parts * i / parts;
    };
    auto const at = [&](std::byte* base, int part) { return base + element(part) * r.element; };
    auto const size = [&](int first, int behind) { return (element(behind) - element(first)) * r.element; };
    std::byte* const in = s.scratch(fold.takes ? bytes : (bytes + 1) / 2 + parts * r.element);
    if (fold.takes) {
        s.receive(here.rank - 1, in, bytes);
        s.wait();
        s.combine(r, in, all, count);
    }
    halve(s, fold, all, in, r, element);
    for (int distance = 1; distance < fold.power; distance *= 2) {
        int const mine = fold.number & -distance;
        int const theirs = mine ^ distance;
        int const partner = fold.rank_of(fold.number ^ distance);
        s.receive(partner, at(all, theirs), size(theirs, theirs + distance));
        s.send(partner, at(all, mine), size(mine, mine + distance));
        s.wait();
    }
    if (fold.takes) {
        s.send(here.rank - 1, all, bytes);
        s.wait();
    }
}

} // namespace towline::collective::algorithms
