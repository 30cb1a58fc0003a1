// Scan and exscan by messages.

#include "collective/messages/accumulator.hpp"
#include "collective/messages/algorithms.hpp"

namespace towline::collective::algorithms {
namespace {

/// Each rank knows the sum of its aligned block of 1, 2, 4, ... ranks; what comes from a block before it belongs to the result.
void prefix(schedule& s, position here, void const* send, void* receive, std::uint64_t count, combination const& r, bool with_own)
{
    if (count == 0)
        return;
    std::uint64_t const bytes = count * r.element;
    void const* own = send;
    if (send == in_place) {
        // The result grows there.
        std::byte* const copy = s.scratch(bytes);
        s.copy(copy, receive, bytes);
        own = copy;
    } else if (with_own) {
        s.copy(receive, send, bytes);
    }
    auto const goes_on = [&](int distance) {
        for (distance *= 2; distance < here.size; distance *= 2) {
            if ((here.rank ^ distance) < here.size)
                return true;
        }
        return false;
    };
    bool empty = !with_own;
    accumulator block(s, r, count, own, nullptr);
    for (int distance = 1; distance < here.size; distance *= 2) {
        int const partner = here.rank ^ distance;
        if (partner >= here.size)
            continue;
        std::byte* const landed = block.landing();
        s.receive(partner, landed, bytes);
        s.send(partner, block.value(), bytes);
        s.wait();
        bool const needed = goes_on(distance);
        if (partner > here.rank) {
            if (needed)
                block.take_right_strictly();
            continue;
        }
        if (empty)
            s.copy(receive, landed, bytes);
        else
            s.combine(r, landed, receive, count);
        empty = false;
        if (needed)
            block.take_left();
    }
}

} // namespace

void scan_doubling(schedule& s, position here, void const* send, void* receive, std::uint64_t count, combination const& r)
{
    prefix(s, here, send, receive, count, r, true);
}

void exscan_doubling(schedule& s, position here, void const* send, void* receive, std::uint64_t count, combination const& r)
{
    prefix(s, here, send, receive, count, r, false);
}

} // namespace towline::collective::algorithms
