#pragma once
// Every size and count by which the matcher chooses, in one place. What a program may change is in matching::options.

#include <cstddef>
#include <cstdint>

namespace towline::matching::thresholds {

// Small messages.

/// Bytes of a message that engine::try_send_tiny may carry: with its envelope and the transport's word it fits four cache lines.
inline constexpr std::uint64_t tiny = 236;
/// Polls of a nonblocking send that finds no room, before it waits in a slot: a peer that takes messages has room after a few.
inline constexpr int room_polls = 64;

/// Messages from memory outside the heap are eager up to this size, in both faces: they are copied twice in any case, and with its
/// envelope one is a message of the transport.
inline constexpr std::size_t eager_outside = 8192;

// Relayed messages (relay.hpp), in bytes.

/// The smallest and the largest message that is relayed, and the largest of data with gaps, of which smaller ones than laid_least are
/// packed. (Rewritten, Zen 4, cores that share caches, ring and relay: 1 KiB 262 and 260 ns, 1300 B 294 and 296, 1600 B 373 and 327.)
inline constexpr std::uint64_t relay_least = 1536;
inline constexpr std::uint64_t laid_least = 2048;
inline constexpr std::uint64_t relay_most = std::uint64_t{1} << 20;
inline constexpr std::uint64_t relay_most_laid = std::uint64_t{8} << 20;
/// Up to this size a path uses all its blocks; above it, two: they are large.
inline constexpr std::uint64_t relay_most_of_many = std::uint64_t{256} << 10;
/// All relay blocks of a process together.
inline constexpr std::uint64_t relay_most_of_all = std::uint64_t{64} << 20;
/// The sender announces a message when its first piece is copied. Up to relay_whole there is one piece: looking for more would cost more
/// than it hides. A piece is a quarter of the message, within these limits.
inline constexpr std::uint64_t relay_whole = 4096;
inline constexpr std::uint64_t relay_piece_most = 8192;
/// Up to this size the receiver takes the block's cache lines (base/copy.hpp); the lines of a larger one are in no cache when the sender
/// writes them again. (Rewritten data, Zen 4, cores that share caches: 64 KiB 9.8 us without, 3.5 with; 256 KiB 19 and 12; 512 KiB 25 both
/// ways. Separate cores: 36 and 8.2; 134 and 23. Only Zen 5 was seen to lose, at 64 KiB: 1.43 and 1.70.)
inline constexpr std::uint64_t relay_taken_most = 262144;
/// Looks (about 40 ns each) of the receiver for the next piece between two questions whether the sender has ended, and yields.
inline constexpr std::uint32_t relay_looks = 4096;
/// The memory of what was sent lately, by which rewritten data are recognized, covers this many bytes of messages.
inline constexpr std::uint64_t relay_remembers = std::uint64_t{256} << 20;
/// After so many messages of one size class that had not been rewritten, only each (relay_calm_skips + 1)-th is looked at. (A look takes 14
/// to 25 ns, a tenth of an untouched message of 8 KiB; a program that begins to rewrite is noticed so many messages later. Not each eighth:
/// of programs that send 4 or 8 messages in a turn always the same one would be looked at.)
inline constexpr std::uint8_t relay_calm_after = 16, relay_calm_skips = 6;

// Unpacking.

/// From this size on a handler leaves it to a thread that does not poll (engine::defer): it takes a few microseconds.
inline constexpr std::uint64_t long_unpacking = std::uint64_t{32} << 10;
/// Laid messages are copied by both sides from this size on (and sizes::cooperate): asking the sender has to pay. Assumed, not measured.
inline constexpr std::uint64_t laid_together = std::uint64_t{128} << 10;

// Early messages.

/// What the account of a sender is charged for each, besides its bytes: about what a node takes.
inline constexpr std::uint64_t early_cost = 128;
/// Nodes that are kept for the next ones; a burst of more gives its memory back.
inline constexpr std::size_t early_nodes = 1024;

// Layouts that a receiver remembers (laid.cpp): what one may weigh, and all of one kind, in bytes.

inline constexpr std::size_t layout_most = std::size_t{8} << 20;
inline constexpr std::size_t layouts_most = std::size_t{64} << 20;

/// Polls, at most, that look for a message to oneself which is cancelled while it lies in this rank's own queue.
inline constexpr int withdrawal_polls = 256;
/// Messages that are dropped, and ready sends that find no receive, are logged one by one up to this number; then at powers of two.
inline constexpr std::uint64_t logged_singly = 100;
/// Spins on the matcher's lock before a thread yields: its holder, which does some stores, has lost its core.
inline constexpr std::uint32_t lock_spins = 64;

} // namespace towline::matching::thresholds
