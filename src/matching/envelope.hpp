#pragma once
// What is written on a message, and what a receive asks for.

#include "engine/engine.hpp"

#include <cstdint>

namespace towline::matching {

using engine::peer;
/// Separates traffic: messages match receives of the same context only. The floor above chooses the numbers; all are allowed.
using context_id = std::uint32_t;

inline constexpr std::int32_t any_source = -1;
inline constexpr std::int32_t any_tag = -1;
inline constexpr peer no_peer = ~peer{0};

/// Source and tag of a message are 0 or more.
struct envelope {
    context_id context = 0;
    std::int32_t source = 0;  ///< the sender's rank within the context
    std::int32_t tag = 0;
};

/// The same on its way to a peer, as the wire has it. It fits two registers. Stored in pieces and loaded as a whole it would have to wait
/// until its stores have left for the cache, behind those of the last message.
struct packed_envelope {
    std::uint64_t context_and_source;
    std::int32_t tag;

    packed_envelope(context_id context, std::int32_t source, std::int32_t the_tag) noexcept
        : context_and_source(context | std::uint64_t{static_cast<std::uint32_t>(source)} << 32), tag(the_tag)
    {
    }
    packed_envelope(envelope const& e) noexcept : packed_envelope(e.context, e.source, e.tag) {}  // NOLINT: not explicit, it is one
    [[nodiscard]] envelope unpacked() const noexcept
    {
        return {static_cast<context_id>(context_and_source), static_cast<std::int32_t>(context_and_source >> 32), tag};
    }
};

/// Which messages a receive or a probe takes.
struct pattern {
    context_id context = 0;
    std::int32_t source = any_source;
    std::int32_t tag = any_tag;

    [[nodiscard]] bool matches(envelope const& e) const noexcept
    {
        return e.context == context && (source == any_source || e.source == source) && (tag == any_tag || e.tag == tag);
    }
    friend bool operator==(pattern const&, pattern const&) = default;
};

/// How an operation ended.
enum class outcome : std::uint8_t {
    ok,
    truncated,  ///< the message was longer than the buffer: the bytes that fit are there if they were in reach, the rest is lost
    peer_died,  ///< the other side ended before it was done
    lost,       ///< the bytes could not be copied, although the sender lives; or there was no memory to unpack them
    unlike,     ///< the receive's `sink::unpack` says that the bytes are no message for it
};

/// Of a receive: what came. Of a send: `error` alone counts.
struct status {
    std::int32_t source = any_source;
    std::int32_t tag = any_tag;
    std::uint64_t bytes = 0;  ///< the message's true size, also if it was truncated
    outcome error = outcome::ok;
    bool cancelled = false;
};

} // namespace towline::matching
