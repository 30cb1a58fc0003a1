#pragma once
// Tables of blocks that ranks offer in one operation over lanes, where only the two ranks of a block know its size (docs/wire.md).

#include <cstddef>
#include <cstdint>
#include <optional>

namespace towline::collective {

struct lane_entry {
    enum way : std::uint32_t { copied, read, written };
    std::int32_t rank;    ///< that the block is for
    std::uint32_t how;
    std::uint64_t where;  ///< copied: from the table's begin; else the word that it is lent by
    std::uint64_t bytes;
};
static_assert(sizeof(lane_entry) == 24);

/// A block of this rank's table, and what its entry shall say.
struct lane_block {
    lane_entry entry;
    std::uint32_t order;  ///< among those that were added
    void const* from;     ///< copied: the bytes, null where an earlier one's copy serves; written: where the others write
    void* to;             ///< written: where the bytes belong
};

/// Another rank's table where that rank wrote it: it may hold anything, and change while it is read.
class lane_table {
public:
    /// With its copies it has `room` bytes, in which the entries fit.
    lane_table(std::byte const* at, std::uint64_t entries, std::uint64_t room) noexcept : at_(at), entries_(entries), room_(room) {}

    /// The n-th entry for that rank, from 0 on.
    [[nodiscard]] std::optional<lane_entry> find(int rank, std::uint64_t nth) const noexcept;
    /// Null: it does not lie where copies do.
    [[nodiscard]] std::byte const* copy_of(lane_entry const&) const noexcept;

private:
    [[nodiscard]] lane_entry entry(std::uint64_t i) const noexcept;
    std::byte const* at_;
    std::uint64_t entries_;
    std::uint64_t room_;
};

} // namespace towline::collective
