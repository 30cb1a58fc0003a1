#pragma once
// The blocks of all ranks in the order in which operations in two levels move them, and in that of the program.

#include "collective/call.hpp"
#include "collective/levels/levels.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace towline::collective {

/// Sizes of blocks that lie next to each other.
struct row_of_blocks {
    std::vector<std::uint64_t> sizes, offsets;
    std::uint64_t total = 0;
    void add(std::uint64_t size)
    {
        sizes.push_back(size);
        offsets.push_back(std::exchange(total, total + size));
    }
};

/// All ranks' blocks next to each other, node by node, and where they belong in a buffer of the program.
class row_of_ranks {
public:
    row_of_ranks(levels const& v, layout_of_blocks const& where) : v_(v), where_(where)
    {
        for (int const rank : v.order())
            row_.add(where.size(rank));
    }
    [[nodiscard]] std::uint64_t total() const noexcept { return row_.total; }
    [[nodiscard]] std::uint64_t begin_of(int node) const noexcept
    {
        auto const first = static_cast<std::size_t>(v_.begin_of(node));
        return first == row_.offsets.size() ? row_.total : row_.offsets[first];
    }
    [[nodiscard]] std::uint64_t bytes_of(int node) const noexcept { return begin_of(node + 1) - begin_of(node); }
    /// Those of nodes.
    [[nodiscard]] row_of_blocks nodes() const
    {
        row_of_blocks all;
        for (int m = 0; m < v_.nodes(); ++m)
            all.add(bytes_of(m));
        return all;
    }
    /// Those of a node's ranks, from the begin of its part on.
    [[nodiscard]] row_of_blocks ranks_of(int node) const
    {
        row_of_blocks all;
        for (int const rank : v_.ranks_of(node))
            all.add(where_.size(rank));
        return all;
    }
    /// The part of the buffer that is this row already; null: none is.
    [[nodiscard]] std::byte* found_in(void* buffer) const noexcept
    {
        std::byte* begin = nullptr;
        for (std::size_t i = 0; i < row_.sizes.size(); ++i) {
            std::byte* const at = where_.at(buffer, v_.order()[i]);
            if (row_.sizes[i] == 0)
                continue;
            if (begin == nullptr)
                begin = at - row_.offsets[i];
            if (at != begin + row_.offsets[i])
                return nullptr;
        }
        return begin;
    }
    /// Calls move(offset in the row, place in the buffer, bytes) for what lies at `size` bytes of the row from `first` on.
    template <class Move>
    void for_each(std::uint64_t first, std::uint64_t size, void* buffer, Move&& move) const
    {
        auto const& begins = row_.offsets;
        auto i = static_cast<std::size_t>(std::ranges::upper_bound(begins, first) - begins.begin());
        if (i != 0)
            --i;
        for (std::uint64_t const end = first + size; first != end; ++i) {
            std::uint64_t bytes = std::min(begins[i] + row_.sizes[i], end) - first;
            if (bytes == 0)
                continue;
            std::byte* const there = where_.at(buffer, v_.order()[i]) + (first - begins[i]);
            // As long as blocks follow each other there, too.
            while (first + bytes != end && (row_.sizes[i + 1] == 0 || where_.at(buffer, v_.order()[i + 1]) == there + bytes)) {
                ++i;
                bytes = std::min(begins[i] + row_.sizes[i], end) - first;
            }
            move(first, there, bytes);
            first += bytes;
        }
    }

private:
    levels const& v_;
    layout_of_blocks const where_;
    row_of_blocks row_;
};

} // namespace towline::collective
