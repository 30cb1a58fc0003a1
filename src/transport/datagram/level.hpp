#pragma once
// How many packets each sender may have on its way to this process, so that what the system keeps for it does not overflow when many send
// at the same time. What may wait here in all is what is drained in some milliseconds, by a moving average, and at most what the system
// keeps; those who have sent lately share it. Pure, not thread-safe.

#include "transport/datagram/config.hpp"

#include <algorithm>

namespace towline::transport::datagram {

class receive_level {
public:
    receive_level(config const& c, std::size_t receive_room) : config_(c),
        room_(static_cast<std::uint32_t>(std::min<std::size_t>(receive_room, 1U << 20))) {}

    /// A packet was taken. `seen` is kept with its sender, 0 at first.
    void note_packet(std::uint32_t& seen) noexcept
    {
        ++drained_;
        if (seen != round_) {
            seen = round_;
            ++active_now_;
        }
    }

    /// Nothing is left to take.
    void note_empty() noexcept { emptied_ = true; }

    /// Time has passed. Cheap.
    void tick(std::int64_t now) noexcept
    {
        if (now < next_)
            return;
        if (next_ != 0 && drained_ != 0) {
            // Periods without a packet say nothing of how fast this process is. A process that gets faster is believed sooner. Where
            // nothing was left to take, the senders or the way there were slower: they may have more on the way.
            double const rate = static_cast<double>(drained_) / static_cast<double>(now - next_ + period);
            if (rate > rate_)
                rate_ += (rate - rate_) / 2;
            else if (!emptied_)
                rate_ += (rate - rate_) / 8;
            else
                rate_ = std::min(rate_ * 1.5, static_cast<double>(room_) / static_cast<double>(config_.level_horizon));
        }
        drained_ = 0;
        emptied_ = false;
        next_ = now + period;
        if (now >= round_ends_) {
            // All senders are seen in the time in which a full buffer is drained.
            active_ = std::max(active_now_, active_ - (active_ + 3) / 4);
            active_now_ = 0;
            if (++round_ == 0)
                round_ = 1;
            double const drain = rate_ == 0 ? 0 : static_cast<double>(room_) / rate_;
            round_ends_ = now + static_cast<std::int64_t>(std::clamp(drain, static_cast<double>(period), 50.0 * period));
        }
    }

    /// For one sender among those.
    [[nodiscard]] std::uint16_t level() const noexcept
    {
        double const waits = rate_ * static_cast<double>(config_.level_horizon);
        auto const all = static_cast<std::uint32_t>(std::clamp(waits, 4.0 * config_.first_level, static_cast<double>(1U << 20)));
        std::uint32_t const share = std::min(all, room_) / std::max({active_, active_now_, 1U});
        return static_cast<std::uint16_t>(std::clamp(share, 2U, config_.most_in_flight));
    }

private:
    static constexpr std::int64_t period = 1'000'000;
    config const& config_;
    std::uint32_t room_;
    std::uint32_t drained_ = 0;
    bool emptied_ = false;           ///< in this period
    std::uint32_t active_now_ = 0;
    std::uint32_t active_ = 0;
    std::uint32_t round_ = 1;
    std::int64_t round_ends_ = 0;
    std::int64_t next_ = 0;
    double rate_ = 0;  ///< packets a nanosecond
};

} // namespace towline::transport::datagram
