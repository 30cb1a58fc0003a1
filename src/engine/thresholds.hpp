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
    /// message that gives them back (about 120 ns), and the sender's buffer is free when the send returns.
    std::size_t map_lent = 2048;
    /// Lent, copied and unmapped blocks travel in the message while the whole of it fits the transport's max_eager and this.
    std::size_t inline_block = 16384;
    /// Lent plain memory that is too big for the message is attached from this size on, where the receiver copies it out; below it is
    /// staged in a heap block. One byte: always attached.
    std::size_t attach_lent = 1;
    /// One process_vm_readv moves at most this much, so that a fault in a buffer costs little and a signal is never long delayed.
    std::size_t attach_chunk = std::size_t{1} << 20;

    // Copying together with the sender (copy_task.hpp).

    /// Mapped blocks that are fetched into an arena are copied by both sides from this size on.
    std::size_t cooperate = std::size_t{32} << 10;
    /// Up to this size the receiver alone copies a block that its owner keeps rewriting, and takes ownership of its cache lines, too.
    std::size_t take_alone = std::size_t{512} << 10;
    /// Bytes of one share, at least and at most.
    std::size_t share_least = std::size_t{8} << 10;
    std::size_t share_most = std::size_t{128} << 10;
    /// Bytes that a sender copies for its receivers before it looks at its other messages again.
    std::size_t help_portion = std::size_t{1} << 20;

    // Pushing (push_window.hpp).

    /// Lent plain memory that does not fit the message is pushed by a sender that is there, from and up to this size.
    std::size_t push_least = std::size_t{4} << 10;
    std::size_t push_most = std::size_t{64} << 20;

    // Flow control.

    /// Bytes that a receiver asks for ahead when a block comes in pieces (at least two pieces).
    std::size_t pull_window = 64 * 1024;

    friend bool operator==(sizes const&, sizes const&) = default;
};

// Fetching.

/// The least pull window of a peer whose memory cannot be mapped, in bytes. A round trip over a network takes as long as the peer waits for
/// a processor; the transport limits what is in flight meanwhile.
inline constexpr std::uint64_t far_pull_window = std::uint64_t{8} << 20;

// Pushing.

/// How long a receiver waits for the sender that it asked to push: a few times what a sender that polls needs to answer. A sanitizer makes
/// that a hundred times longer.
#ifdef TOWLINE_SANITIZED
inline constexpr std::chrono::nanoseconds push_entry{200'000};
#else
inline constexpr std::chrono::nanoseconds push_entry{700};
#endif
/// Spins (about 40 ns each) of the receiver for the next piece of a sender that has begun, then it gives the sender up: many times what the
/// copy of a piece takes, so that only a descheduled sender is given up.
inline constexpr std::uint32_t piece_patience = 4096;
/// Spins of the sender for a free place in the window before it goes back to its other messages: a few copies of a piece.
inline constexpr std::uint32_t place_patience = 256;
/// Fetches for which a sender that did not answer is not asked again: 1, 3, 7, ... after each failure in a row, at most this many. Each
/// question costs push_entry.
inline constexpr std::uint32_t most_skipped = 64;

// Cooperation.

/// Tasks (128 bytes each) that are allocated together.
inline constexpr std::size_t task_batch = 16;
/// Spins of the receiver for the sender's share before it leaves the fetch to `helped` and returns: longer than a share takes to copy.
inline constexpr std::uint32_t share_patience = 4096;
/// Yields of an engine that must not go on before a peer's share is copied (it ends, or the peer died), then it naps between its looks.
inline constexpr int outlast_yields = 2000;
inline constexpr std::chrono::nanoseconds outlast_nap = std::chrono::microseconds{200};
/// A wait for a peer that is in the middle of a copy is logged this often: it is stopped, or gets no processor.
inline constexpr std::chrono::nanoseconds copier_report = std::chrono::seconds{5};

// Flow control.

/// Bytes queued for one peer from which on a plain thread waits for room instead of queueing more. Handlers always queue.
inline constexpr std::size_t queue_bound = 64 * 1024;
/// A thread that waits for room spins for this fraction of `spins` (or `spins_shared`): each of its rounds is a poll and a try to send.
inline constexpr std::uint32_t room_spin_fraction = 16;
/// Its rounds before it naps (room_nap) instead of yielding, and before it looks for deaths and says what it waits for.
inline constexpr std::uint32_t room_rounds = 4096;
inline constexpr std::uint32_t room_rounds_untold = 512;
/// How long a wait that is over stays for messages that found no room: they leave only when this process polls, and the program may not
/// call again for long. Longer than a turn of the processor (a descheduled receiver comes back), shorter than a person notices.
inline constexpr std::chrono::nanoseconds flush_patience = std::chrono::milliseconds{20};
/// Messages handled per transport in one poll of a waiting thread.
inline constexpr int poll_budget = 16;

// Waiting: spin, then yield, then sleep. Spinning wins below the cost of a wake-up (7 to 19 us). In an oversubscribed job
// (job::membership::is_oversubscribed) the peer that would answer may need this very core, so that a wait yields after two polls.

/// Polls that find nothing before the spin loop pauses (`pause`); about 2 us.
inline constexpr std::uint32_t eager_polls = 64;
/// Looks at a peer's ring by a thread that takes its message itself (engine::take_next) before it waits in the ordinary way; about 2 us.
inline constexpr std::uint32_t looks = 512;
/// Looks between two polls of that thread, so that its other peers are served.
inline constexpr std::uint32_t looks_between_polls = 64;
/// Polls that find nothing before the first yield; on a shared core (oversubscribed, or another program runs there) each poll takes the
/// core from the thread that would answer.
inline constexpr std::uint32_t spins = 4096;
inline constexpr std::uint32_t spins_shared = 2;
/// The same where threads of this process outnumber its cores: about 10 us, a few changes of threads. (2 ranks of 4 threads, a core each
/// rank, 16 KiB one way: 7.1 us with 16, 4.7 with 100, 3.6 with 256, 9.5 with 1000.)
inline constexpr std::uint32_t spins_crowded = 256;
/// There, yields of a thread that finds another one polling before it sleeps.
inline constexpr std::uint32_t yields_crowded = 1;
/// There, a thread that finds its messages whenever it looks goes on so long after it has woken another one, and then gives way: many
/// times what a change of threads costs.
inline constexpr std::chrono::nanoseconds turn = std::chrono::microseconds{50};
/// A thread that sleeps because another one polls looks after this time whether anybody still does, then after twice that, ... With several
/// such threads each looks accordingly less often.
inline constexpr std::chrono::nanoseconds berth_first = std::chrono::microseconds{50};
inline constexpr std::chrono::nanoseconds berth_last = std::chrono::milliseconds{1};
/// Yields before the first sleep. In an oversubscribed job one round of all ranks takes as many yields as there are ranks per core.
inline constexpr std::uint32_t yields = 256;
inline constexpr std::uint32_t yields_oversubscribed = 200;
/// With so many ranks per core, and messages by packets, a wait naps between its yields and its sleep. A yield gives the core to a thread
/// that has run less than others (EEVDF): so a rank that has worked waits until those that only yield have used as much. Who naps is not
/// counted. (8 ranks on 2 cores as 4 nodes, alltoall of 4 MiB: 169 ms without naps, 106 with; 64 ranks that meet: 0.3 to 2.6 s, 0.13 to
/// 0.33. 4 ranks on 2 cores are slower with naps, small messages of 8 ranks with fewer yields before them.)
inline constexpr std::uint32_t napping_ranks = 4;
/// Its yields, of all ranks of a core together; at least `least_yields` each.
inline constexpr std::uint32_t yields_before_naps = 400;
inline constexpr std::uint32_t least_yields = 4;
/// Its naps before it sleeps; how long one lasts, for each rank of the core.
inline constexpr std::uint32_t naps = 200;
inline constexpr std::chrono::nanoseconds nap_for_each = std::chrono::microseconds{10};
/// A yield that takes longer than this gave the core to another thread.
inline constexpr std::chrono::nanoseconds own_turn{1000};
/// So many yields in a row that do not, before the core counts as this thread's own again. One tells little: a rank that shares the core
/// sleeps now and then, and a spin that begins meanwhile keeps it from running for a millisecond. (4 ranks that did not know that they
/// shared 2 cores, barrier over packets: 302 us with 1, 31 with 32; mean of 8 jobs.)
inline constexpr std::uint32_t lone_yields = 32;
/// A yield that takes longer than this gave it to a program that computes. The next yield would, too: sleep instead, as a sleeper that is
/// woken preempts that program.
inline constexpr std::chrono::nanoseconds foreign_turn = std::chrono::microseconds{100};
/// A sleeping waiter that is not woken looks for deaths this often.
inline constexpr std::chrono::nanoseconds heartbeat = std::chrono::milliseconds{200};
/// A wait that lasts this long is reported (engine::on_long_wait).
inline constexpr std::chrono::nanoseconds long_wait = std::chrono::milliseconds{150};
/// Longest sleep while messages are queued for want of room: no peer tells when there is room.
inline constexpr std::chrono::nanoseconds room_nap = std::chrono::microseconds{100};
/// Polls between two publications of the counters, and idle polls between two looks for deaths; powers of two.
inline constexpr std::uint32_t polls_per_publication = 64;
inline constexpr std::uint32_t idle_polls_per_death_look = 256;
/// Spins between two readings of the clock in a wait with a timeout (a reading takes 25 ns); a power of two.
inline constexpr std::uint32_t spins_per_clock = 128;

// Packets.

/// Polls of shared memory for each poll of a socket that found nothing: 8 take about as long as one system call. After a yield, which is
/// one, too, the next poll asks the socket.
inline constexpr std::uint32_t polls_per_packet_poll = 8;

// Deaths.

/// What a dead peer published is handled before it is buried: at most so many polls of so many messages each, as its neighbours may never
/// fall silent.
inline constexpr int burial_rounds = 4096;
inline constexpr int burial_budget = 256;

// The copy engine (onloading.hpp).

/// Blocks from this size on are left to the helper, where the receiver goes on meanwhile; below it the wake-up costs more than the copy.
inline constexpr std::size_t onload_least = std::size_t{128} << 10;
/// So long the helper looks for messages without a pause, on a core of its own, after it was told that a large transfer has begun or when
/// something has come.
inline constexpr std::chrono::nanoseconds attention = std::chrono::milliseconds{2};
/// On a core that it shares: looks before it sleeps where senders wake it.
inline constexpr std::uint32_t attentive_polls = 256;
/// Pauses (about 40 ns each) of the helper, on a core of its own, before it tries again to take the token that another thread holds; and
/// for the thread that asked it for the token, to take that.
inline constexpr int token_pauses = 32;
inline constexpr int step_aside_pauses = 64;
/// How long a thread that looks for messages once waits for the token: a round of polling takes some microseconds, more where the other
/// thread has no processor.
inline constexpr std::chrono::nanoseconds take_over_patience = std::chrono::milliseconds{10};

// The watchdog (watchdog.hpp).

/// A wait is reported after this long, where TOWLINE_WATCHDOG says nothing else: longer than a phase of computing in most programs.
inline constexpr std::chrono::seconds watchdog{60};
/// The use of processors is measured over at least this long. The process computes if it had more than a fraction of a processor, or was
/// interrupted more than once: where processors are oversubscribed a thread gets next to nothing, and is interrupted all the time.
inline constexpr std::chrono::nanoseconds use_measured = std::chrono::seconds{1};
inline constexpr std::int64_t busy_fraction = 20;
inline constexpr std::int64_t interrupted_seldom = 1;
/// What other nodes answered counts for so long (a wait is looked at every 200 ms); an answer is awaited for so long before they are asked
/// again.
inline constexpr std::chrono::nanoseconds answer_holds = std::chrono::seconds{2};
inline constexpr std::chrono::nanoseconds answer_awaited = std::chrono::seconds{5};
/// The status with which the watchdog ends a job, as timeout(1) does.
inline constexpr int watchdog_status = 124;

// The background thread (background.hpp).

inline constexpr std::chrono::nanoseconds watch_first = std::chrono::microseconds{50};
inline constexpr std::chrono::nanoseconds watch_last = std::chrono::milliseconds{1};
inline constexpr std::chrono::nanoseconds watch_last_oversubscribed = std::chrono::milliseconds{8};
/// Polls that find nothing before the background thread sleeps: it shares its core with the program.
inline constexpr std::uint32_t background_spins = 64;
inline constexpr std::uint32_t background_yields = 8;

} // namespace towline::engine::thresholds
