// Alltoall by messages.

#include "collective/messages/algorithms.hpp"

#include <algorithm>
#include <vector>

namespace towline::collective::algorithms {

void alltoall_bruck(schedule& s, position here, void const* send, void* receive, std::uint64_t bytes)
{
    if (bytes == 0)
        return;
    auto const size_of = [&](int blocks) { return static_cast<std::uint64_t>(blocks) * bytes; };
    auto const* const from = static_cast<std::byte const*>(send == in_place ? receive : send);
    // The i-th block is for the rank i further; it goes by the bits of i, the lowest first.
    std::byte* const all = s.scratch(size_of(here.size));
    s.copy(all, from + size_of(here.rank), size_of(here.size - here.rank));
    s.copy(all + size_of(here.size - here.rank), from, size_of(here.rank));
    std::byte* const out = s.scratch(size_of((here.size + 1) / 2));
    std::byte* const in = s.scratch(size_of((here.size + 1) / 2));
    for (int distance = 1; distance < here.size; distance *= 2) {
        int count = 0;
        for (int i = distance; i < here.size; ++i) {
            if ((i & distance) != 0)
                s.copy(out + size_of(count++), all + size_of(i), bytes);
        }
        s.receive(here.around(-distance), in, size_of(count));
        s.send(here.around(distance), out, size_of(count));
        s.wait();
        count = 0;
        for (int i = distance; i < here.size; ++i) {
            if ((i & distance) != 0)
                s.copy(all + size_of(i), in + size_of(count++), bytes);
        }
    }
    // Now the i-th block is from the rank i nearer.
    for (int i = 0; i < here.size; ++i)
        s.copy(static_cast<std::byte*>(receive) + size_of(here.around(-i)), all + size_of(i), bytes);
}

void alltoall_pairwise(schedule& s, position here, void const* send, layout_of_blocks const& sending, void* receive,
                       layout_of_blocks const& receiving, int at_once)
{
    layout_of_blocks const* from_where = &sending;
    std::vector<std::uint64_t> sizes;
    std::vector<std::uint64_t> offsets;
    layout_of_blocks aside(0);
    if (send == in_place) {
        // What comes in first may lie where something is that goes out last: everything to the side.
        std::uint64_t total = 0;
        for (int i = 0; i < here.size; ++i) {
            sizes.push_back(receiving.size(i));
            offsets.push_back(total);
            total += sizes.back();
        }
        std::byte* const all = s.scratch(total);
        aside = layout_of_blocks(sizes, offsets);
        for (int i = 0; i < here.size; ++i) {
            if (i != here.rank)
                s.copy(aside.at(all, i), receiving.at(receive, i), receiving.size(i));
        }
        send = all;
        from_where = &aside;
    } else {
        s.copy(receiving.at(receive, here.rank), sending.at(send, here.rank), std::min(sending.size(here.rank), receiving.size(here.rank)));
    }
    int under_way = 0;
    for (int i = 1; i < here.size; ++i) {
        int const to = here.around(i);
        int const from = here.around(-i);
        s.receive_any(from, receiving.at(receive, from), receiving.size(from));
        s.send_any(to, from_where->at(send, to), from_where->size(to));
        if (++under_way == at_once) {
            s.wait();
            under_way = 0;
        }
    }
    s.wait();
}

} // namespace towline::collective::algorithms
