// Statistics of the extents, and the check of their invariants.

#include "heap/extents.hpp"

#include <algorithm>

namespace towline::heap {

std::size_t extents::in_use() const noexcept
{
    std::lock_guard const guard(mutex_);
    std::uint32_t const waiting = parked();  // a snapshot, as the sum
    return std::size_t{used_ - std::min(used_, waiting)} * granule;
}

std::size_t extents::warm() const noexcept
{
    std::lock_guard const guard(mutex_);
    return std::size_t{warm_ + parked()} * granule;
}

char const* extents::check() const
{
    std::lock_guard const guard(mutex_);
    std::uint32_t warm = 0;
    std::uint32_t used = 0;
    std::uint32_t none = 0;
    std::uint32_t free_extents = 0;
    state was = state::none;
    for (std::uint32_t at = 0; at < count_; at += table_[at].size()) {
        entry const& e = table_[at];
        if (e.size() == 0 || e.size() > count_ - at)
            return "an extent has an impossible size";
        if (table_[at + e.size() - 1].back != e.size())
            return "an extent's end does not know its size";
        bool const is_free = e.what() == kind::free;
        if (is_free && was == e.is())
            return "free neighbours were not joined";
        if (is_free)
            ++free_extents;
        else
            used += e.size();
        if (e.what() == kind::none)
            none += e.size();
        if (is_free && e.warm())
            warm += e.size();
        std::uint32_t const readable = std::min(at + e.size(), reached_.load(std::memory_order_relaxed));
        for (std::uint32_t i = at + 1; i < readable; ++i)
            if (table_[i].what() != (e.what() == kind::region ? kind::region : kind::none))
                return "a granule inside an extent claims to be another";
        was = e.is();
    }
    if (warm != warm_ || used != used_ || none != parked())
        return "the sums are wrong";
    std::uint32_t listed = 0;
    for (bin_set const& set_of : free_bins_)
        for (unsigned bin = 0; bin < bins; ++bin) {
            bool const bit = (set_of.map[bin / 64] >> (bin % 64) & 1) != 0;
            if (bit != (set_of.first[bin] != 0) || (bit && (set_of.any >> (bin / 64) & 1) == 0))
                return "a bin's bit is wrong";
            std::uint32_t previous = nil;
            for (std::uint32_t at = set_of.first[bin] - 1; at != nil; at = table_[at].next) {
                if (table_[at].what() != kind::free || bin_of(table_[at].size()) != bin || table_[at].previous != previous ||
                    &bins_of(table_[at].is()) != &set_of)
                    return "a bin lists a wrong extent";
                previous = at;
                ++listed;
            }
        }
    return listed == free_extents ? nullptr : "a free extent is in no bin";
}

} // namespace towline::heap
