#pragma once
// The executor of programs over lanes (programs.hpp) that records each verb as a step (lane_steps.hpp) of a schedule, to be polled.

#include "collective/schedule.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace towline::collective {

struct lane_block;

class lane_builder {
public:
    static constexpr bool is_polled = true;

    lane_builder(schedule& s, bool crowded) noexcept : s_(s), l_(*s.lanes()), looks_around_(collective::looks_around(l_.size(), crowded)) {}

    [[nodiscard]] int rank() const noexcept { return l_.rank(); }
    [[nodiscard]] int size() const noexcept { return l_.size(); }
    [[nodiscard]] node_memory& memory() const noexcept { return l_.memory(); }
    /// As collective::looks_around.
    [[nodiscard]] bool looks_around() const noexcept { return looks_around_; }
    /// As of lanes::are_posted; before anything is shown.
    void goes_one_way() noexcept { one_way_ = true; }
    /// Memory until the schedule is cleared. `room`: private, for `count` of a trivial type. `shared_room`: other ranks reach it; null:
    /// none is left. `any_room`: shared if there is any left, else private.
    template <class T>
    [[nodiscard]] T* room(std::size_t count)
    {
        return reinterpret_cast<T*>(s_.own_scratch(std::max<std::size_t>(count, 1) * sizeof(T)));
    }
    [[nodiscard]] std::byte* shared_room(std::uint64_t bytes) { return s_.shared_scratch(bytes); }
    [[nodiscard]] std::byte* any_room(std::uint64_t bytes) { return s_.scratch(bytes); }

    // What is to be read, where the ranks offer at most `most` bytes each: `show`, then those who read say `has_read`, and who showed it
    // `stays`.

    /// So many bytes can be shown.
    [[nodiscard]] bool shows(std::uint64_t most) const noexcept { return l_.are_shown(most); }
    /// Offers a copy, or, where that takes longer, the bytes where they are, unless they change (`keeps` is false) or nobody reaches them.
    void show(void const* data, std::uint64_t bytes, std::uint64_t most, int whom = all_ranks, bool keeps = true)
    {
        show(data, bytes, most, whom, keeps, {});
    }
    /// The same to all, of whom none reads a part of it.
    void show_but(unread_part unread, void const* data, std::uint64_t bytes, bool keeps) { show(data, bytes, bytes, all_ranks, keeps, unread); }
    /// This rank needs nothing any more of `whom`, or of all.
    void has_read(std::uint64_t most, int whom = all_ranks)
    {
        if (!l_.are_posted(most, one_way_))
            mark(2, whom);
    }
    /// What this rank showed is read where it is.
    [[nodiscard]] bool is_lent() const noexcept { return is_lent_; }
    /// Until `reader`, or all, need nothing any more of what this rank showed.
    void stays(int reader = all_ranks)
    {
        if (is_lent_)
            meet(reader, 2);
    }

    void post(void const* data, std::uint64_t bytes, int whom = all_ranks, int stage = 1, unread_part unread = {})
    {
        lane_step& s = s_.over_lanes(kind::post, stage, whom);
        s.from = data;
        s.size = bytes;
        s.offset = unread.offset;
        s.expected = unread.size;
    }
    /// So many bytes are offered by copy.
    [[nodiscard]] bool posts(std::uint64_t bytes) const noexcept { return l_.are_posted(bytes, one_way_); }
    /// Offers a table (lane_tables.hpp) that ends with its copies at `end`: in the slot, or in `shared` memory, without copies.
    void table(std::span<lane_block const> blocks, std::uint64_t end, std::byte* shared)
    {
        lane_step& s = s_.over_lanes(kind::table, 1, all_ranks);
        s.from = blocks.data();
        s.size = blocks.size();
        s.expected = end;
        s.to = shared;
    }
    /// Offers nothing: this rank has written `bytes` into what `whom` lent, or has none for it.
    void tell(int whom, std::uint64_t bytes, int stage = 2) { s_.over_lanes(kind::tell, stage, whom).size = bytes; }
    /// Of an operation of no bytes, which counts as others do: who expects some finds out.
    void tell_nothing() { tell(all_ranks, 0); }
    /// The n-th block for this rank in the table of `rank`.
    void take_block(int rank, std::uint64_t nth, void* to, std::uint64_t bytes)
    {
        lane_step& s = s_.over_lanes(kind::take_block, 1, rank);
        s.to = to;
        s.offset = nth;
        s.size = bytes;
    }
    void push_block(int rank, void const* from, std::uint64_t bytes)
    {
        lane_step& s = s_.over_lanes(kind::push_block, 1, rank);
        s.from = from;
        s.size = bytes;
    }
    /// Until `rank` needs nothing any more; not 0: and has told that it wrote so many bytes.
    void stay(int rank, std::uint64_t told = 0) { s_.over_lanes(kind::stay, 2, rank).expected = told; }
    void mark(int stage, int whom = all_ranks) { (void)s_.over_lanes(kind::mark, stage, whom); }
    void meet(int rank, int stage = 1) { (void)s_.over_lanes(kind::meet, stage, rank); }
    void meet_all(int stage = 1) { meet(all_ranks, stage); }
    /// Of what `rank` offers, which are `all` bytes.
    void take(int rank, void* to, std::uint64_t offset, std::uint64_t bytes, std::uint64_t all)
    {
        read(kind::take, rank, to, offset, bytes, all);
    }
    void push(int rank, void const* from, std::uint64_t offset, std::uint64_t bytes)
    {
        if (bytes != 0)
            write(kind::push, rank, from, offset, bytes);
    }
    /// take and push, of two ranks that both have lent something, of the same block: each does what the other has not done yet.
    void take_shared(int rank, void* to, std::uint64_t offset, std::uint64_t bytes, std::uint64_t all)
    {
        read(kind::take_shared, rank, to, offset, bytes, all);
    }
    void push_shared(int rank, void const* from, std::uint64_t offset, std::uint64_t bytes)
    {
        write(kind::push_shared, rank, from, offset, bytes);
    }
    /// Combines `count` elements at `offset` bytes of what ranks 0 to `last` offer. This rank's part of it is read at `own`, unless that is
    /// `to`: then from what the rank offered.
    void fold(combination const& r, int last, void const* own, void* to, std::uint64_t offset, std::uint64_t count, std::uint64_t all)
    {
        s_.combine_with(r);
        lane_step& s = s_.over_lanes(kind::fold, 1, last);
        s.from = own != to ? own : nullptr;
        s.to = to;
        s.offset = offset;
        s.size = count * r.element;
        s.expected = all;
    }
    /// Of all ranks, into the same place of what `whom` lent to be written. This rank's part is read at `own`.
    void fold_push(combination const& r, int whom, void const* own, std::uint64_t offset, std::uint64_t bytes, std::uint64_t all)
    {
        if (bytes == 0)
            return;
        s_.combine_with(r);
        lane_step& s = s_.over_lanes(kind::fold_push, 1, whom);
        s.from = own;
        s.to = s_.scratch(piece_room(r));
        s.offset = offset;
        s.size = bytes;
        s.expected = all;
    }
    /// `landed`: the one other rank wrote it.
    void copy(void* to, void const* from, std::uint64_t bytes, bool landed = false)
    {
        if (bytes == 0 || to == from)
            return;
        lane_step& s = s_.over_lanes(kind::copy, 1, 0);
        s.to = to;
        s.from = from;
        s.offset = landed ? 1 : 0;
        s.size = bytes;
    }

    /// Lends buffers of ours, or memory in their place that others reach. Where there is none left, all ranks find out, and the operation
    /// goes by messages (schedule::otherwise): for those in which every rank looks at all that lend, or waits for all.
    void lend(void const* send, std::uint64_t send_bytes, void* receive, std::uint64_t receive_bytes, int whom = all_ranks,
              unread_part unread = {});
    /// Where to write, instead of the receive buffer, while it is lent.
    [[nodiscard]] std::byte* landing() const noexcept { return static_cast<std::byte*>(in_place_of_it_); }
    /// There is no memory for what this rank is to offer, in an operation in which not all ranks look at all others. Where memory is tight
    /// they do, in `agree`, so that the operation goes by messages; else who needs something of this rank fails.
    void give_up() { (void)s_.over_lanes(l_.is_tight() ? kind::retreat : kind::give_up, 1, all_ranks); }
    /// Whom an offer in such an operation is told: `whom`, or all.
    [[nodiscard]] int told(int whom) const noexcept { return l_.is_tight() ? all_ranks : whom; }
    /// After the offer, where memory is tight: nobody reads or writes before all have offered.
    void agree()
    {
        if (l_.is_tight())
            meet_all();
    }
    /// The same for who offers nothing.
    void agree_without_offer()
    {
        if (l_.is_tight()) {
            post(nullptr, 0);
            meet_all();
        }
    }
    /// Says that this rank needs nobody's buffers any more, and stays until nobody needs its own; the result is in `receive` then. `there`
    /// is there already.
    void finish(unread_part there = {});
    /// The same where each of the others tells that it has written so many bytes into what this rank lent.
    void finish_written(std::uint64_t bytes, unread_part there);
    /// The same where this rank needs the buffers of `whom` only, and lent none.
    void finish_with(int whom) { mark(2, whom); }

private:
    using kind = lane_step::kind;
    void show(void const* data, std::uint64_t bytes, std::uint64_t most, int whom, bool keeps, unread_part unread)
    {
        if (bytes == 0 || !keeps || l_.are_posted(most, one_way_) || l_.memory().find(data, bytes) == 0)
            return post(data, bytes, whom, 1, unread);
        is_lent_ = true;
        lane_step& s = s_.over_lanes(kind::lend, 1, whom);
        s.from = data;
        s.size = bytes;
    }
    void retreat();
    /// From the memory in place of the receive buffer, but for `there`.
    void bring_home(unread_part there);
    void read(kind how, int rank, void* to, std::uint64_t offset, std::uint64_t bytes, std::uint64_t all)
    {
        lane_step& s = s_.over_lanes(how, 1, rank);
        s.to = to;
        s.offset = offset;
        s.size = bytes;
        s.expected = all;
    }
    void write(kind how, int rank, void const* from, std::uint64_t offset, std::uint64_t bytes)
    {
        lane_step& s = s_.over_lanes(how, 1, rank);
        s.from = from;
        s.offset = offset;
        s.size = bytes;
    }
    [[nodiscard]] static std::uint64_t piece_room(combination const& r) noexcept;

    schedule& s_;
    lanes& l_;
    bool const looks_around_;
    bool one_way_ = false;
    bool is_lent_ = false;
    void* receive_ = nullptr;
    void* in_place_of_it_ = nullptr;
    std::uint64_t receive_bytes_ = 0;
};

} // namespace towline::collective
