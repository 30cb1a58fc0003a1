#pragma once
// Blocking operations over lanes whose contributions fit their slots, done by the calling thread from beginning to end. They are what
// over_lanes.hpp writes as steps, as plain code: building and reading steps takes as long as such an operation. Slots tell the same in both
// ways, so that other ranks may do the same operation by steps.

#include "collective/lane_steps.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace towline::collective {

/// This rank may begin one of so many bytes at once: nothing else of these lanes is under way here, and its slot is free.
[[nodiscard]] inline bool at_once_may_begin(lanes& l, std::uint64_t bytes) noexcept
{
    return bytes <= lanes::inline_bytes && l.are_posted(bytes) && l.is_turn_of(l.begun() + 1) && l.may_write(l.begun() + 1, false);
}

/// One operation. `Wait` blocks: wait(is_met, rank) returns when is_met() is true, for which `rank` is to do something; what it throws ends
/// the call, and the lanes with it.
template <class Wait>
class at_once {
public:
    using state = lane_run::state;

    /// Begins; then one of the operations, once.
    at_once(lanes& l, bool crowded, Wait const& wait) noexcept
        : lanes_(l), wait_(wait), number_(l.begin()), meets_all_(looks_around(l.size(), crowded))
    {
    }

    [[nodiscard]] state barrier()
    {
        return run([this] {
            if (meets_all_) {
                lanes_.publish(number_, 1, all_ranks);
                meet_all();
            } else if (lanes_.rank() == 0) {
                meet_all();
                lanes_.publish(number_, 2, all_ranks);
            } else {
                lanes_.publish(number_, 1, 0);
                meet(0, 2);
            }
        });
    }

    [[nodiscard]] state bcast(void* data, std::uint64_t bytes, int root)
    {
        return run([=, this] {
            if (lanes_.rank() == root)
                return offer(data, bytes, all_ranks, 1);
            meet(root, 1);
            copy(data, offered_by(root, bytes), bytes);
        });
    }

    /// `combine(in, inout)` does one step of the reduction, of all `bytes`. `receive` may be `own`, and is looked at by the root only.
    template <class Combine>
    [[nodiscard]] state reduce(void const* own, void* receive, std::uint64_t bytes, Combine&& combine, int root)
    {
        return run([=, this, &combine] {
            offer(own, bytes, root, 1);
            if (lanes_.rank() == root)
                fold(own, receive, bytes, combine);
        });
    }

    template <class Combine>
    [[nodiscard]] state allreduce(void const* own, void* receive, std::uint64_t bytes, Combine&& combine)
    {
        return run([=, this, &combine] {
            offer(own, bytes, meets_all_ ? all_ranks : 0, 1);
            if (meets_all_ || lanes_.rank() == 0) {
                fold(own, receive, bytes, combine);
                if (!meets_all_)
                    offer(receive, bytes, all_ranks, 2);
            } else {
                meet(0, 2);
                copy(receive, offered_by(0, bytes), bytes);
            }
        });
    }

private:
    /// Looks at a slot before it waits: the others are about to come, most of the time.
    static constexpr int looks = 200;
    /// Looks for a stage between two looks for the dead.
    static constexpr std::uint32_t looks_at_dead = 256;

    template <class Part>
    [[nodiscard]] state run(Part&& part)
    {
        state ending = state::ended;
        try {
            part();
        } catch (state why) {
            ending = why;
            lanes_.fail(number_, static_cast<std::uint64_t>(why));
        }
        lanes_.finish(number_);
        return ending;
    }

    static void copy(void* to, void const* from, std::uint64_t bytes) noexcept
    {
        if (bytes == 8)
            std::memcpy(to, from, 8);
        else
            std::memcpy(to, from, bytes);
    }

    void offer(void const* data, std::uint64_t bytes, int whom, int stage) noexcept
    {
        lanes::slot& mine = lanes_.mine(number_);
        copy(mine.line(), data, bytes);
        mine.set(lanes::offer::in_line, bytes);
        lanes_.publish(number_, stage, whom);
        lanes_.count_posted(bytes);
    }

    void meet(int rank, int stage)
    {
        for (int i = 0; i < looks; ++i)
            if (lanes_.has_reached(rank, number_, stage)) [[likely]]
                return;
        wait_for(rank, stage);
    }
    [[gnu::noinline]] void wait_for(int rank, int stage)
    {
        std::uint32_t idle = 0;
        bool is_dead = false;
        wait_(
            [&] {
                if (lanes_.has_reached(rank, number_, stage))
                    return true;
                // What it stored before it died is seen when its death is.
                is_dead = is_dead || (++idle % looks_at_dead == 0 && lanes_.is_gone(rank) && !lanes_.has_reached(rank, number_, stage));
                return is_dead;
            },
            rank);
        if (is_dead)
            throw state::failed_dead;
    }
    void meet_all()
    {
        for (int r = 0; r < lanes_.size(); ++r)
            if (r != lanes_.rank())
                meet(r, 1);
        lanes_.all_are_at(number_);
    }

    [[nodiscard]] std::byte const* offered_by(int rank, std::uint64_t bytes)
    {
        lanes::slot& s = lanes_.of(rank, number_);
        auto const there = s.offers();
        if (there != lanes::slot::terms{lanes::offer::in_line, bytes}) [[unlikely]]
            throw lane_run::failure_of(there);
        return s.line();
    }

    /// In the order of over_lanes.hpp.
    template <class Combine>
    void fold(void const* own, void* receive, std::uint64_t bytes, Combine& combine)
    {
        meet_all();
        auto const contribution = [&](int rank) {
            return rank == lanes_.rank() && own != receive ? own : offered_by(rank, bytes);
        };
        int const last = lanes_.size() - 1;
        copy(receive, contribution(last), bytes);
        for (int rank = last - 1; rank >= 0; --rank)
            combine(contribution(rank), receive);
    }

    lanes& lanes_;
    Wait const& wait_;
    std::uint64_t const number_;
    bool const meets_all_;
};

} // namespace towline::collective
