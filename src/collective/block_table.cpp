#include "collective/block_table.hpp"

#include <algorithm>

namespace towline::collective {
namespace {

/// The bytes of an earlier block, as all neighbours get in an allgather.
[[nodiscard]] bool is_same(lane_block const& a, lane_block const* b) noexcept
{
    return b != nullptr && a.from == b->from && a.entry.bytes == b->entry.bytes;
}

[[nodiscard]] bool goes_before(lane_block const& a, lane_block const& b) noexcept
{
    return a.entry.rank != b.entry.rank ? a.entry.rank < b.entry.rank : a.order < b.order;
}

} // namespace

block_table::block_table(schedule& s, lane_builder& b, std::size_t most)
    : s_(s), b_(b), blocks_(reinterpret_cast<lane_block*>(s.own_scratch(std::max<std::size_t>(most, 1) * sizeof(lane_block))))
{
}

std::uint64_t block_table::bytes_to_give() const noexcept
{
    std::uint64_t sum = 0;
    lane_block const* before = nullptr;
    for (lane_block const& block : blocks()) {
        if (block.entry.how == lane_entry::read && !is_same(block, before))
            sum += block.entry.bytes;
        before = &block;
    }
    return sum;
}

void block_table::place_given(lane_block& block, bool posts, bool keeps)
{
    lane_entry& e = block.entry;
    node_memory const& memory = s_.lanes()->memory();
    bool const fits = end_ <= lanes::payload_bytes && e.bytes <= lanes::payload_bytes - end_;
    bool const stays = e.bytes != 0 && keeps && !(posts && fits);
    e.where = stays ? memory.find(block.from, e.bytes) : 0;
    if (e.where != 0)
        return;
    if (fits || e.bytes == 0) {
        e.how = lane_entry::copied;
        e.where = end_;
        end_ += (e.bytes + 7) & ~std::uint64_t{7};
        return;
    }
    std::byte* const shared = s_.shared_scratch(e.bytes);
    if (shared == nullptr) {
        is_lost_ = true;
        return;
    }
    b_.copy(shared, block.from, e.bytes);
    e.where = memory.find(shared, e.bytes);
}

void block_table::place_wanted(lane_block& block)
{
    node_memory const& memory = s_.lanes()->memory();
    block.from = block.to;
    block.entry.where = memory.find(block.to, block.entry.bytes);
    if (block.entry.where == 0) {
        block.from = s_.shared_scratch(block.entry.bytes);
        if (block.from == nullptr) {
            is_lost_ = true;
            return;
        }
        block.entry.where = memory.find(block.from, block.entry.bytes);
    }
}

void block_table::offer(bool keeps)
{
    end_ = count_ * sizeof(lane_entry);
    bool const is_long = end_ > lanes::payload_bytes;
    bool const posts = b_.posts(bytes_to_give());
    lane_block const* before = nullptr;
    for (lane_block& block : blocks()) {
        if (block.entry.how == lane_entry::written) {
            place_wanted(block);
        } else if (is_same(block, before)) {
            block = {{block.entry.rank, before->entry.how, before->entry.where, block.entry.bytes}, block.order, nullptr, nullptr};
        } else {
            place_given(block, posts, keeps);
            before = &block;
        }
    }
    if (!std::ranges::is_sorted(blocks(), goes_before))
        std::ranges::sort(blocks(), goes_before);
    std::byte* const apart = is_long ? s_.shared_scratch(end_) : nullptr;
    if (is_lost_ || (is_long && apart == nullptr))
        return b_.give_up();
    b_.table(blocks(), end_, apart);
}

void block_table::finish()
{
    bool const lends = std::ranges::any_of(blocks(), [](lane_block const& b) { return b.entry.how != lane_entry::copied; });
    if (!lends)
        return;  // that the operation ends says the same
    b_.mark(2);
    int last = -1;
    for (lane_block const& block : blocks()) {
        if (block.entry.how == lane_entry::copied || block.entry.rank == last)
            continue;
        last = block.entry.rank;
        b_.stay(last, block.entry.how == lane_entry::written ? block.entry.bytes : 0);
    }
    for (lane_block const& block : blocks())
        if (block.entry.how == lane_entry::written)
            b_.copy(block.to, block.from, block.entry.bytes);
}

} // namespace towline::collective
