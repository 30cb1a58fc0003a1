#include "collective/lanes/lane_tables.hpp"

#include <cstring>

namespace towline::collective {

lane_entry lane_table::entry(std::uint64_t i) const noexcept
{
    lane_entry e;
    std::memcpy(&e, at_ + i * sizeof e, sizeof e);
    return e;
}

std::optional<lane_entry> lane_table::find(int rank, std::uint64_t nth) const noexcept
{
    std::uint64_t first = 0;
    for (std::uint64_t last = entries_; first < last;) {
        std::uint64_t const middle = first + (last - first) / 2;
        if (entry(middle).rank < rank)
            first = middle + 1;
        else
            last = middle;
    }
    if (nth >= entries_ - first)
        return std::nullopt;
    lane_entry const found = entry(first + nth);
    return found.rank == rank ? std::optional(found) : std::nullopt;
}

std::byte const* lane_table::copy_of(lane_entry const& e) const noexcept
{
    bool const is_inside = e.where >= entries_ * sizeof(lane_entry) && e.where <= room_ && e.bytes <= room_ - e.where;
    return is_inside ? at_ + e.where : nullptr;
}

} // namespace towline::collective
