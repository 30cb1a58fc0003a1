#pragma once
// Wire formats of remote calls; docs/wire.md, "Remote calls". Little-endian. The footer is at the end of an engine message's head, so that
// the data before it stay aligned.

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace towline::remoting::wire {

inline constexpr std::uint32_t format_version = 3;

/// Engine handlers, in the order of their registration on every rank.
enum handler : std::uint16_t { request, reply, tree_request, control, handlers };

enum flag : std::uint16_t {
    packed = 1,     ///< the bytes before the footer are packed values, not an archive
    all_given = 2,  ///< every block is handed over: decoding copies nothing
};

struct request_footer {
    std::uint32_t action;      ///< index in the callee's table
    std::uint32_t slot;        ///< of the reply
    std::uint32_t generation;  ///< odd; 0: no reply is wanted
    std::uint16_t flags;
    std::uint16_t reserved;
};

enum class status : std::uint16_t { ok, exception, unknown_action, limit, archive, version, usage, peer, cancelled, count_ };

struct reply_footer {
    std::uint32_t slot;
    std::uint32_t generation;
    status outcome;            ///< not ok: an error_header precedes
    std::uint16_t flags;
    std::uint32_t entries;     ///< of a broadcast's reply; 0 otherwise
};

/// An error: type, then text, then padding to 4, then this, then the footer.
struct error_header {
    std::int32_t rank;         ///< where it happened (status::peer: the rank that died)
    std::uint32_t type_bytes;
    std::uint32_t text_bytes;
    std::uint32_t reserved;
};

/// A broadcast to a subtree: arguments, padding to 8, the ranks of the receiver's subtree (4 bytes each), padding to 8, then this.
struct tree_footer {
    std::uint64_t action_id;   ///< hash of the name: tables may differ
    std::uint64_t argument_bytes;
    std::uint32_t slot;
    std::uint32_t generation;
    std::uint32_t ranks;
    std::uint16_t flags;
    std::uint16_t reserved;
};

/// One result of a broadcast on the way to its caller; its bytes, padded to 16, follow. The blocks of all entries are the message's, in
/// order.
struct alignas(16) tree_entry {
    std::uint32_t rank;
    status outcome;
    std::uint16_t flags;
    std::uint32_t blocks;
    std::uint32_t reserved;
    std::uint64_t bytes;
    std::uint64_t reserved2;
};
static_assert(sizeof(request_footer) == 16 && sizeof(reply_footer) == 16 && sizeof(error_header) == 16 && sizeof(tree_footer) == 32 &&
              sizeof(tree_entry) == 32);

enum class control_kind : std::uint32_t {
    barrier,      ///< a: round
    end_report,   ///< a: deaths known, b: round, c: calls sent, d: calls handled
    end_verdict,  ///< a: deaths known, b: round, c: 1 done, 0 again
    goodbye,      ///< a: barriers passed; the sender left because of an exception
    stop,         ///< serve returns
    table,        ///< followed by the ids of the sender's action table
    cancel,       ///< a: slot, b: generation of a call that the sender no longer wants; a running call is not stopped
    count_
};
struct control_message {
    control_kind kind;
    std::uint32_t a;
    std::uint64_t b, c, d;
};
static_assert(sizeof(control_message) == 32);

/// The structure at the end of `bytes`; none if they are too few.
template <class T>
std::optional<T> tail(std::span<std::byte const> bytes) noexcept
{
    if (bytes.size() < sizeof(T))
        return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + bytes.size() - sizeof(T), sizeof(T));
    return value;
}
template <class T>
std::span<std::byte const> bytes_of(T const& value) noexcept
{
    return std::as_bytes(std::span(&value, 1));
}

} // namespace towline::remoting::wire
