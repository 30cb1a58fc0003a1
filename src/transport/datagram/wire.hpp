#pragma once
// The packets of the datagram transport, as docs/wire.md describes them. Numbers are little-endian. Whatever is read here may be anything:
// readers return nothing for what breaks the format.

#include "transport/transport.hpp"

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace towline::transport::datagram::wire {

static_assert(std::endian::native == std::endian::little, "packets are little-endian, and so are the processors that Towline runs on");

inline constexpr std::uint8_t version = 1;

enum class kind : std::uint8_t {
    hello = 1,    ///< first packet to a peer; wants a welcome
    welcome = 2,  ///< the answer, of the same form
    data = 3,     ///< records
    ack = 4,      ///< what was received, bit by bit
};

enum flag : std::uint8_t {
    asks = 1,     ///< an ack that wants an answer immediately (a probe); its number is to be told again
    answers = 2,  ///< an ack that answers a probe; its number is the probe's
    sealed = 4,   ///< encrypted and authenticated: a counter of 8 bytes follows the header, a tag of 16 ends the packet
    partial = 16, ///< more than what is acknowledged here has arrived; an ack tells what
    summed = 8,   ///< a CRC-32C of all before it ends the packet, behind 4 bytes of zero
};

/// Begins every packet but hello and welcome.
struct header {
    std::uint8_t form = 0;            ///< version << 4 | kind
    std::uint8_t flags = 0;
    std::uint16_t level = 0;          ///< the peer may send numbers before acknowledged + level
    std::uint32_t number = 0;         ///< of a data packet; of a probe, or of the probe that is answered
    std::uint32_t acknowledged = 0;   ///< every number before this one was received
    std::uint32_t index = 0;          ///< the sender's index at the receiver, from the receiver's hello or welcome
};
static_assert(sizeof(header) == 16);

[[nodiscard]] constexpr std::uint8_t form_of(kind k) noexcept
{
    return static_cast<std::uint8_t>(version << 4 | static_cast<std::uint8_t>(k));
}

/// Hello and welcome, without the 16 bytes of keyed hash that follow.
struct greeting {
    std::uint8_t form = 0;
    std::uint8_t options = 0;         ///< option bits; both sides must have the same
    std::uint16_t max_datagram = 0;   ///< largest that the sender can receive
    std::uint32_t rank = 0;           ///< of the sender
    std::uint32_t epoch = 0;          ///< of the sender's process: another one is another process
    std::uint32_t to_rank = 0;
    std::uint32_t to_epoch = 0;       ///< as the receiver has published it
    std::uint32_t index = 0;          ///< what the receiver writes into the headers of its packets
    std::uint32_t number = 0;         ///< of the sender's first data packet
    std::uint32_t level = 0;          ///< data packets that the sender takes for a beginning
};
static_assert(sizeof(greeting) == 32);
inline constexpr std::size_t hash_bytes = 16;
inline constexpr std::size_t greeting_bytes = sizeof(greeting) + hash_bytes;
enum option : std::uint8_t { option_sealed = 1, option_summed = 2, option_bare = 4 };

inline constexpr std::size_t counter_bytes = 8;
inline constexpr std::size_t tag_bytes = 16;
inline constexpr std::size_t sum_bytes = 8;  ///< 4 of zero, 4 of CRC

/// Data packets hold records, each at a multiple of 8: this head, then its bytes.
struct record_head {
    std::uint16_t bytes = 0;          ///< of this record
    handler_id handler = 0;
    std::uint8_t part = 0;            ///< see record_part
    std::uint32_t place = 0;          ///< `first`: bytes of the whole message; `more`: those before this piece; `whole`: 0
};
static_assert(sizeof(record_head) == 8);
enum record_part : std::uint8_t { whole = 0, first = 1, more = 2 };

[[nodiscard]] constexpr std::size_t padded(std::size_t bytes) noexcept
{
    return (bytes + 7) & ~std::size_t{7};
}

struct record {
    record_head head;
    std::span<std::byte const> bytes;
    std::size_t next = 0;  ///< where the next record begins; at least the payload's size if this was the last
};

/// The record at `at` of a packet's payload; nothing if it breaks the format. Requires at < payload.size().
[[nodiscard]] inline std::optional<record> read_record(std::span<std::byte const> payload, std::size_t at) noexcept
{
    record r;
    if (payload.size() - at < sizeof r.head)
        return std::nullopt;
    std::memcpy(&r.head, payload.data() + at, sizeof r.head);
    std::size_t const begin = at + sizeof r.head;
    if (payload.size() - begin < r.head.bytes || r.head.part > more)
        return std::nullopt;
    r.bytes = payload.subspan(begin, r.head.bytes);
    r.next = begin + padded(r.head.bytes);
    return r;
}

/// Most 64-bit words of the bitmap in an ack: bit i of word w says that number acknowledged + 1 + 64 w + i was received.
inline constexpr std::size_t most_ack_words = 32;

/// The header of a packet that is no greeting; nothing if it is none of this version.
[[nodiscard]] inline std::optional<header> read_header(std::span<std::byte const> packet) noexcept
{
    header h;
    if (packet.size() < sizeof h)
        return std::nullopt;
    std::memcpy(&h, packet.data(), sizeof h);
    if (h.form != form_of(kind::data) && h.form != form_of(kind::ack))
        return std::nullopt;
    return h;
}

[[nodiscard]] inline bool is_greeting(std::span<std::byte const> packet) noexcept
{
    if (packet.size() != greeting_bytes)
        return false;
    auto const form = static_cast<std::uint8_t>(packet[0]);
    return form == form_of(kind::hello) || form == form_of(kind::welcome);
}

/// How far number a is behind number b; numbers go round.
[[nodiscard]] constexpr std::int32_t distance(std::uint32_t b, std::uint32_t a) noexcept
{
    return static_cast<std::int32_t>(a - b);
}

} // namespace towline::transport::datagram::wire
