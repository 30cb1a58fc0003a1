#pragma once
// Writes steps around a table of blocks (lane_tables.hpp) into a schedule.

#include "collective/lane_builder.hpp"
#include "collective/lane_tables.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace towline::collective {

/// Writes the steps around the table of this rank: `give` and `want` for each block, `offer`, then what is done with the others' tables,
/// then `finish`.
class block_table {
public:
    block_table(schedule& s, lane_builder& b, std::size_t most);

    /// To be read.
    void give(int rank, void const* from, std::uint64_t bytes) { add({{rank, lane_entry::read, 0, bytes}, count_, from, nullptr}); }
    /// To be written.
    void want(int rank, void* to, std::uint64_t bytes) { add({{rank, lane_entry::written, 0, bytes}, count_, nullptr, to}); }

    /// Copies of few bytes, else the blocks where they are, unless they change (`keeps` is false) or nobody reaches them.
    void offer(bool keeps = true);
    /// This rank needs nobody's buffers any more, and stays until nobody needs its own; what it wanted is there then.
    void finish();

private:
    void add(lane_block const& block) noexcept { blocks_[count_++] = block; }
    [[nodiscard]] std::span<lane_block> blocks() const noexcept { return {blocks_, count_}; }
    [[nodiscard]] std::uint64_t bytes_to_give() const noexcept;
    void place_given(lane_block&, bool posts, bool keeps);
    void place_wanted(lane_block&);

    schedule& s_;
    lane_builder& b_;
    lane_block* const blocks_;
    std::uint32_t count_ = 0;
    bool is_lost_ = false;   ///< there is no memory for a block that others reach
    std::uint64_t end_ = 0;  ///< of the table with its copies
};

} // namespace towline::collective
