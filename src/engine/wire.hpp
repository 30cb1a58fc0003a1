#pragma once
// What engines say to each other (docs/wire.md, "Engine messages"). Little-endian, 8-byte aligned.
// Everything that arrives is checked before it is believed; the checks of lengths are here.

#include "transport/transport.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace towline::engine::wire {

/// Transport handler ids. From `first_direct` on, id - first_direct is an engine handler and the payload is its head, nothing else.
enum kind : transport::handler_id {
    message = 0,  ///< message_header, descriptors, head, what travels inside
    fragment = 1, ///< part of a message that is larger than the transport's max_eager
    done = 2,     ///< to the sender: delivered, or what was lent is free
    pull = 3,     ///< to the sender: send these bytes of a block
    piece = 4,    ///< bytes of a block
    help = 5,     ///< to the sender: copy with me
    helped = 6,   ///< to the receiver: what I took is copied
    push = 7,     ///< to the sender: fill my window with this block
    pushed = 8,   ///< to the receiver: I have seen that the window is closed
    first_direct = 16,
};
inline constexpr unsigned direct_handlers = 256 - first_direct;

inline constexpr std::uint64_t wants_delivered = 1;
inline constexpr std::uint64_t wants_released = 2;
inline constexpr std::uint64_t was_refused = 4;  ///< only in done_message: the message could not be understood
inline constexpr std::uint64_t flag_bits = 3;
inline constexpr std::uint64_t flag_mask = (1 << flag_bits) - 1;

struct message_header {
    std::uint32_t head_bytes;
    std::uint16_t handler;
    std::uint16_t blocks;
    std::uint64_t id_flags;  ///< sender's number of the message << flag_bits | wants_delivered | wants_released
};
static_assert(sizeof(message_header) == 16);

/// How a block travels.
enum class how : std::uint8_t {
    inside,    ///< its bytes are in the message
    given,     ///< where = shared address; the receiver owns the heap block now
    staged,    ///< the same, and the block is a copy that the sender made
    mapped,    ///< where = shared address; lent
    attached,  ///< where = pointer in the sender
    exposed,   ///< 32 bytes inside: a transport::region
    pulled,    ///< only by `pull`
    given_here, staged_here, mapped_here,  ///< the same, but where = pointer; only from a rank to itself
    count_
};
/// The same of a block that a rank sends to itself.
[[nodiscard]] constexpr how within_a_rank(how h) noexcept
{
    return h == how::given ? how::given_here : h == how::staged ? how::staged_here : how::mapped_here;
}

struct descriptor {
    std::uint64_t size_how;  ///< size << 8 | how
    std::uint64_t where;

    [[nodiscard]] std::uint64_t size() const noexcept { return size_how >> 8; }
    [[nodiscard]] how kind() const noexcept { return static_cast<how>(size_how & 0xff); }
    static descriptor make(how kind, std::uint64_t size, std::uint64_t where) noexcept
    {
        return {size << 8 | static_cast<std::uint8_t>(kind), where};
    }
    /// Bytes that the block has inside the message, before padding.
    [[nodiscard]] std::uint64_t inside_bytes() const noexcept
    {
        switch (kind()) {
        case how::inside: return size();
        case how::exposed: return sizeof(transport::region);
        default: return 0;
        }
    }
};
static_assert(sizeof(descriptor) == 16);
inline constexpr std::uint64_t max_block = (std::uint64_t{1} << 56) - 1;
inline constexpr std::size_t max_blocks = 65535;

struct fragment_header {
    std::uint64_t stream;  ///< sender's number; pieces of one stream arrive in order
    std::uint64_t total;   ///< bytes of the whole message; the same in every fragment
    std::uint64_t offset;  ///< of this fragment
};
struct done_message {
    std::uint64_t id_flags;  ///< as in message_header: which of the two ends this is
};
struct pull_message {
    std::uint64_t id;      ///< sender's number of the message
    std::uint64_t fetch;   ///< receiver's number, comes back in the pieces
    std::uint64_t offset;  ///< in the block
    std::uint64_t bytes;
    std::uint64_t block;
};
struct piece_header {
    std::uint64_t fetch;
    std::uint64_t offset;  ///< `refused`: these bytes will not come
};
struct help_message {
    std::uint64_t id;           ///< sender's number of the message
    std::uint64_t number;       ///< receiver's, of the task (lower 32 bits) and of its use, which the task's cursor holds
    std::uint64_t task;         ///< shared address of a copy_task
    std::uint64_t destination;  ///< shared address; as many bytes as the block has
    std::uint64_t block;
};
struct helped_message {
    std::uint64_t number;  ///< as in help_message
};
struct push_message {
    std::uint64_t id;      ///< sender's number of the message
    std::uint64_t number;  ///< receiver's, of the window (lower 32 bits) and of its use, which the window's word holds
    std::uint64_t window;  ///< shared address of a push_window
    std::uint64_t block;
};
struct pushed_message {
    std::uint64_t number;  ///< as in push_message
};
inline constexpr std::uint64_t refused = ~std::uint64_t{0};

/// The smallest max_eager with which the protocol works: its control messages and one byte of data.
inline constexpr std::size_t least_eager = 64;

[[nodiscard]] constexpr std::uint64_t padded(std::uint64_t n) noexcept { return (n + 7) & ~std::uint64_t{7}; }

/// Reads a fixed-size struct from the front of a payload; the payload's length is checked first.
template <class T>
[[nodiscard]] std::optional<T> read(std::span<std::byte const> payload) noexcept
{
    if (payload.size() < sizeof(T))
        return std::nullopt;
    T value;
    std::memcpy(&value, payload.data(), sizeof value);
    return value;
}
/// The same for a payload that is nothing else.
template <class T>
[[nodiscard]] std::optional<T> read_whole(std::span<std::byte const> payload) noexcept
{
    return payload.size() == sizeof(T) ? read<T>(payload) : std::nullopt;
}
template <class T>
[[nodiscard]] std::span<std::byte const> bytes_of(T const& value) noexcept
{
    return {reinterpret_cast<std::byte const*>(&value), sizeof value};
}

} // namespace towline::engine::wire
