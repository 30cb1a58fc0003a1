#pragma once
// The table of blocks (lane_tables.hpp) that one rank offers in an operation.

#include "collective/lanes/lane_tables.hpp"
#include "collective/lanes/lanes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace towline::collective {

/// Call `give` or `want` for each block, then `offer`, then read the others' tables, then `finish`. The executor `X` (programs.hpp) runs
/// the verbs.
template <class X>
class block_table {
public:
    block_table(X& x, std::size_t most) : x_(x), blocks_(x.template room<lane_block>(most)) {}

    /// To be read.
    void give(int rank, void const* from, std::uint64_t bytes) { add({{rank, lane_entry::read, 0, bytes}, count_, from, nullptr}); }
    /// To be written.
    void want(int rank, void* to, std::uint64_t bytes) { add({{rank, lane_entry::written, 0, bytes}, count_, nullptr, to}); }

    /// Offers copies of few bytes, else the blocks where they are, unless they change (`keeps` is false) or nobody reaches them.
    [[gnu::always_inline]] void offer(bool keeps = true)
    {
        end_ = count_ * sizeof(lane_entry);
        bool const is_long = end_ > lanes::payload_bytes;
        bool const posts = x_.posts(bytes_to_give());
        lane_block const* before = nullptr;
        for (lane_block& b : blocks()) {
            if (b.entry.how == lane_entry::written) {
                place_wanted(b);
            } else if (is_same(b, before)) {
                b = {{b.entry.rank, before->entry.how, before->entry.where, b.entry.bytes}, b.order, nullptr, nullptr};
            } else {
                place_given(b, posts, keeps);
                before = &b;
            }
        }
        if (!std::ranges::is_sorted(blocks(), goes_before))
            std::ranges::sort(blocks(), goes_before);
        std::byte* const apart = is_long ? x_.shared_room(end_) : nullptr;
        if (is_lost_ || (is_long && apart == nullptr))
            return x_.give_up();
        x_.table(blocks(), end_, apart);
    }

    /// This rank needs nobody's buffers any more, and waits until nobody needs its own; what it wanted is there then.
    [[gnu::always_inline]] void finish()
    {
        bool const lends = std::ranges::any_of(blocks(), [](lane_block const& b) { return b.entry.how != lane_entry::copied; });
        if (!lends)
            return;  // that the operation ends says the same
        x_.mark(2);
        int last = -1;
        for (lane_block const& b : blocks()) {
            if (b.entry.how == lane_entry::copied || b.entry.rank == last)
                continue;
            last = b.entry.rank;
            x_.stay(last, b.entry.how == lane_entry::written ? b.entry.bytes : 0);
        }
        for (lane_block const& b : blocks())
            if (b.entry.how == lane_entry::written)
                x_.copy(b.to, b.from, b.entry.bytes);
    }

private:
    void add(lane_block const& b) noexcept { blocks_[count_++] = b; }
    [[nodiscard]] std::span<lane_block> blocks() const noexcept { return {blocks_, count_}; }

    /// The bytes of an earlier block, as all neighbours get in an allgather.
    [[nodiscard]] static bool is_same(lane_block const& a, lane_block const* b) noexcept
    {
        return b != nullptr && a.from == b->from && a.entry.bytes == b->entry.bytes;
    }
    [[nodiscard]] static bool goes_before(lane_block const& a, lane_block const& b) noexcept
    {
        return a.entry.rank != b.entry.rank ? a.entry.rank < b.entry.rank : a.order < b.order;
    }
    [[nodiscard]] std::uint64_t bytes_to_give() const noexcept
    {
        std::uint64_t sum = 0;
        lane_block const* before = nullptr;
        for (lane_block const& b : blocks()) {
            if (b.entry.how == lane_entry::read && !is_same(b, before))
                sum += b.entry.bytes;
            before = &b;
        }
        return sum;
    }

    void place_given(lane_block& b, bool posts, bool keeps)
    {
        lane_entry& e = b.entry;
        bool const fits = end_ <= lanes::payload_bytes && e.bytes <= lanes::payload_bytes - end_;
        bool const stays = e.bytes != 0 && keeps && !(posts && fits);
        e.where = stays ? x_.memory().find(b.from, e.bytes) : 0;
        if (e.where != 0)
            return;
        if (fits || e.bytes == 0) {
            e.how = lane_entry::copied;
            e.where = end_;
            end_ += (e.bytes + 7) & ~std::uint64_t{7};
            return;
        }
        if (std::byte* const shared = shared_room(e.bytes)) {
            x_.copy(shared, b.from, e.bytes);
            e.where = x_.memory().find(shared, e.bytes);
        }
    }
    void place_wanted(lane_block& b)
    {
        b.from = b.to;
        b.entry.where = x_.memory().find(b.to, b.entry.bytes);
        if (b.entry.where != 0)
            return;
        b.from = shared_room(b.entry.bytes);
        if (b.from != nullptr)
            b.entry.where = x_.memory().find(b.from, b.entry.bytes);
    }
    [[nodiscard]] std::byte* shared_room(std::uint64_t bytes)
    {
        std::byte* const shared = x_.shared_room(bytes);
        is_lost_ = is_lost_ || shared == nullptr;
        return shared;
    }

    X& x_;
    lane_block* const blocks_;
    std::uint32_t count_ = 0;
    bool is_lost_ = false;   ///< there is no memory for a block that others reach
    std::uint64_t end_ = 0;  ///< of the table with its copies
};

} // namespace towline::collective
