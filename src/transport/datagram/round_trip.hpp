#pragma once
// Round-trip times of a peer: smoothed mean and deviation (RFC 9002, 5.3), kept in 8 bytes while the peer is idle.

#include "transport/datagram/config.hpp"

#include <algorithm>

namespace towline::transport::datagram {

class round_trip {
public:
    void sample(std::int64_t ns) noexcept
    {
        auto const taken = static_cast<std::uint32_t>(std::clamp<std::int64_t>(ns, 1, most));
        if (mean_ == 0) {
            mean_ = taken;
            deviation_ = taken / 2;
            return;
        }
        std::uint32_t const off = mean_ > taken ? mean_ - taken : taken - mean_;
        deviation_ = static_cast<std::uint32_t>((std::uint64_t{3} * deviation_ + off) / 4);
        mean_ = static_cast<std::uint32_t>((std::uint64_t{7} * mean_ + taken) / 8);
    }

    [[nodiscard]] std::int64_t mean(config const& c) const noexcept { return mean_ == 0 ? c.first_round_trip : mean_; }
    /// When to ask whether a packet has arrived (6.2.1).
    [[nodiscard]] std::int64_t timeout(config const& c) const noexcept
    {
        std::int64_t const deviation = mean_ == 0 ? c.first_round_trip / 2 : deviation_;
        return mean(c) + std::max(4 * deviation, c.least_timeout) + c.ack_delay;
    }
    /// How much younger something that arrived must be than a packet that did not, for that to be lost (6.1.2).
    [[nodiscard]] std::int64_t loss_delay(config const& c) const noexcept { return std::max(mean(c) * 9 / 8, c.least_loss_delay); }

private:
    static constexpr std::int64_t most = 4'000'000'000;
    std::uint32_t mean_ = 0;  ///< 0: none was measured
    std::uint32_t deviation_ = 0;
};

} // namespace towline::transport::datagram
