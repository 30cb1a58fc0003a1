// Allgather by messages.

#include "collective/messages/algorithms.hpp"
#include "collective/messages/tree.hpp"

#include <algorithm>

namespace towline::collective::algorithms {

namespace {

/// What this rank gives: it goes out from where the program has it, since lines that were just written are slow to read for another
/// processor, and comes to its place in the result while the first message is under way.
class own_block {
public:
    own_block(void const* send, std::byte* place, std::uint64_t bytes) noexcept : send_(send), place_(place), bytes_(bytes) {}
    [[nodiscard]] void const* where() const noexcept { return send_ == in_place ? place_ : send_; }
    /// Copies it, the first time.
    void settle(schedule& s)
    {
        if (send_ != in_place)
            s.copy(place_, send_, bytes_);
        send_ = in_place;
    }

private:
    void const* send_;
    std::byte* place_;
    std::uint64_t bytes_;
};

} // namespace

void allgather_doubling(schedule& s, position here, void const* send, void* receive, std::uint64_t bytes)
{
    if (bytes == 0)
        return;
    auto* const all = static_cast<std::byte*>(receive);
    auto const at = [&](int rank) { return all + static_cast<std::uint64_t>(rank) * bytes; };
    own_block own{send, at(here.rank), bytes};
    for (int distance = 1; distance < here.size; distance *= 2) {
        int const partner = here.rank ^ distance;
        std::uint64_t const size = static_cast<std::uint64_t>(distance) * bytes;
        s.receive(partner, at(partner & -distance), size);
        s.send(partner, distance == 1 ? own.where() : at(here.rank & -distance), size);
        own.settle(s);
        s.wait();
    }
    own.settle(s);
}

void allgather_bruck(schedule& s, position here, void const* send, void* receive, layout_of_blocks const& blocks)
{
    // Scratch holds the blocks of this rank and those after it, in this order. `begin(n)`: of the n-th.
    std::vector<std::uint64_t> begin(static_cast<std::size_t>(here.size) + 1);
    for (int i = 0; i < here.size; ++i)
        begin[static_cast<std::size_t>(i) + 1] = begin[static_cast<std::size_t>(i)] + blocks.size(here.around(i));
    std::byte* const all = s.scratch(begin.back());
    s.copy(all, send == in_place ? blocks.at(receive, here.rank) : send, blocks.size(here.rank));
    for (int distance = 1; distance < here.size; distance *= 2) {
        int const count = std::min(distance, here.size - distance);
        std::uint64_t const at = begin[static_cast<std::size_t>(distance)];
        s.receive_any(here.around(distance), all + at, begin[static_cast<std::size_t>(distance + count)] - at);
        s.send_any(here.around(-distance), all, begin[static_cast<std::size_t>(count)]);
        s.wait();
    }
    for (int i = send == in_place ? 1 : 0; i < here.size; ++i) {
        int const rank = here.around(i);
        s.copy(blocks.at(receive, rank), all + begin[static_cast<std::size_t>(i)], blocks.size(rank));
    }
}

void allgather_ring(schedule& s, position here, void const* send, void* receive, layout_of_blocks const& blocks)
{
    own_block own{send, blocks.at(receive, here.rank), blocks.size(here.rank)};
    for (int i = 0; i + 1 < here.size; ++i) {
        int const out = here.around(-i);
        int const in = here.around(-i - 1);
        s.receive_any(here.around(-1), blocks.at(receive, in), blocks.size(in));
        s.send_any(here.around(1), i == 0 ? own.where() : blocks.at(receive, out), blocks.size(out));
        own.settle(s);
        s.wait();
    }
    own.settle(s);
}

} // namespace towline::collective::algorithms
