#pragma once
// What matchers say to each other (docs/wire.md, "Matching"). Little-endian. Everything that arrives is checked before it is believed.

#include <cstddef>
#include <cstdint>

namespace towline::matching::wire {

/// Engine handlers, numbered from the first that the matcher registers.
enum kind : unsigned {
    eager = 0,        ///< eager_header, bytes of the message
    ready = 1,        ///< the same; the sender says that a receive is posted
    synchronous = 2,  ///< synchronous_header, bytes of the message
    lent = 3,         ///< lent_header; the bytes are the engine message's one block
    matched = 4,      ///< matched_message, to the sender
    throttle = 5,     ///< throttle_message, to the sender
    withdraw = 6,     ///< withdraw_message, to the receiver
    withdrawn = 7,    ///< withdrawn_message, to the sender
    here = 8,         ///< here_header; the bytes are in the sender's heap until it is told that they were copied
    relayed = 9,      ///< relayed_header; the bytes come in a relay block (relay.hpp)
    laid = 10,        ///< laid_header; the same, and the data have gaps
    help = 11,        ///< help_header, to the sender of a laid message: copy with me
    kinds = 12,
};

/// 12 bytes: 8 bytes of data with their envelope are 20, and up to 44 fit one cell of a ring.
struct eager_header {
    std::uint32_t context;
    std::int32_t source;
    std::int32_t tag;
};
static_assert(sizeof(eager_header) == 12);

struct synchronous_header {
    std::uint32_t context;
    std::int32_t source;
    std::int32_t tag;
    std::uint32_t reserved;
    std::uint64_t token;  ///< the sender's number of the send, comes back in matched; not 0
};
static_assert(sizeof(synchronous_header) == 24);

struct lent_header {
    std::uint32_t context;
    std::int32_t source;
    std::int32_t tag;
    std::uint32_t flags;
    std::uint64_t token;  ///< the sender's number of the send; not 0
};
static_assert(sizeof(lent_header) == 24);
inline constexpr std::uint32_t is_ready = 1;
inline constexpr std::uint32_t wants_match = 2;  ///< the sender asks when it is matched

struct here_header {
    std::uint32_t context;
    std::int32_t source;
    std::int32_t tag;
    std::uint32_t bytes;
    std::uint64_t token;  ///< the sender's number of the send, comes back in matched once the receiver has the bytes; not 0
    std::uint64_t where;  ///< engine::share
};
static_assert(sizeof(here_header) == 32);

struct laid_header {
    std::uint32_t context;
    std::int32_t source;
    std::int32_t tag;
    std::uint32_t words;  ///< of the form
    std::uint64_t token;  ///< as in here_header
    std::uint64_t bytes;  ///< of data
    std::uint64_t where;  ///< of the memory that the layout refers to, as engine::share tells it
    std::uint64_t span;   ///< bytes of that memory
    std::uint64_t form;   ///< where the layout is written down (docs/wire.md, "Layouts")
    std::uint64_t meaning[2];  ///< both 0: not told
};
static_assert(sizeof(laid_header) == 72);

/// Whether it can be one, whatever its addresses lead to.
[[nodiscard]] constexpr bool is_possible(here_header const& h) noexcept { return h.token != 0 && h.where != 0; }
[[nodiscard]] constexpr bool is_possible(laid_header const& h) noexcept
{
    return h.token != 0 && h.where != 0 && h.form != 0 && h.words != 0 && static_cast<std::int64_t>(h.bytes) > 0 &&
           static_cast<std::int64_t>(h.span) > 0;
}

struct relayed_header {
    std::uint32_t context;
    std::int32_t source;
    std::int32_t tag;
    std::uint32_t bytes;   ///< at most thresholds::relay_most_laid
    std::uint32_t number;  ///< of the use of the block; not 0
    std::uint32_t ready;   ///< bytes that are there in any case | past_caches
    std::uint64_t where;   ///< of the block, as engine::share tells it
};
static_assert(sizeof(relayed_header) == 32);
inline constexpr std::uint32_t past_caches = 0x80000000;

struct help_header {
    std::uint64_t token;   ///< of the message, as in laid_header
    std::uint64_t task;    ///< where the engine::copy_task is, as engine::offer tells it
    std::uint32_t number;  ///< of its use
    std::uint32_t words;   ///< of the form of the receiver's layout; 0: its data lie in a row
    std::uint64_t bytes;   ///< of data that the receiver's layout has room for
    std::uint64_t where;   ///< of the memory that it refers to, as engine::offer tells it
    std::uint64_t span;    ///< bytes of that memory
    std::uint64_t form;
    std::uint64_t meaning[2];
};
static_assert(sizeof(help_header) == 72);
[[nodiscard]] constexpr bool is_possible(help_header const& h) noexcept
{
    return h.token != 0 && h.task != 0 && h.where != 0 && (h.words == 0) == (h.form == 0) && static_cast<std::int64_t>(h.bytes) > 0 &&
           static_cast<std::int64_t>(h.span) > 0;
}

struct matched_message {
    std::uint64_t token;
};

struct withdraw_message {
    std::uint64_t token;
};

struct withdrawn_message {
    std::uint64_t token;
    std::uint32_t dropped;  ///< 1: the message is gone; 0: it has been matched, or never was
    std::uint32_t reserved;
};
static_assert(sizeof(withdrawn_message) == 16);

struct throttle_message {
    std::uint32_t number;  ///< counts the receiver's throttle messages to this sender; an older one than the last is stale
    std::uint32_t on;
};
static_assert(sizeof(throttle_message) == 8);

} // namespace towline::matching::wire
