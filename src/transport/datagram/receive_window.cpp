#include "transport/datagram/receive_window.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace towline::transport::datagram {

using wire::distance;

receive_window::verdict receive_window::arrive(std::uint32_t number) noexcept
{
    std::int32_t const ahead = distance(expected_, number);
    if (ahead < 0)
        return verdict::duplicate;
    if (ahead == 0) {
        ++expected_;
        if (distance(beyond_, expected_) > 0)
            beyond_ = expected_;
        return verdict::next;
    }
    if (ahead >= static_cast<std::int32_t>(receive_span))
        return verdict::refused;
    try {
        if (ring_.empty())
            ring_.resize(receive_span);
    } catch (std::bad_alloc const&) {
        return verdict::refused;
    }
    return ring_[number % receive_span].arrived ? verdict::duplicate : verdict::early;
}

bool receive_window::hold(std::uint32_t number, std::span<std::byte const> payload) noexcept
{
    if (payload.size() > pool_.block_bytes())
        return false;
    try {
        std::byte* const block = pool_.take();
        if (!payload.empty())
            std::memcpy(block, payload.data(), payload.size());
        keep(number, {true, block, static_cast<std::uint32_t>(payload.size())});
    } catch (std::bad_alloc const&) {
        return false;
    }
    return true;
}

void receive_window::note_early(std::uint32_t number, std::size_t bytes) noexcept
{
    keep(number, {true, nullptr, static_cast<std::uint32_t>(bytes)});
}

void receive_window::keep(std::uint32_t number, held_packet p) noexcept
{
    ring_[number % receive_span] = p;
    ++held_;
    if (distance(beyond_, number + 1) > 0)
        beyond_ = number + 1;
}

receive_window::held_packet receive_window::take_held() noexcept
{
    if (held_ == 0)
        return {};
    held_packet const p = std::exchange(ring_[expected_ % receive_span], {});
    if (p.arrived) {
        ++expected_;
        --held_;
    }
    return p;
}

std::size_t receive_window::write_bitmap(std::span<std::uint64_t> words) const noexcept
{
    if (held_ == 0)
        return 0;
    std::size_t const bits = std::min<std::size_t>(static_cast<std::size_t>(distance(expected_ + 1, beyond_)), words.size() * 64);
    std::size_t const used = (bits + 63) / 64;
    std::fill_n(words.begin(), used, 0);
    for (std::size_t i = 0; i < bits; ++i) {
        if (ring_[(expected_ + 1 + i) % receive_span].arrived)
            words[i / 64] |= std::uint64_t{1} << i % 64;
    }
    return used;
}

void receive_window::drop() noexcept
{
    if (held_ != 0) {
        for (held_packet& p : ring_) {
            if (p.block != nullptr)
                pool_.give(p.block);
            p = {};
        }
    }
    held_ = 0;
    beyond_ = expected_;
}

} // namespace towline::transport::datagram
