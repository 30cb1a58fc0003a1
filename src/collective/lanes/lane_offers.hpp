#pragma once
// What the ranks offer each other in one operation over lanes.

#include "base/copy.hpp"
#include "collective/lanes/lane_steps.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace towline::collective {

struct lane_block;
struct lane_entry;
class lane_table;

/// As one rank sees it. The caller has found that its own slot may be written (lanes::may_write), and meets others before it looks at their
/// slots.
class lane_offers {
public:
    lane_offers(lanes& l, std::uint64_t number, called operation) noexcept : lanes_(l), number_(number), operation_(operation) {}
    [[nodiscard]] int rank() const noexcept { return lanes_.rank(); }

    /// A copy, in the slot or behind it: at most lanes::payload_bytes.
    void post(void const* data, std::uint64_t bytes, unread_part, int stage, int whom) noexcept;
    /// Bytes where they are, by the words of node_memory::find: to be read, and to be written (0: nothing). `is_copy`: what is to be read is
    /// a copy.
    void lend(std::uint64_t send, std::uint64_t send_bytes, bool is_copy, std::uint64_t receive, std::uint64_t receive_bytes, int stage,
              int whom) noexcept;
    /// A table whose copies end at `end`; not null: without copies, and it lies at `shared`.
    void offer_table(std::span<lane_block const>, std::uint64_t end, std::byte* shared, int stage, int whom);
    /// Nothing, but a number.
    void tell(std::uint64_t number, int stage, int whom) noexcept;
    [[nodiscard]] called operation() const noexcept { return operation_; }
    [[nodiscard]] lanes::slot::terms terms(lanes::offer what, std::uint64_t bytes) const noexcept { return {what, bytes, operation_}; }

    // Offers of others. The functions throw a lane_run::state where `rank` offers something else or has failed, or its offer cannot be
    // reached. After the use of something lent the caller calls lanes::end_use.

    /// Throws where that rank, which has offered something, is in another operation, or has failed.
    void require_same(int rank, lanes::slot::terms const& there) const
    {
        if (there.operation != operation_ || there.what == lanes::offer::failed) [[unlikely]]
            refuse(rank, there);
    }
    /// That rank finished the operation without what it was to offer.
    [[noreturn, gnu::cold]] void refuse_finished(int rank) const;
    /// What that rank gave, in the same operation, does not fit what this one did.
    [[noreturn, gnu::cold]] void refuse_unfit(int rank) const;
    /// `size` bytes at `offset` of `expected` that it offers.
    [[nodiscard]] std::byte const* source(int rank, std::uint64_t offset, std::uint64_t size, std::uint64_t expected);
    /// Such bytes, and whether the reader takes their cache lines (base/copy.hpp).
    struct readable {
        std::byte const* at;
        bool takes;
        /// `bytes` of them from `from` on.
        void has_read(std::uint64_t from, std::uint64_t bytes) const noexcept
        {
            if (takes)
                base::take_lines(at + from, bytes);
        }
        void copy_to(void* to, std::uint64_t from, std::uint64_t bytes) const noexcept;
    };
    [[nodiscard]] readable find_readable(int rank, std::uint64_t offset, std::uint64_t size, std::uint64_t expected);
    /// `size` bytes at `offset` of what it lent to be written.
    [[nodiscard]] std::byte* target(int rank, std::uint64_t offset, std::uint64_t size);
    /// Copies what source() says.
    void bring(int rank, void* to, std::uint64_t offset, std::uint64_t size, std::uint64_t expected);
    /// bring() and its other direction, of a block that two ranks move together: each unit is moved by the rank that claims it first. Both
    /// have lent something.
    void bring_share(int rank, void* to, std::uint64_t offset, std::uint64_t size, std::uint64_t expected);
    void push_share(int rank, void const* from, std::uint64_t offset, std::uint64_t size);
    /// The nth block for this rank in the table of `rank`, which must have so many bytes.
    [[nodiscard]] readable find_block(int rank, std::uint64_t nth, std::uint64_t bytes);
    /// Copies it.
    void bring_block(int rank, std::uint64_t nth, void* to, std::uint64_t bytes) { find_block(rank, nth, bytes).copy_to(to, 0, bytes); }
    /// Copies into the block of so many bytes that `rank` wants from this rank.
    void push_block(int rank, void const* from, std::uint64_t bytes);
    /// Calls read(bytes) with it.
    template <class Read>
    void look_at(int rank, std::uint64_t offset, std::uint64_t size, std::uint64_t expected, Read&& read)
    {
        readable const from = find_readable(rank, offset, size, expected);
        read(from.at);
        from.has_read(0, size);
    }

private:
    struct found {
        std::byte const* at;
        bool is_theirs;  ///< lent by another rank
        bool is_copy;    ///< of another rank, which writes that memory again
    };
    /// Only this rank reads what that one offers, so that it may take the cache lines, and that is faster (base/copy.hpp).
    [[nodiscard]] bool takes_lines_of(found, std::uint64_t size) const noexcept;
    [[nodiscard]] std::byte* reach(std::uint64_t word, std::uint64_t bytes);
    /// What that rank offers; if it is lent, it stays from now on. Throws if the rank has failed.
    [[nodiscard]] lanes::slot::terms terms_of(int rank);
    /// source() and target(), uncounted.
    [[nodiscard]] found find_source(int rank, std::uint64_t offset, std::uint64_t size, std::uint64_t expected);
    [[nodiscard]] found count_source(int rank, std::uint64_t offset, std::uint64_t size, std::uint64_t expected);
    [[nodiscard]] std::byte* find_target(int rank, std::uint64_t offset, std::uint64_t size);
    /// Calls move(at, bytes) for each unit of a block that this rank claims: rank 1 claims from the block's begin on, rank 0 from its end.
    /// The claims are counted in the slot of rank 1.
    template <class Move>
    void claim_units(std::uint64_t size, Move&& move);
    void prepare_payload(std::uint64_t bytes) noexcept;
    [[nodiscard]] lane_table table_of(int rank);
    [[nodiscard]] lane_entry entry_for_us(int rank, lane_table const&, std::uint64_t nth, std::uint64_t bytes) const;
    /// What an entry of that rank's table lent.
    [[nodiscard]] std::byte* lent_by(int rank, lane_entry const&);

    [[noreturn, gnu::cold]] void refuse(int rank, lanes::slot::terms const&) const;

    lanes& lanes_;
    std::uint64_t const number_;
    called const operation_;
};

/// Whether the one reader of so many bytes takes their cache lines (base/copy.hpp), where their writer writes them again and again.
[[nodiscard]] bool takes_copy(std::uint64_t bytes) noexcept;
/// memcpy, for bytes that may be many.
void move_bytes(void* to, void const* from, std::uint64_t bytes) noexcept;

} // namespace towline::collective
