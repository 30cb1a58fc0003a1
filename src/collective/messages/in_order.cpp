// Reductions and scans that combine in the order of lanes/programs.hpp: each rank gets what it needs from all others.

#include "collective/messages/algorithms.hpp"

#include <vector>

namespace towline::collective::algorithms {
namespace {

/// Equal parts of `count` elements, one for each rank, as near as can be; in units of `each` bytes or elements.
class parts {
public:
    parts(std::uint64_t count, int ranks, std::uint64_t each)
    {
        auto const p = static_cast<std::uint64_t>(ranks);
        auto const begin = [&](std::uint64_t i) { return (count / p * i + count % p * i / p) * each; };
        for (std::uint64_t i = 0; i < p; ++i) {
            offsets_.push_back(begin(i));
            sizes_.push_back(begin(i + 1) - begin(i));
        }
    }
    [[nodiscard]] layout_of_blocks layout() const noexcept { return {sizes_, offsets_}; }

private:
    std::vector<std::uint64_t> sizes_, offsets_;
};

/// This rank's part of the result.
[[nodiscard]] std::byte* own_part(schedule& s, position here, void const* own, std::uint64_t count, combination const& r)
{
    parts const elements(count, here.size, 1);
    std::byte* const part = s.scratch(elements.layout().size(here.rank) * r.element);
    reduce_scatter_direct(s, here, own, part, elements.layout(), r);
    return part;
}

/// Of what ranks `last` and below contribute, and is received from all but this one.
void prefix(schedule& s, position here, void const* send, void* receive, std::uint64_t count, combination const& r, int last)
{
    if (count == 0)
        return;
    std::uint64_t const bytes = count * r.element;
    void const* own = send == in_place ? receive : send;
    if (own == receive) {
        // The result grows there.
        std::byte* const copy = s.scratch(bytes);
        s.copy(copy, own, bytes);
        own = copy;
    }
    for (int to = here.rank + 1; to < here.size; ++to)
        s.send(to, own, bytes);
    if (last == here.rank)
        s.copy(receive, own, bytes);
    if (here.rank == 0)
        return s.wait();
    // The nearest is the first to be combined.
    std::byte* const landing = s.scratch(bytes);
    for (int from = here.rank - 1; from >= 0; --from) {
        s.receive(from, landing, bytes);
        s.wait();
        if (from == last)
            s.copy(receive, landing, bytes);
        else
            s.combine(r, landing, static_cast<std::byte*>(receive), count);
    }
}

} // namespace

void reduce_direct(schedule& s, position here, void const* send, void* receive, std::uint64_t count, combination const& r, int root)
{
    if (count == 0)
        return;
    std::byte* const part = own_part(s, here, send == in_place ? receive : send, count, r);
    parts const blocks(count, here.size, r.element);
    gather_linear(s, here, part, blocks.layout().size(here.rank), receive, blocks.layout(), root);
}

void allreduce_direct(schedule& s, position here, void const* send, void* receive, std::uint64_t count, combination const& r)
{
    if (count == 0)
        return;
    std::byte* const part = own_part(s, here, send == in_place ? receive : send, count, r);
    parts const blocks(count, here.size, r.element);
    allgather_ring(s, here, part, receive, blocks.layout());
}

void scan_direct(schedule& s, position here, void const* send, void* receive, std::uint64_t count, combination const& r)
{
    prefix(s, here, send, receive, count, r, here.rank);
}

void exscan_direct(schedule& s, position here, void const* send, void* receive, std::uint64_t count, combination const& r)
{
    prefix(s, here, send, receive, count, r, here.rank - 1);
}

} // namespace towline::collective::algorithms
