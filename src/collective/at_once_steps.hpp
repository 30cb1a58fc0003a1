#pragma once
// What blocking operations over lanes are made of that the calling thread does from beginning to end: what over_lanes.hpp writes as steps,
// as plain code, since building and reading steps takes as long as a small operation. Slots tell the same in both ways, so that other ranks
// may do the same operation by steps.

#include "collective/lane_offers.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace towline::collective {

/// This rank may begin one in which ranks offer up to so many bytes at once: nothing else of these lanes is under way here, and its slot is
/// free.
[[nodiscard]] inline bool at_once_may_begin(lanes& l, std::uint64_t most) noexcept
{
    return l.are_shown(most) && l.is_turn_of(l.begun() + 1) && l.may_write(l.begun() + 1, most > lanes::inline_bytes);
}

/// Operations that nobody had to wait for make no progress: then every so many do, so that a program of nothing else has some, too.
inline constexpr std::uint64_t progress_every = 32;

/// One operation. A `Wait` blocks: wait(is_met, rank) returns when is_met() is true, for which `rank` is to do something; what it throws
/// ends the call, and the lanes with it.
class at_once_steps {
public:
    using state = lane_run::state;

protected:
    template <class Wait>
    at_once_steps(lanes& l, bool crowded, Wait const& wait) noexcept
        : lanes_(l), number_(l.begin()), offers_(l, number_), meets_all_(looks_around(l.size(), crowded)),
          looks_(crowded ? looks_crowded : looks), waits_(&wait),
          wait_([](void const* self, bool (*is_met)(void*), void* context, int rank) {
              (*static_cast<Wait const*>(self))([=] { return is_met(context); }, rank);
          })
    {
    }
    at_once_steps(at_once_steps const&) = delete;
    at_once_steps& operator=(at_once_steps const&) = delete;
    ~at_once_steps() = default;

    /// Looks at a slot before it waits: the others are about to come, most of the time, where they have cores.
    static constexpr int looks = 200, looks_crowded = 1;
    /// Looks for a stage between two looks for the dead.
    static constexpr std::uint32_t looks_at_dead = 256;

    template <class Part>
    [[nodiscard]] state run(Part&& part)
    {
        state const ending = attempt(part);
        lanes_.finish(number_);
        return ending;
    }
    /// One in which whoever reads what others lent tells them.
    template <class Part>
    [[nodiscard]] state run_quietly(Part&& part)
    {
        state const ending = attempt(part);
        lanes_.finish_quietly(number_);
        return ending;
    }

    [[nodiscard]] static std::byte* block(void* all, int rank, std::uint64_t bytes) noexcept
    {
        return static_cast<std::byte*>(all) + bytes * static_cast<std::uint64_t>(rank);
    }
    static void copy(void* to, void const* from, std::uint64_t bytes) noexcept
    {
        if (to == from)  // others may be reading it
            return;
        if (bytes == 8)
            std::memmove(to, from, 8);
        else if (bytes <= lanes::inline_bytes)
            std::memmove(to, from, bytes);
        else
            move_bytes(to, from, bytes);
    }

    /// Offers a copy.
    void post(void const* data, std::uint64_t bytes, int whom, int stage) noexcept
    {
        if (bytes > lanes::inline_bytes)
            return offers_.post(data, bytes, stage, whom);
        lanes::slot& mine = lanes_.mine(number_);
        copy(mine.contents(), data, bytes);
        mine.set(lanes::offer::in_slot, bytes);
        lanes_.publish(number_, stage, whom);
        lanes_.count_posted(bytes);
    }
    // These three as in lane_builder.
    void show(void const* data, std::uint64_t bytes, std::uint64_t most, int whom = all_ranks, bool keeps = true)
    {
        std::uint64_t const place = bytes != 0 && keeps && !lanes_.are_posted(most, one_way_) ? lanes_.memory().find(data, bytes) : 0;
        if (place == 0)
            return post(data, bytes, whom, 1);
        is_lent_ = true;
        offers_.lend(place, bytes, 0, 0, 1, whom);
    }
    void has_read(std::uint64_t most, int whom = all_ranks)
    {
        if (lanes_.are_posted(most, one_way_))
            return;
        lanes_.end_use(number_);
        lanes_.publish(number_, 2, whom);
    }
    void stays(int reader = all_ranks)
    {
        if (!is_lent_)
            return;
        for (int r = 0; r < lanes_.size(); ++r)
            if (r != lanes_.rank() && (reader == all_ranks || r == reader))
                meet(r, 2);
    }

    void meet(int rank, int stage)
    {
        await(rank, [=, this] { return lanes_.has_reached(rank, number_, stage); });
    }
    /// Until `rank` uses nothing of this rank's any more; fails if it failed.
    void stay(int rank)
    {
        await(rank, [=, this] { return lanes_.has_left(rank, number_); });
        if (!lanes_.has_reached(rank, number_, 3))
            return;
        if (auto const there = lanes_.of(rank, number_).offers(); there.what == lanes::offer::failed)
            throw lane_run::failure_of(there);
    }
    /// Until has_come(), which is up to `rank`; throws if that died instead.
    template <class HasCome>
    void await(int rank, HasCome has_come)
    {
        for (int i = 0; i < looks_; ++i)
            if (has_come()) [[likely]]
                return;
        wait_for(rank, has_come);
    }
    template <class HasCome>
    [[gnu::noinline]] void wait_for(int rank, HasCome has_come)
    {
        std::uint32_t idle = 0;
        bool is_dead = false;
        auto is_met = [&] {
            if (has_come())
                return true;
            // What it stored before it died is seen when its death is.
            is_dead = is_dead || (++idle % looks_at_dead == 0 && lanes_.is_gone(rank) && !has_come());
            return is_dead;
        };
        wait_(waits_, [](void* met) { return (*static_cast<decltype(is_met)*>(met))(); }, &is_met, rank);
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

    [[nodiscard]] bool is_in_slot(int rank, std::uint64_t all) noexcept
    {
        return lanes_.of(rank, number_).offers() == lanes::slot::terms{lanes::offer::in_slot, all};
    }
    void bring(int rank, void* to, std::uint64_t offset, std::uint64_t bytes, std::uint64_t all)
    {
        if (is_in_slot(rank, all)) [[likely]]
            copy(to, lanes_.of(rank, number_).contents() + offset, bytes);
        else
            bring_shown(rank, to, offset, bytes, all);
    }
    void bring_shown(int rank, void* to, std::uint64_t offset, std::uint64_t bytes, std::uint64_t all)
    {
        offers_.bring(rank, to, offset, bytes, all);
        lanes_.end_use(number_);
    }
    void bring_block(int rank, std::uint64_t nth, void* to, std::uint64_t bytes)
    {
        offers_.bring_block(rank, nth, to, bytes);
        lanes_.end_use(number_);
    }
    /// Their blocks, as they come: each rank begins with another.
    void from_others(void* receive, std::uint64_t bytes, std::uint64_t offset, std::uint64_t all)
    {
        for (int i = 1; i < lanes_.size(); ++i) {
            int const r = (lanes_.rank() + i) % lanes_.size();
            meet(r, 1);
            bring(r, block(receive, r, bytes), offset, bytes, all);
        }
    }

    /// Over the ranks 0 to `last`, in the order of over_lanes.hpp. `own` is this rank's part of what they offer. Then it `has_read`.
    template <class Combine>
    void fold(int last, void const* own, void* receive, std::uint64_t offset, std::uint64_t bytes, std::uint64_t all, Combine& combine)
    {
        auto const with = [&](int rank, auto&& use) {
            if (rank == lanes_.rank() && own != receive)
                use(own);
            else if (is_in_slot(rank, all)) [[likely]]
                use(lanes_.of(rank, number_).contents() + offset);
            else
                offers_.look_at(rank, offset, bytes, all, use);
        };
        if (last == 0)
            return with(0, [&](void const* only) { copy(receive, only, bytes); });
        with(last, [&](void const* other) { with(last - 1, [&](void const* in) { combine(in, other, receive); }); });
        for (int rank = last - 2; rank >= 0; --rank)
            with(rank, [&](void const* in) { combine(in, receive, receive); });
    }

    lanes& lanes_;
    std::uint64_t const number_;
    lane_offers offers_;
    bool const meets_all_;
    int const looks_;
    bool one_way_ = false;  ///< as of lanes::are_posted
    bool is_lent_ = false;

private:
    template <class Part>
    [[nodiscard]] state attempt(Part&& part)
    {
        try {
            part();
        } catch (state why) {
            if (why == state::retreats)
                why = state::failed_mismatch;  // others lend more than is shown
            take_back(why);
            return why;
        }
        return state::ended;
    }
    /// Tells that this rank has failed, and stays until nobody is in the middle of using what it lent.
    [[gnu::noinline]] void take_back(state why)
    {
        lanes_.end_use(number_);
        lanes_.fail(number_, static_cast<std::uint64_t>(why));
        for (int r = 0; r < lanes_.size(); ++r) {
            try {
                if (r != lanes_.rank())
                    await(r, [=, this] { return !lanes_.is_used_by(r, number_); });
            } catch (state) {
                // It died.
            }
        }
    }

    void const* waits_;
    void (*wait_)(void const* waits, bool (*is_met)(void*), void* context, int rank);
};

} // namespace towline::collective
