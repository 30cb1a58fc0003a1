#include "collective/lane_offers.hpp"

#include "base/prefetch.hpp"

#include <towline/error.hpp>

#include <algorithm>
#include <cstring>

namespace towline::collective {

using state = lane_run::state;

void move_bytes(void* to, void const* from, std::uint64_t bytes) noexcept
{
    if (bytes >= 4096)
        base::copy_block(to, from, bytes);
    else if (bytes != 0)
        std::memcpy(to, from, bytes);
}

void lane_offers::post(void const* data, std::uint64_t bytes, int stage, int whom) noexcept
{
    bool const fits = bytes <= lanes::inline_bytes;
    lanes::slot& mine = lanes_.mine(number_);
    move_bytes(fits ? mine.line() : lanes_.my_payload(number_), data, bytes);
    lanes_.count_posted(bytes);
    mine.set(fits ? lanes::offer::in_line : lanes::offer::behind, bytes);
    lanes_.publish(number_, stage, whom);
    constexpr std::uint64_t line = 64, most = 8 * line;
    for (std::uint64_t at = 0; !fits && at < std::min(bytes, most); at += line)
        base::prefetch_to_write(lanes_.my_payload(number_ + 1) + at);
}

void lane_offers::lend(std::uint64_t send, std::uint64_t send_bytes, std::uint64_t receive, std::uint64_t receive_bytes, int stage,
                       int whom) noexcept
{
    lanes::slot& mine = lanes_.mine(number_);
    mine.send = send;
    mine.receive = receive;
    mine.receive_size = receive_bytes;
    mine.set(lanes::offer::lent, send_bytes);
    lanes_.publish(number_, stage, whom);
}

bool lane_offers::has_one_reader(int rank) const noexcept
{
    return lanes_.size() == 2 && rank != lanes_.rank() && lanes_.of(rank, number_).offers().what == lanes::offer::lent;
}

std::byte* lane_offers::reach(std::uint64_t word, std::uint64_t bytes)
{
    try {
        return lanes_.memory().attach(word, bytes);
    } catch (error const&) {
        throw state::failed_lost;
    }
}

std::byte const* lane_offers::source(int rank, std::uint64_t offset, std::uint64_t size, std::uint64_t expected)
{
    lanes::slot& s = lanes_.of(rank, number_);
    auto const there = s.offers();
    if (there.what == lanes::offer::failed)
        throw lane_run::failure_of(there);
    if (there.bytes != expected || offset > expected || size > expected - offset)
        throw state::failed_mismatch;
    switch (there.what) {
    case lanes::offer::in_line: return s.line() + offset;
    case lanes::offer::behind: return lanes_.payload_of(rank, number_) + offset;
    case lanes::offer::lent:
        if (rank != lanes_.rank())
            lanes_.count_moved(size);
        return reach(s.send + offset, size);
    default: throw state::failed_mismatch;
    }
}

std::byte* lane_offers::target(int rank, std::uint64_t offset, std::uint64_t size)
{
    lanes::slot const& s = lanes_.of(rank, number_);
    auto const there = s.offers();
    if (there.what == lanes::offer::failed)
        throw lane_run::failure_of(there);
    if (there.what != lanes::offer::lent || s.receive == 0 || offset > s.receive_size || size > s.receive_size - offset)
        throw state::failed_mismatch;
    if (rank != lanes_.rank())
        lanes_.count_moved(size);
    return reach(s.receive + offset, size);
}

void lane_offers::bring(int rank, void* to, std::uint64_t offset, std::uint64_t size, std::uint64_t expected)
{
    std::byte const* const from = source(rank, offset, size, expected);
    if (has_one_reader(rank) && base::is_rewritten(from, size))
        base::copy_taking(to, from, size);
    else
        move_bytes(to, from, size);
}

} // namespace towline::collective
