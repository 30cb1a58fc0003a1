#pragma once
// Every size and duration by which the engine chooses, in one place.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace towline::engine::thresholds {

/// Sizes that suit one machine and not the next, in bytes: an engine holds its own (setup::sizes).
/// What is here is what is shipped.
struct sizes {
    // How blocks travel.

    /// Given heap blocks from this size on change owner where the transport maps; smaller ones are copied into the message.
    /// One byte: "no byte of a moved block is copied, at any size"; a descriptor costs no more than the bytes it replaces.
    std::size_t hand_over = 1;
    /// Lent blocks that lie in an arena are mapped from this size on; below it a copy in the message costs less than the
    /// message that gives them back (about 120 ns, limits.md), and the sender's buffer is free at once.
    std::size_t map_lent = 2048;
    /// Lent, copied and unmapped blocks travel in the message while the whole of it fits the transport's max_eager and this.
    std::size_t inline_block = 16384;
    /// Lent plain memory that is too big for the message is attached from this size on, where the receiver copies it out; below it is
    /// staged in a heap block. One byte: always attached.
    std::size_t attach_lent = 1;
    /// One process_vm_readv moves at most this much, so that a fault in a buffer costs little and a signal is never long delayed.
    std::size_t attach_chunk = std::size_t{1} << 20;

    // Copying together with the sender (cooperation.hpp).

    /// Mapped blocks that are fetched into an arena are copied by both sides from this size on.
    std::size_t cooperate = std::size_t{32} << 10;
    /// But up to this size one that its owner writes again and again by its receiver alone, which takes its lines (base/copy.hpp).
    std::size_t take_alone = std::size_t{512} << 10;
    /// Bytes that one side takes at once, at least and at most.
    std::size_t share_least = std::size_t{8} << 10;
    std::size_t share_most = std::size_t{128} << 10;
    /// Bytes that a sender copies for its receivers before it looks at its other messages again.
    std::size_t help_portion = std::size_t{1} << 20;

    // Pushing (pushing.hpp).

    /// Lent plain memory that does not fit the message is pushed by a sender that is there, from and up to this size.
    std::size_t push_least = std::size_t{4} << 10;
    std::size_t push_most = std::size_t{64} << 20;

    // Flow control.

    /// Bytes that a receiver asks for ahead when a block comes in pieces (at least two pieces).
    std::size_t pull_window = 64 * 1024;

    friend bool operator==(sizes const&, sizes const&) = default;
};

// Pushing.

/// A receiver waits so long for a sender that it has called: a few times what one in the library needs, which a sanitizer makes a hundred
/// times more.
#ifdef TOWLINE_SANITIZED
inline constexpr std::chrono::nanoseconds push_entry{200'000};
#else
inline constexpr std::chrono::nanoseconds push_entry{700};
#endif

// Flow control.

/// Bytes that wait for one peer before a plain thread makes progress instead of adding to them. Handlers always add.
inline constexpr std::size_t queue_bound = 64 * 1024;
/// Messages handled per transport in one poll of a waiting thread.
inline constexpr int poll_budget = 16;

// Waiting. Spinning wins below the cost of a wake-up (7 to 19 us, limits.md); where ranks outnumber cores the peer that
// would answer may need this very core, so yield nearly at once.

/// Polls that find nothing before the processor is told that this is a spin; about 2 us.
inline constexpr std::uint32_t eager_polls = 64;
/// Looks of who takes a message itself (engine::take_next) before it waits as others do; about 2 us.
inline constexpr std::uint32_t looks = 512;
/// And before it polls, lest its other peers wait.
inline constexpr std::uint32_t looks_between_polls = 64;
/// Polls that find nothing before the first yield. Where ranks crowd, or a core is shared otherwise, each poll is one that another rank does
/// not do.
inline constexpr std::uint32_t spins = 4096;
inline constexpr std::uint32_t spins_shared = 2;
/// Yields before the first sleep. Where ranks crowd, a turn of all of them is as many as there are ranks to a core.
inline constexpr std::uint32_t yields = 256;
inline constexpr std::uint32_t yields_oversubscribed = 200;
/// A yield that takes longer than this was somebody else's turn on this core.
inline constexpr std::chrono::nanoseconds own_turn{1000};
/// And longer than this, of somebody outside the job, who computes: the next would be, too, while a sleeper who is woken is back at once.
inline constexpr std::chrono::nanoseconds foreign_turn = std::chrono::microseconds{100};
/// A sleeping waiter looks for deaths this often, should nobody have woken it.
inline constexpr std::chrono::nanoseconds heartbeat = std::chrono::milliseconds{200};
/// A wait that lasts so long is told of (engine::on_long_wait).
inline constexpr std::chrono::nanoseconds long_wait = std::chrono::milliseconds{150};
/// Sleep while something waits for room at a peer: nobody tells when there is.
inline constexpr std::chrono::nanoseconds room_nap = std::chrono::microseconds{100};

// The copy engine (onload.cpp).

/// Blocks from this size on are left to the helper, where the receiver goes on meanwhile; below it the wake-up costs more than the copy.
inline constexpr std::size_t onload_least = std::size_t{128} << 10;
/// So long the helper looks for messages without a pause, on a core of its own, after it was told that a large transfer has begun or when
/// something has come.
inline constexpr std::chrono::nanoseconds attention = std::chrono::milliseconds{2};
/// On a core that it shares: looks before it sleeps where senders wake it.
inline constexpr std::uint32_t attentive_polls = 256;

// The background thread (background.cpp).

inline constexpr std::chrono::nanoseconds watch_first = std::chrono::microseconds{50};
inline constexpr std::chrono::nanoseconds watch_last = std::chrono::milliseconds{1};
inline constexpr std::chrono::nanoseconds watch_last_oversubscribed = std::chrono::milliseconds{8};
/// Polls that find nothing before the background thread sleeps: it shares its core with the program.
inline constexpr std::uint32_t background_spins = 64;
inline constexpr std::uint32_t background_yields = 8;

} // namespace towline::engine::thresholds
