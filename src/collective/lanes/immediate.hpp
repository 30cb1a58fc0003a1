#pragma once
// The executor of programs over lanes (programs.hpp) that executes each verb when it is called. The calling thread runs the operation from
// beginning to end: building and polling steps would take as long as a small operation.

#include "collective/lanes/lane_offers.hpp"
#include "collective/lanes/lane_tables.hpp"
#include "collective/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace towline::collective {

/// One operation. A `Wait` blocks: wait(is_met, rank) returns when is_met() is true, which needs `rank` to do something. An exception of it
/// ends the call, and the lanes with it.
class immediate {
public:
    using state = lane_run::state;
    static constexpr bool is_polled = false;
    /// Blocks for others that an operation with tables can have, and neighbours.
    static constexpr std::size_t most_given = 8;

    /// Begins; then `run`, once.
    template <class Wait>
    immediate(lanes& l, called operation, bool crowded, Wait const& wait) noexcept
        : lanes_(l), number_(l.begin()), offers_(l, number_, operation), looks_around_(collective::looks_around(l.size(), crowded)),
          looks_(crowded ? thresholds::looks_crowded : thresholds::looks), waits_(&wait),
          wait_([](void const* self, bool (*is_met)(void*), void* context, int rank) {
              (*static_cast<Wait const*>(self))([=] { return is_met(context); }, rank);
          })
    {
    }
    immediate(immediate const&) = delete;
    immediate& operator=(immediate const&) = delete;
    ~immediate() = default;

    /// Runs the program. `tells_all`: another rank may wait for the end of this operation (`stay`), not only for a stage.
    template <class Part>
    [[nodiscard, gnu::always_inline]] state run(bool tells_all, Part&& part)
    {
        state const ending = attempt(part);
        if (tells_all)
            lanes_.finish(number_);
        else
            lanes_.finish_quietly(number_);
        return ending;
    }

    // The verbs, as in lane_builder. may_run_now (run_now.hpp) has found that all offers are shown, and that memory is not tight. Those of
    // the smallest operations are always inlined: an operation of 8 bytes takes less than ten calls of functions would.

    [[nodiscard]] int rank() const noexcept { return lanes_.rank(); }
    [[nodiscard]] int size() const noexcept { return lanes_.size(); }
    [[nodiscard]] node_memory& memory() const noexcept { return lanes_.memory(); }
    [[nodiscard]] bool looks_around() const noexcept { return looks_around_; }
    void goes_one_way() noexcept { one_way_ = true; }
    template <class T>
    [[nodiscard]] T* room(std::size_t count) noexcept
    {
        auto* const at = reinterpret_cast<T*>(room_ + used_);
        used_ += count * sizeof(T);
        return at;
    }
    [[nodiscard]] static std::byte* shared_room(std::uint64_t) noexcept { return nullptr; }
    [[nodiscard]] static constexpr bool shows(std::uint64_t) noexcept { return true; }
    [[nodiscard]] bool posts(std::uint64_t bytes) const noexcept { return lanes_.are_posted(bytes, one_way_); }
    [[nodiscard]] bool is_lent() const noexcept { return is_lent_; }
    [[nodiscard]] static int told(int whom) noexcept { return whom; }
    static void agree() noexcept {}
    static void agree_without_offer() noexcept {}
    [[noreturn]] static void give_up() { throw state::failed_lost; }

    [[gnu::always_inline]] static void copy(void* to, void const* from, std::uint64_t bytes) noexcept
    {
        if (to == from)  // others may be reading it
            return;
        if (bytes == 8)
            std::memmove(to, from, 8);
        else if (bytes > lanes::slot_bytes)
            move_bytes(to, from, bytes);
        else if (bytes != 0)  // else there may be no memory
            std::memmove(to, from, bytes);
    }

    [[gnu::always_inline]] void post(void const* data, std::uint64_t bytes, int whom = all_ranks, int stage = 1) noexcept
    {
        if (bytes > lanes::slot_bytes)
            return offers_.post(data, bytes, {}, stage, whom);
        lanes::slot& mine = lanes_.mine(number_);
        copy(mine.contents(), data, bytes);
        mine.set(offers_.terms(lanes::offer::in_slot, bytes));
        lanes_.publish(number_, stage, whom);
        lanes_.count_posted(bytes);
    }
    [[gnu::always_inline]]
    void show(void const* data, std::uint64_t bytes, std::uint64_t most, int whom = all_ranks, bool keeps = true)
    {
        if (!lend(data, bytes, most, whom, keeps))
            post(data, bytes, whom);
    }
    void show_but(unread_part unread, void const* data, std::uint64_t bytes, bool keeps)
    {
        if (bytes <= lanes::slot_bytes)
            post(data, bytes);
        else if (!lend(data, bytes, bytes, all_ranks, keeps))
            offers_.post(data, bytes, unread, 1, all_ranks);
    }
    [[gnu::always_inline]] void has_read(std::uint64_t most, int whom = all_ranks)
    {
        if (!lanes_.are_posted(most, one_way_))
            tell_read(whom);
    }
    [[gnu::always_inline]] void stays(int reader = all_ranks)
    {
        if (is_lent_)
            stay_for(reader);
    }

    void table(std::span<lane_block const> blocks, std::uint64_t end, std::byte* apart)
    {
        offers_.offer_table(blocks, end, apart, 1, all_ranks);
    }
    void tell(int whom, std::uint64_t number, int stage = 2) noexcept { offers_.tell(number, stage, whom); }
    void tell_nothing() noexcept { tell(all_ranks, 0); }
    void mark(int stage, int whom = all_ranks) noexcept { lanes_.publish(number_, stage, whom); }
    [[gnu::always_inline]] void meet(int rank, int stage = 1)
    {
        await(rank, [=, this]() __attribute__((always_inline)) { return lanes_.has_reached(rank, number_, stage); });
    }
    void meet_all()
    {
        for (int r = 0; r < lanes_.size(); ++r) {
            if (r == lanes_.rank())
                continue;
            meet(r);
            offers_.require_same(r, lanes_.of(r, number_).offers());
        }
        lanes_.all_are_at(number_);
    }
    void stay(int rank, std::uint64_t told = 0)
    {
        await(rank, [=, this] { return lanes_.has_left(rank, number_); });
        auto const there = lanes_.of(rank, number_).offers();
        if (lanes_.has_reached(rank, number_, 3) && there.what == lanes::offer::failed)
            throw lane_run::failure_of(there);
        if (told != 0 && there.word() != offers_.terms(lanes::offer::nothing, told).word())
            offers_.refuse_unfit(rank);
    }

    [[gnu::always_inline]] void take(int rank, void* to, std::uint64_t offset, std::uint64_t bytes, std::uint64_t all)
    {
        if (is_in_slot(rank, all)) [[likely]]
            copy(to, lanes_.of(rank, number_).contents() + offset, bytes);
        else
            take_shown(rank, to, offset, bytes, all);
    }
    [[gnu::always_inline]] void take_block(int rank, std::uint64_t nth, void* to, std::uint64_t bytes)
    {
        // Of two ranks: a table of one entry, with its bytes, in the slot.
        lanes::slot& s = lanes_.of(rank, number_);
        if (nth == 0 && s.offers(offers_.terms(lanes::offer::table_in_slot, 1))) {
            lane_entry e;
            std::memcpy(&e, s.contents(), sizeof e);
            if (e.rank == lanes_.rank() && e.how == lane_entry::copied && e.where == sizeof e && e.bytes == bytes &&
                bytes <= lanes::slot_bytes - sizeof e)
                return copy(to, s.contents() + sizeof e, bytes);
        }
        offers_.bring_block(rank, nth, to, bytes);
        lanes_.end_use(number_);
    }
    /// Then it `has_read`.
    [[gnu::always_inline]]
    void fold(combination const& r, int last, void const* own, void* to, std::uint64_t offset, std::uint64_t count, std::uint64_t all)
    {
        std::uint64_t const bytes = count * r.element;
        // Null: what that rank offers is not in its slot.
        auto const find = [&](int rank) __attribute__((always_inline)) -> void const* {
            if (rank == lanes_.rank() && own != to)
                return own;
            return is_in_slot(rank, all) ? lanes_.of(rank, number_).contents() + offset : nullptr;
        };
        auto const with = [&](int rank, auto&& use) {
            if (void const* const at = find(rank))
                use(at);
            else
                offers_.look_at(rank, offset, bytes, all, use);
        };
        if (last == 0)
            return with(0, [&](void const* only) { copy(to, only, bytes); });
        void const* const right = find(last);
        if (void const* const left = find(last - 1); left != nullptr && right != nullptr) [[likely]]
            join(r, left, right, to, count);
        else
            with(last, [&](void const* other) { with(last - 1, [&](void const* in) { join(r, in, other, to, count); }); });
        for (int rank = last - 2; rank >= 0; --rank)
            with(rank, [&](void const* in) { join(r, in, to, to, count); });
    }

private:
    /// Shows bytes where they are; false: they are to be copied.
    [[nodiscard, gnu::always_inline]] bool lend(void const* data, std::uint64_t bytes, std::uint64_t most, int whom, bool keeps)
    {
        return bytes != 0 && keeps && !lanes_.are_posted(most, one_way_) && lend_in_place(data, bytes, whom);
    }
    [[nodiscard, gnu::noinline]] bool lend_in_place(void const* data, std::uint64_t bytes, int whom)
    {
        std::uint64_t const place = lanes_.memory().find(data, bytes);
        if (place == 0)
            return false;
        is_lent_ = true;
        offers_.lend(place, bytes, false, 0, 0, 1, whom);
        return true;
    }
    [[gnu::noinline]] void tell_read(int whom)
    {
        lanes_.end_use(number_);
        lanes_.publish(number_, 2, whom);
    }
    [[gnu::noinline]] void stay_for(int reader)
    {
        for (int r = 0; r < lanes_.size(); ++r)
            if (r != lanes_.rank() && (reader == all_ranks || r == reader))
                meet(r, 2);
    }
    /// Waits until has_come(), which `rank` makes true; throws if that rank died instead, or finished the operation.
    template <class HasCome>
    [[gnu::always_inline]] void await(int rank, HasCome has_come)
    {
        for (int i = 0; i < looks_; ++i)
            if (has_come()) [[likely]]
                return;
        wait_for(rank, has_come);
    }
    template <class HasCome>
    [[gnu::noinline]] void wait_for(int rank, HasCome has_come)
    {
        seldom others(lanes_);
        bool is_dead = false, has_finished = false;
        auto is_met = [&] {
            if (has_come())
                return true;
            if (!others.is_due(thresholds::looks_at_others))
                return false;
            // Its death, or its end, is seen after what it stored before: look again.
            is_dead = lanes_.is_gone(rank) && !has_come();
            has_finished = !is_dead && lanes_.has_finished(rank, number_) && !has_come();
            return is_dead || has_finished;
        };
        wait_(waits_, [](void* met) { return (*static_cast<decltype(is_met)*>(met))(); }, &is_met, rank);
        if (is_dead)
            throw state::failed_dead;
        if (has_finished)
            offers_.refuse_finished(rank);
    }
    [[nodiscard, gnu::always_inline]] bool is_in_slot(int rank, std::uint64_t all) noexcept
    {
        return lanes_.of(rank, number_).offers(offers_.terms(lanes::offer::in_slot, all));
    }
    [[gnu::noinline]] void take_shown(int rank, void* to, std::uint64_t offset, std::uint64_t bytes, std::uint64_t all)
    {
        offers_.bring(rank, to, offset, bytes, all);
        lanes_.end_use(number_);
    }
    /// `other` may be `out`.
    [[gnu::always_inline]] static void join(combination const& r, void const* in, void const* other, void* out, std::uint64_t count)
    {
        if (r.join != nullptr) [[likely]]
            return r.join(in, other, out, count, r.context);
        copy(out, other, count * r.element);
        r.apply(in, out, count, r.context);
    }

    template <class Part>
    [[nodiscard, gnu::always_inline]] state attempt(Part&& part)
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
    /// Tells that this rank has failed, and stays until no rank is in the middle of using what it lent.
    [[gnu::noinline]] void take_back(state why)
    {
        lanes_.end_use(number_);
        lanes_.fail(number_, static_cast<std::uint64_t>(why), offers_.operation());
        for (int r = 0; r < lanes_.size(); ++r) {
            try {
                if (r != lanes_.rank())
                    await(r, [=, this] { return !lanes_.is_used_by(r, number_); });
            } catch (state) {
                // It died.
            }
        }
    }

    lanes& lanes_;
    std::uint64_t const number_;
    lane_offers offers_;
    bool const looks_around_;
    int const looks_;
    bool one_way_ = false;  ///< as of lanes::are_posted
    bool is_lent_ = false;
    void const* waits_;
    void (*wait_)(void const* waits, bool (*is_met)(void*), void* context, int rank);
    std::size_t used_ = 0;
    alignas(8) std::byte room_[most_given * (sizeof(lane_block) + 3 * sizeof(int))];  ///< a table's blocks, and what comes from neighbours
};

} // namespace towline::collective
