#pragma once
// Blocking operations over lanes whose contributions are shown (over_lanes.hpp), done by the calling thread from beginning to end. They are
// what over_lanes.hpp writes as steps, as plain code: building and reading steps takes as long as such an operation. Slots tell the same in
// both ways, so that other ranks may do the same operation by steps.

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

/// One operation. `Wait` blocks: wait(is_met, rank) returns when is_met() is true, for which `rank` is to do something; what it throws ends
/// the call, and the lanes with it.
template <class Wait>
class at_once {
public:
    using state = lane_run::state;

    /// Begins; then one of the operations, once.
    at_once(lanes& l, bool crowded, Wait const& wait) noexcept
        : lanes_(l), wait_(wait), number_(l.begin()), offers_(l, number_), meets_all_(looks_around(l.size(), crowded))
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

    // As in over_lanes.hpp, but for `in_place`: there `send` is where the contribution is. `Combine` does one step of a reduction, of all
    // bytes that this rank combines: combine(in, other, out), as collective::reduction.

    [[nodiscard]] state bcast(void* data, std::uint64_t bytes, int root)
    {
        return run([=, this] {
            one_way_ = true;
            if (lanes_.rank() == root) {
                show(data, bytes, bytes);
                return stays();
            }
            meet(root, 1);
            bring(root, data, 0, bytes, bytes);
            has_read(bytes, root);
        });
    }

    /// `receive` is looked at by the root only.
    [[nodiscard]] state gather(void const* send, void* receive, std::uint64_t bytes, int root)
    {
        return run([=, this] {
            one_way_ = true;
            if (lanes_.rank() != root) {
                show(send, bytes, bytes, root);
                return stays(root);
            }
            copy(block(receive, root, bytes), send, bytes);
            from_others(receive, bytes, 0, bytes);
            has_read(bytes);
        });
    }

    /// `send` is looked at by the root only, whose `receive` may be its own block of it.
    [[nodiscard]] state scatter(void const* send, void* receive, std::uint64_t bytes, int root)
    {
        return run([=, this] {
            one_way_ = true;
            std::uint64_t const all = bytes * static_cast<std::uint64_t>(lanes_.size());
            std::uint64_t const mine = bytes * static_cast<std::uint64_t>(lanes_.rank());
            if (lanes_.rank() == root) {
                show(send, all, all);
                copy(receive, static_cast<std::byte const*>(send) + mine, bytes);
                return stays();
            }
            meet(root, 1);
            bring(root, receive, mine, bytes, all);
            has_read(all, root);
        });
    }

    [[nodiscard]] state allgather(void const* send, void* receive, std::uint64_t bytes)
    {
        return run([=, this] {
            show(send, bytes, bytes);
            copy(block(receive, lanes_.rank(), bytes), send, bytes);
            from_others(receive, bytes, 0, bytes);
            has_read(bytes);
            stays();
        });
    }

    /// Not in place.
    [[nodiscard]] state alltoall(void const* send, void* receive, std::uint64_t bytes)
    {
        return run([=, this] {
            std::uint64_t const all = bytes * static_cast<std::uint64_t>(lanes_.size());
            std::uint64_t const mine = bytes * static_cast<std::uint64_t>(lanes_.rank());
            show(send, all, all);
            copy(block(receive, lanes_.rank(), bytes), static_cast<std::byte const*>(send) + mine, bytes);
            from_others(receive, bytes, mine, all);
            has_read(all);
            stays();
        });
    }

    /// `receive` may be `own`, and is looked at by the root only.
    template <class Combine>
    [[nodiscard]] state reduce(void const* own, void* receive, std::uint64_t bytes, Combine&& combine, int root)
    {
        return run([=, this, &combine] {
            one_way_ = true;
            if (lanes_.rank() != root) {
                show(own, bytes, bytes, root);
                return stays(root);
            }
            if (own == receive)
                post(own, bytes, root, 1);
            meet_all();
            fold(lanes_.size() - 1, own, receive, 0, bytes, bytes, combine);
            has_read(bytes);
        });
    }

    /// `receive` may be `own`.
    template <class Combine>
    [[nodiscard]] state allreduce(void const* own, void* receive, std::uint64_t bytes, Combine&& combine)
    {
        return run([=, this, &combine] {
            if (meets_all_) {
                show(own, bytes, bytes, all_ranks, own != receive);
                meet_all();
                fold(lanes_.size() - 1, own, receive, 0, bytes, bytes, combine);
                has_read(bytes);
                stays();
            } else if (lanes_.rank() == 0) {
                post(own, bytes, 0, 1);
                meet_all();
                fold(lanes_.size() - 1, own, receive, 0, bytes, bytes, combine);
                post(receive, bytes, all_ranks, 2);
            } else {
                post(own, bytes, 0, 1);
                meet(0, 2);
                bring(0, receive, 0, bytes, bytes);
            }
        });
    }

    /// Blocks of `bytes`; not in place.
    template <class Combine>
    [[nodiscard]] state reduce_scatter(void const* own, void* receive, std::uint64_t bytes, Combine&& combine)
    {
        return run([=, this, &combine] {
            std::uint64_t const all = bytes * static_cast<std::uint64_t>(lanes_.size());
            std::uint64_t const mine = bytes * static_cast<std::uint64_t>(lanes_.rank());
            show(own, all, all);
            meet_all();
            fold(lanes_.size() - 1, static_cast<std::byte const*>(own) + mine, receive, mine, bytes, all, combine);
            has_read(all);
            stays();
        });
    }

    /// `receive` may be `own`.
    template <class Combine>
    [[nodiscard]] state scan(void const* own, void* receive, std::uint64_t bytes, Combine&& combine)
    {
        return run([=, this, &combine] {
            one_way_ = true;
            show(own, bytes, bytes, all_ranks, own != receive);
            for (int r = 0; r < lanes_.rank(); ++r)
                meet(r, 1);
            fold(lanes_.rank(), own, receive, 0, bytes, bytes, combine);
            has_read(bytes);
            if (lanes_.rank() + 1 != lanes_.size())
                stays();
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

    [[nodiscard]] static std::byte* block(void* all, int rank, std::uint64_t bytes) noexcept
    {
        return static_cast<std::byte*>(all) + bytes * static_cast<std::uint64_t>(rank);
    }
    static void copy(void* to, void const* from, std::uint64_t bytes) noexcept
    {
        if (bytes == 8)
            std::memmove(to, from, 8);
        else if (bytes <= lanes::inline_bytes)
            std::memmove(to, from, bytes);
        else if (to != from)
            move_bytes(to, from, bytes);
    }

    /// Offers a copy.
    void post(void const* data, std::uint64_t bytes, int whom, int stage) noexcept
    {
        if (bytes > lanes::inline_bytes)
            return offers_.post(data, bytes, stage, whom);
        lanes::slot& mine = lanes_.mine(number_);
        copy(mine.line(), data, bytes);
        mine.set(lanes::offer::in_line, bytes);
        lanes_.publish(number_, stage, whom);
        lanes_.count_posted(bytes);
    }
    // These three as in lane_builder.
    void show(void const* data, std::uint64_t bytes, std::uint64_t most, int whom = all_ranks, bool keeps = true)
    {
        std::uint64_t const place = keeps && !lanes_.are_posted(most, one_way_) ? lanes_.memory().find(data, bytes) : 0;
        if (place == 0)
            return post(data, bytes, whom, 1);
        is_lent_ = true;
        offers_.lend(place, bytes, 0, 0, 1, whom);
    }
    void has_read(std::uint64_t most, int whom = all_ranks)
    {
        if (!lanes_.are_posted(most, one_way_))
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

    [[nodiscard]] bool is_in_line(int rank, std::uint64_t all) noexcept
    {
        return lanes_.of(rank, number_).offers() == lanes::slot::terms{lanes::offer::in_line, all};
    }
    void bring(int rank, void* to, std::uint64_t offset, std::uint64_t bytes, std::uint64_t all)
    {
        if (is_in_line(rank, all)) [[likely]]
            copy(to, lanes_.of(rank, number_).line() + offset, bytes);
        else
            offers_.bring(rank, to, offset, bytes, all);
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

    /// Over the ranks 0 to `last`, in the order of over_lanes.hpp. `own` is this rank's part of what they offer.
    template <class Combine>
    void fold(int last, void const* own, void* receive, std::uint64_t offset, std::uint64_t bytes, std::uint64_t all, Combine& combine)
    {
        auto const with = [&](int rank, auto&& use) {
            if (rank == lanes_.rank() && own != receive)
                use(own);
            else if (is_in_line(rank, all)) [[likely]]
                use(lanes_.of(rank, number_).line() + offset);
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
    Wait const& wait_;
    std::uint64_t const number_;
    lane_offers offers_;
    bool const meets_all_;
    bool one_way_ = false;  ///< as of lanes::are_posted
    bool is_lent_ = false;
};

} // namespace towline::collective
