#pragma once
// Which ways the messages and blocks of a rank took, and what each way cost: a board of every rank in the job file (docs/wire.md), for who
// watches the rank or comes when it has ended.

#include "base/counting.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace towline::job {

/// The ways of a message of MPI that compete (matching/ways.hpp), as TOWLINE_WAY has them.
inline constexpr std::array<std::string_view, 3> message_ways{"direct", "relay", "relay-past"};

/// X(name, text): the kinds of messages of which each has a way of its own. The order is that of the job file.
#define TOWLINE_MESSAGE_KINDS(X)                                                                                                         \
    X(eager,            "eager")                                                                                                         \
    X(heap_untouched,   "heap, untouched")                                                                                               \
    X(heap_rewritten,   "heap, rewritten")                                                                                               \
    X(plain_untouched,  "plain, untouched")                                                                                              \
    X(plain_rewritten,  "plain, rewritten")                                                                                              \
    X(laid_untouched,   "gaps, untouched")                                                                                               \
    X(laid_rewritten,   "gaps, rewritten")                                                                                               \
    X(laid_unreachable, "gaps, unreachable")                                                                                             \
    X(set,              "set")
enum class message_kind : std::uint8_t {
#define TOWLINE_KIND(name, text) name,
    TOWLINE_MESSAGE_KINDS(TOWLINE_KIND)
#undef TOWLINE_KIND
    count_
};
inline constexpr std::array message_kinds{
#define TOWLINE_KIND(name, text) std::string_view{text},
    TOWLINE_MESSAGE_KINDS(TOWLINE_KIND)
#undef TOWLINE_KIND
};

/// How blocks reached their destination, counted by their receiver: engine::arrival, in its order. (Handing over is no choice.)
inline constexpr std::array<std::string_view, 8> block_ways{"copied", "both_sides", "kernel",  "pushed",
                                                            "xpmem",  "onloaded",   "pieces", "got"};

/// Of one rank; 8192 bytes, zeros at first. What another process reads in it may be anything.
struct way_board {
    /// Classes by size: up to 1 KiB, up to 2 KiB, ..., up to 8 MiB and more.
    static constexpr unsigned sizes = 14, first_bits = 10;
    [[nodiscard]] static constexpr unsigned class_of(std::uint64_t bytes) noexcept
    {
        unsigned const bits = bytes <= 1 ? 0 : static_cast<unsigned>(std::bit_width(bytes - 1));
        return bits <= first_bits ? 0 : bits - first_bits < sizes ? bits - first_bits : sizes - 1;
    }
    [[nodiscard]] static constexpr std::uint64_t most_of(unsigned size_class) noexcept
    {
        return std::uint64_t{1} << (size_class + first_bits);
    }

    /// Messages of one kind and size class, of all peers. Written by the rank; each number is true by itself.
    struct messages {
        std::array<std::atomic<std::uint64_t>, message_ways.size()> sent;
        /// Of the last trial that ended: nanoseconds from one message to the next; 0: that way was not tried.
        std::array<std::atomic<std::uint32_t>, message_ways.size()> ns;
        /// Trials after which the messages of a peer went that way.
        std::array<std::atomic<std::uint32_t>, message_ways.size()> won;

        /// `is_shared`: several threads may count at once.
        void count(std::size_t way, bool is_shared) noexcept { base::add(sent[way], 1, !is_shared); }
    };
    [[nodiscard]] messages& of(message_kind kind, std::uint64_t bytes) noexcept
    {
        return sent[static_cast<std::size_t>(kind)][class_of(bytes)];
    }
    /// `is_shared`: several threads may count at once.
    void arrived(std::size_t way, std::uint64_t bytes, bool is_shared) noexcept
    {
        base::add(blocks[way][class_of(bytes)], 1, !is_shared);
    }

    std::array<std::array<messages, sizes>, message_kinds.size()> sent;
    std::array<std::array<std::atomic<std::uint64_t>, sizes>, block_ways.size()> blocks;
    std::array<std::byte, 8192 - sizeof(sent) - sizeof(blocks)> reserved;
};
static_assert(sizeof(way_board::messages) == 48 && sizeof(way_board) == 8192);
static_assert(message_kinds.size() == static_cast<std::size_t>(message_kind::count_));

} // namespace towline::job
