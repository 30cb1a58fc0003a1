#include "collective/lanes/lane_fold.hpp"

#include "collective/schedule.hpp"

#include <span>

namespace towline::collective {

lane_fold::lane_fold(lane_offers& all, int last, std::uint64_t offset, std::uint64_t size, std::uint64_t expected, combination const& how,
                     void const* own)
    : how_(how)
{
    for (int rank = 0; rank <= last; ++rank) {
        if (rank == all.rank() && own != nullptr)
            sources_.push_back({static_cast<std::byte const*>(own), false});
        else
            sources_.push_back(all.find_readable(rank, offset, size, expected));
    }
}

void lane_fold::combine(std::byte* to, std::uint64_t at, std::uint64_t bytes) const
{
    std::uint64_t const count = bytes / how_.element;
    std::span<lane_offers::readable const> rest = sources_;
    auto const next = [&rest] {
        lane_offers::readable const r = rest.back();
        rest = rest.first(rest.size() - 1);
        return r;
    };
    lane_offers::readable const last = next();
    if (how_.join != nullptr && !rest.empty()) {
        lane_offers::readable const before = next();
        how_.join(before.at + at, last.at + at, to, count, how_.context);
        before.has_read(at, bytes);
        last.has_read(at, bytes);
    } else {
        last.copy_to(to, at, bytes);
    }
    while (!rest.empty()) {
        lane_offers::readable const in = next();
        how_.apply(in.at + at, to, count, how_.context);
        in.has_read(at, bytes);
    }
}

} // namespace towline::collective
