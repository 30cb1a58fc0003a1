#pragma once
// Blocking operations over lanes whose blocks are of any size and shown (over_lanes.hpp), at once.

#include "collective/at_once_steps.hpp"
#include "collective/lane_tables.hpp"
#include "collective/operations.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace towline::collective {

class at_once_lists : at_once_steps {
public:
    using at_once_steps::state;

    /// Blocks for others that scatter, alltoall and exchange, which offer tables, can have.
    static constexpr std::size_t most_given = 8;
    /// Bytes of a table with copies of so many blocks of so many bytes together, at most. It has to fit lanes::payload_bytes.
    [[nodiscard]] static constexpr std::uint64_t table_bytes(std::size_t given, std::uint64_t bytes) noexcept
    {
        return bytes + given * (sizeof(lane_entry) + 7);
    }
    /// What at_once_may_begin is asked by who offers such a table, the largest block being so big: that may need the payload.
    [[nodiscard]] static constexpr std::uint64_t most_of(std::uint64_t table, std::uint64_t largest) noexcept
    {
        return std::max(largest, std::min(table, lanes::inline_bytes + 1));
    }

    /// Begins; then one of the operations, once.
    template <class Wait>
    at_once_lists(lanes& l, bool crowded, Wait const& wait) noexcept : at_once_steps(l, crowded, wait)
    {
    }

    // As in over_lanes.hpp, but for `in_place`: there `own` is where the block is. `Blocks` tells of those of all ranks: size(rank), in
    // bytes, and at(rank).

    /// All ranks give the same sizes, not all of them 0.
    template <class Blocks>
    [[nodiscard]] state allgather(void const* own, Blocks const& blocks, std::uint64_t largest)
    {
        return run([&, this] {
            show(own, blocks.size(lanes_.rank()), largest);
            copy(blocks.at(lanes_.rank()), own, blocks.size(lanes_.rank()));
            for (int i = 1; i < lanes_.size(); ++i) {
                int const r = (lanes_.rank() + i) % lanes_.size();
                meet(r, 1);
                bring(r, blocks.at(r), 0, blocks.size(r), blocks.size(r));
            }
            has_read(largest);
            stays();
        });
    }

    /// The blocks are looked at by the root only; `bytes` are this rank's.
    template <class Blocks>
    [[nodiscard]] state gather(void const* own, std::uint64_t bytes, Blocks const& blocks, int root)
    {
        return run([&, this] {
            one_way_ = true;
            if (lanes_.rank() != root) {
                show(own, bytes, bytes, root);
                if (is_lent_)
                    stay(root);
                return;
            }
            // Who has more than is shown would push it, and finds out.
            offers_.offer_table({}, 0, nullptr, 1, all_ranks);
            copy(blocks.at(root), own, bytes);
            take(blocks, [this](int r, void* to, std::uint64_t size) { bring(r, to, 0, size, size); });
        });
    }
    template <class Blocks>
    [[nodiscard]] state scatter(Blocks const& blocks, void* own, std::uint64_t bytes, int root)
    {
        return run([&, this] {
            one_way_ = true;
            if (lanes_.rank() != root) {
                meet(root, 1);
                return bring_block(root, 0, own, bytes);
            }
            offer(blocks);
            copy(own, blocks.at(root), bytes);
            leave();
        });
    }

    /// Not in place.
    template <class Sending, class Receiving>
    [[nodiscard]] state alltoall(Sending const& sending, Receiving const& receiving)
    {
        return run([&, this] {
            offer(sending);
            copy(receiving.at(lanes_.rank()), sending.at(lanes_.rank()), receiving.size(lanes_.rank()));
            take(receiving, [this](int r, void* to, std::uint64_t size) { bring_block(r, 0, to, size); });
            leave();
        });
    }

    /// Among neighbours, none of which is this rank; `Blocks` tells of those in the order of its lists.
    template <class Sending, class Receiving>
    [[nodiscard]] state exchange(neighbourhood const& n, Sending const& sending, Receiving const& receiving)
    {
        return run([&, this] {
            for (std::size_t i = 0; i < n.destinations.size(); ++i)
                if (int const at = static_cast<int>(i), to = n.destinations[i]; to >= 0)
                    give(to, sending.at(at), sending.size(at));
            offer();
            auto const source = [&](std::size_t i) { return n.receive_order.empty() ? static_cast<int>(i) : n.receive_order[i]; };
            auto const rank_at = [&](std::size_t i) { return n.sources[static_cast<std::size_t>(source(i))]; };
            for (std::size_t i = 0; i < n.sources.size(); ++i) {
                int const from = rank_at(i);
                std::uint64_t const size = receiving.size(source(i));
                if (from < 0 || size == 0)
                    continue;
                std::uint64_t nth = 0;
                for (std::size_t before = 0; before < i; ++before)
                    nth += rank_at(before) == from;
                meet(from, 1);
                bring_block(from, nth, receiving.at(source(i)), size);
            }
            leave();
        });
    }

private:
    /// bring(rank, to, size) for each block of others, beginning with another than they do.
    template <class Blocks, class Bring>
    void take(Blocks const& blocks, Bring&& bring)
    {
        for (int i = 1; i < lanes_.size(); ++i) {
            int const r = (lanes_.rank() + i) % lanes_.size();
            std::uint64_t const size = blocks.size(r);
            if (size == 0)
                continue;
            meet(r, 1);
            bring(r, blocks.at(r), size);
        }
    }

    /// Of all ranks, those for others that have any bytes.
    template <class Blocks>
    void offer(Blocks const& blocks)
    {
        for (int r = 0, n = lanes_.size(); r < n; ++r)
            if (std::uint64_t const size = blocks.size(r); r != lanes_.rank() && size != 0)
                give(r, blocks.at(r), size);
        offer();
    }
    /// Adds a block to the table, behind those for the same rank.
    void give(int rank, void const* from, std::uint64_t bytes) noexcept
    {
        lane_block* const end = table_.data() + given_;
        lane_block* at = end;
        while (at != table_.data() && at[-1].entry.rank > rank)
            --at;
        std::move_backward(at, end, end + 1);
        *at = {{rank, lane_entry::copied, 0, bytes}, 0, from, nullptr};
        ++given_;
        bytes_ += bytes;
    }
    /// Offers the table, as block_table does.
    void offer()
    {
        std::span<lane_block> const table = std::span(table_).first(given_);
        bool const posts = lanes_.are_posted(bytes_, one_way_);
        std::uint64_t end = table.size() * sizeof(lane_entry);
        for (lane_block& b : table) {
            std::uint64_t const place = posts || b.entry.bytes == 0 ? 0 : lanes_.memory().find(b.from, b.entry.bytes);
            if (place != 0) {
                b.entry.how = lane_entry::read;
                b.entry.where = place;
                is_lent_ = true;
            } else if (lane_block const* const same = find_copy(table, b); same != &b) {
                b.entry.where = same->entry.where;
                b.from = nullptr;  // what several get is copied once
            } else {
                b.entry.where = end;
                end += (b.entry.bytes + 7) & ~std::uint64_t{7};
            }
        }
        offers_.offer_table(table, end, nullptr, 1, all_ranks);
    }
    /// The first that has the same bytes, at most `b` itself.
    [[nodiscard]] static lane_block const* find_copy(std::span<lane_block const> table, lane_block const& b) noexcept
    {
        lane_block const* at = table.data();
        while (at != &b && (at->from != b.from || at->entry.bytes != b.entry.bytes))
            ++at;
        return at;
    }
    template <class Each>
    void for_each_lent(Each&& each)
    {
        for (lane_block const& b : std::span(table_).first(given_))
            if (b.entry.how == lane_entry::read)
                each(b.entry.rank);
    }
    /// Needs nothing of others any more, and stays until they need nothing of the table's.
    void leave()
    {
        if (!is_lent_)
            return;
        lanes_.publish(number_, 2, all_ranks);
        for_each_lent([this](int rank) { stay(rank); });
    }
    std::array<lane_block, most_given> table_;
    std::size_t given_ = 0;
    std::uint64_t bytes_ = 0;  ///< of them
};

} // namespace towline::collective
