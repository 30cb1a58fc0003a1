// What a lane_builder records to lend buffers, and to finish.

#include "collective/lanes/lane_builder.hpp"

#include <algorithm>

namespace towline::collective {

std::uint64_t lane_builder::piece_room(combination const& r) noexcept
{
    return std::max(thresholds::piece, r.element);
}

void lane_builder::lend(void const* send, std::uint64_t send_bytes, void* receive, std::uint64_t receive_bytes, int whom, unread_part unread)
{
    bool const same = send != nullptr && send == receive && send_bytes == receive_bytes;
    receive_ = in_place_of_it_ = receive;
    receive_bytes_ = receive_bytes;
    if (receive_bytes != 0 && l_.memory().find(receive, receive_bytes) == 0)
        in_place_of_it_ = s_.shared_scratch(receive_bytes);
    if (receive_bytes != 0 && in_place_of_it_ == nullptr)
        return retreat();
    void const* lent = same ? in_place_of_it_ : send;
    if (send_bytes != 0 && l_.memory().find(lent, send_bytes) == 0)
        lent = s_.shared_scratch(send_bytes);
    if (send_bytes != 0 && lent == nullptr)
        return retreat();
    if (lent != send) {
        auto* const to = const_cast<std::byte*>(static_cast<std::byte const*>(lent));
        std::uint64_t const rest = unread.offset + unread.size;
        copy(to, send, unread.offset);
        copy(to + rest, static_cast<std::byte const*>(send) + rest, send_bytes - rest);
    }
    lane_step& s = s_.over_lanes(kind::lend, 1, whom);
    s.from = lent;
    s.to = in_place_of_it_;
    s.offset = lent != send ? 1 : 0;
    s.size = send_bytes;
    s.expected = receive_bytes;
}

void lane_builder::retreat()
{
    in_place_of_it_ = receive_;
    (void)s_.over_lanes(kind::retreat, 1, all_ranks);
}

void lane_builder::bring_home(unread_part there)
{
    if (receive_bytes_ == 0)
        return;
    auto* const to = static_cast<std::byte*>(receive_);
    std::uint64_t const rest = there.offset + there.size;
    copy(to, landing(), there.offset, size() == 2);
    copy(to + rest, landing() + rest, receive_bytes_ - rest, size() == 2);
}

void lane_builder::finish(unread_part there)
{
    mark(2);
    meet_all(2);
    bring_home(there);
}

void lane_builder::finish_written(std::uint64_t bytes, unread_part there)
{
    mark(2);
    for (int r = 0; r < size(); ++r)
        if (r != rank())
            stay(r, bytes);
    bring_home(there);
}

} // namespace towline::collective
