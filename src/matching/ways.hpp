#pragma once
// Which way messages take: the one that costs this program the least time on this machine. A contest tries the ways in turn on a few
// messages and compares the time from one message to the next. That includes what the program pays afterwards: its next write to a buffer
// whose cache lines the receiver owns.

#include "job/ways.hpp"
#include "matching/thresholds.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace towline::matching {

enum class send_way : std::uint8_t {
    direct,      ///< the receiver reads the sender's memory, also data with gaps; or the bytes go through the ring
    relay,       ///< through a relay block, in the caches (relay.hpp)
    relay_past,  ///< the same, with stores past the caches
};
inline constexpr unsigned send_ways = 3;
static_assert(send_ways == job::message_ways.size());
/// As TOWLINE_WAY has it.
[[nodiscard]] constexpr std::string_view name_of(send_way w) noexcept
{
    return job::message_ways[static_cast<std::size_t>(w)];
}

/// The ways of one kind of message to one peer. Not thread-safe.
///
/// A trial has three rounds; in a round each way is taken for five messages. The first two do not count: they pay for the way before, and
/// for memory that is touched the first time. The cost of a way is its least time, as disturbances only add to it. The third round leaves
/// out a way that costs 1.5 times the best of two rounds. The way in use stays unless another is 5 % better. The result holds for 512
/// messages, and for 4096 if a trial confirmed it; then up to 45 messages are tried again. (Hosts move virtual cores: the best way of now
/// is not the best half a second later.)
class way_contest {
public:
    /// At the beginning of each message: the way that it takes. `now` is called in trials only; ticks of any clock.
    /// Only the first `ways` are taken.
    template <class Now>
    [[nodiscard]] send_way choose(Now&& now, unsigned ways = send_ways)
    {
        if (left_ != 0) [[likely]] {
            --left_;
            return static_cast<send_way>(best_);
        }
        if (at_ == 0 && trying_ == 0 && round_ == 0)
            cost_.fill(none);
        if (at_ == uncounted)
            began_ = now();
        if (at_ == messages) {
            std::uint64_t const took = now() - began_;
            cost_[trying_] = took < cost_[trying_] ? took : cost_[trying_];
            at_ = 0;
            if (!next(ways)) {
                settle();
                return static_cast<send_way>(best_);
            }
        }
        ++at_;
        return static_cast<send_way>(trying_);
    }
    [[nodiscard]] send_way best() const noexcept { return static_cast<send_way>(best_); }
    /// Ticks of a message that goes that way, as far as the last trial found out; 0: not at all.
    [[nodiscard]] std::uint64_t cost(send_way w) const noexcept
    {
        std::uint64_t const c = cost_[static_cast<std::size_t>(w)];
        return c == none ? 0 : c / (messages - uncounted);
    }
    /// Trials that have ended.
    [[nodiscard]] std::uint32_t trials() const noexcept { return trials_; }
    /// A trial has ended once.
    [[nodiscard]] bool is_settled() const noexcept { return trials_ != 0; }

    static constexpr std::uint32_t first_hold = 512, later_hold = 4096;

private:
    static constexpr std::uint8_t messages = 5, uncounted = 2, rounds = 3;

    /// The way that is tried next; false: the trial is over.
    [[nodiscard]] bool next(unsigned ways) noexcept
    {
        std::uint64_t least = ~std::uint64_t{0};
        for (std::uint64_t const c : cost_)
            least = c < least ? c : least;
        do {
            if (++trying_ == ways) {
                trying_ = 0;
                if (++round_ == rounds)
                    return false;
            }
        } while (round_ == rounds - 1 && cost_[trying_] / 3 > least / 2);
        return true;
    }
    void settle() noexcept
    {
        std::uint8_t found = best_;
        for (std::uint8_t w = 0; w < send_ways; ++w)
            if (cost_[w] < cost_[found])
                found = w;
        bool const is_better = cost_[found] * 20 < cost_[best_] * 19;
        holds_ = trials_++ == 0 || is_better ? first_hold : later_hold;
        best_ = is_better ? found : best_;
        left_ = holds_;
        trying_ = round_ = 0;
    }

    static constexpr std::uint64_t none = ~std::uint64_t{0};
    std::array<std::uint64_t, send_ways> cost_{none, none, none};  ///< ticks of a turn, the least so far
    std::uint64_t began_ = 0;
    std::uint32_t left_ = 0;   ///< messages for which the result holds still
    std::uint32_t holds_ = 0;
    std::uint32_t trials_ = 0;
    std::uint8_t at_ = 0, trying_ = 0, round_ = 0, best_ = 0;
};

/// Whether messages of one size class are left alone by the program, so that not each needs to be looked at. Not thread-safe.
class calm {
public:
    /// This message is taken as one that was left alone.
    [[nodiscard]] bool skips() noexcept { return left_ != 0 && left_-- != 0; }
    /// What a look has found.
    void saw(bool rewritten) noexcept
    {
        same_ = rewritten ? 0 : same_ < thresholds::relay_calm_after ? same_ + 1 : same_;
        left_ = same_ < thresholds::relay_calm_after ? 0 : thresholds::relay_calm_skips;
    }

private:
    std::uint8_t same_ = 0;  ///< looks in a row that found nothing rewritten
    std::uint8_t left_ = 0;  ///< messages that are not looked at
};

/// The contests towards one peer.
struct way_table {
    static constexpr unsigned first_size = 11, sizes = 10;  ///< powers of two, from 2 KiB to 1 MiB

    /// Of messages of 1025 to 2^20 bytes. `is_plain`: the receiver cannot load them. `is_rewritten`: they have changed since they were sent
    /// last.
    [[nodiscard]] way_contest& of(std::uint64_t bytes, bool is_plain, bool is_rewritten) noexcept
    {
        return contests[class_of(bytes)][is_plain][is_rewritten];
    }
    /// Of messages from the heap.
    [[nodiscard]] calm& calm_of(std::uint64_t bytes) noexcept { return calms[class_of(bytes)]; }

    way_contest contests[sizes][2][2];
    calm calms[sizes];

private:
    [[nodiscard]] static unsigned class_of(std::uint64_t bytes) noexcept
    {
        return static_cast<unsigned>(std::bit_width(bytes - 1)) - first_size;
    }
};

/// The contests of messages with gaps, towards one peer, by what their layouts mean. A layout replaces an earlier one of the same place.
struct laid_way_table {
    [[nodiscard]] way_contest& of(std::uint64_t meaning, bool is_rewritten) noexcept
    {
        place& p = places[meaning % places.size()];
        if (p.meaning != meaning)
            p = {meaning, {}};
        return p.contests[is_rewritten];
    }
    struct place {
        std::uint64_t meaning = 0;
        std::array<way_contest, 2> contests{};
    };
    std::array<place, 16> places{};
};

} // namespace towline::matching
