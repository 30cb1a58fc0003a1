#pragma once
// A message that its sender copies into a block of its own arena while its receiver copies out of it: two copies, but at the same time, and
// no cache line of the sender's buffer moves to the other core and back. Between cores that share no cache this is up to twice as fast as
// reading data in place that the sender rewrites for each message (64 KiB, raw ping-pong 144 ns: 7.65 and 13.6 us; 260 ns, with
// non-temporal stores: 4.7 and 11.9), and the send ends with the sender's copy.
//
// The sender has up to eight blocks for each peer, two for large messages, and uses one again when the receiver has freed it. It announces
// the message when the first piece is there, and each later piece in `filled`. A receiver that has begun waits for the next piece until it
// is there or the sender has ended: a sender that is stopped in the middle of its copy (SIGSTOP) holds it.
//
// No lock. One thread at a time uses the path to a peer: the one that has set `busy`; another one sends in a different way.

#include "base/coldness.hpp"
#include "base/sparse_array.hpp"
#include "layout/stream.hpp"
#include "matching/laid.hpp"
#include "matching/sends.hpp"
#include "matching/ways.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace towline::matching {

/// The head of a block; the bytes follow.
struct relay_block {
    /// Number of the use << 32 | bytes that are there. Written by the sender, with release after the bytes.
    std::atomic<std::uint64_t> filled{0};
    /// The number of the last use that the receiver is done with. Written by the receiver.
    alignas(64) std::atomic<std::uint32_t> freed{0};

    [[nodiscard]] static constexpr std::uint64_t word(std::uint32_t number, std::uint64_t bytes) noexcept
    {
        return std::uint64_t{number} << 32 | bytes;
    }
    /// The bytes that are there of the use of that number; 0 if the block has another use.
    [[nodiscard]] std::uint64_t bytes_there(std::uint32_t number) const noexcept
    {
        std::uint64_t const w = filled.load(std::memory_order_acquire);
        return w >> 32 == number ? w & 0xffffffff : 0;
    }
};
static_assert(sizeof(relay_block) == 128);

/// What a sender has for one peer.
struct relay_path {
    struct place {
        relay_block* block = nullptr;
        std::uint64_t where = 0;  ///< as engine::share tells it
        std::uint64_t room = 0;   ///< bytes
        std::uint32_t number = 0; ///< of the last use
        [[nodiscard]] bool is_free() const noexcept { return number == 0 || block->freed.load(std::memory_order_acquire) == number; }
    };
    std::array<place, 8> places;
    unsigned next = 0;  ///< 0 or 1: the first two blocks alternate, and suffice while messages come one at a time
    std::atomic<bool> busy{false};
    /// False: somebody sends on it. An exchange waits until all earlier stores have left for the cache, those of the last message, too.
    [[nodiscard]] bool take(bool threaded) noexcept
    {
        if (threaded)
            return !busy.exchange(true, std::memory_order_acquire);
        bool const was_busy = busy.load(std::memory_order_relaxed);
        busy.store(true, std::memory_order_relaxed);
        return !was_busy;
    }
    /// The last message has not been taken yet. (Reads a line that its receiver may be writing.)
    [[nodiscard]] bool is_under_way() const noexcept { return !places[next ^ 1].is_free(); }
    way_table ways;
    laid_way_table laid_ways;
};

/// What a receiver is told of a relayed message.
struct relayed {
    std::uint64_t where = 0;
    std::uint64_t bytes = 0;
    std::uint64_t ready = 0;   ///< bytes that are there in any case
    std::uint32_t number = 0;  ///< of the use of the block
    bool past_caches = false;  ///< the sender stores past the caches
};

class relays {
public:
    relays(common&, sends const&);
    /// Frees the blocks that their receivers have freed. The others stay: a receiver may take its message after this end.
    ~relays();

    // The sender.

    [[nodiscard]] static bool may_relay(std::uint64_t bytes, send_mode mode, std::uint64_t most = thresholds::relay_most) noexcept
    {
        return bytes >= thresholds::relay_least && bytes <= most && mode == send_mode::standard;
    }
    /// Relays the message if that is its way now. The send has ended then. False: nothing happened.
    [[nodiscard]] bool relay(peer to, packed_envelope, void const* data, std::uint64_t bytes) noexcept;
    /// The same of data with gaps. `may_be_read`: the receiver can copy them from where they are.
    [[nodiscard]] bool relay_laid(peer to, packed_envelope, laid_source const&, bool may_be_read) noexcept;

    // The receiver.

    /// Reads the head of a relayed message; false: it is none.
    [[nodiscard]] bool read(peer from, std::span<std::byte const> head, envelope&, relayed&) const noexcept;
    /// Copies the message out of its block, and frees the block. Waits while the sender is in the middle of copying it in.
    void take(sink const&, envelope const&, peer from, relayed const&, status&) noexcept;
    /// Frees the block of a message that no receive takes.
    void drop(relayed const&) noexcept;

private:
    struct leave {
        void operator()(relay_path* p) const noexcept { p->busy.store(false, std::memory_order_release); }
    };
    using held_path = std::unique_ptr<relay_path, leave>;
    /// The path, which is busy from now on; null: it is already, or nothing is relayed to that peer now.
    [[nodiscard]] held_path take_path(peer) noexcept;
    [[nodiscard]] relay_path* make_path(peer) noexcept;
    struct choice {
        send_way way;
        job::message_kind kind;  ///< why: what was chosen for
    };
    [[nodiscard]] choice way_of(relay_path&, peer to, void const* data, std::uint64_t bytes) noexcept;
    [[nodiscard]] choice way_of_large(relay_path&, peer to, void const* data, std::uint64_t bytes) noexcept;
    [[nodiscard]] choice way_of_laid(relay_path&, peer to, laid_source const&, layout::stream const&, bool may_be_read) noexcept;
    [[nodiscard]] send_way decide(way_contest&, unsigned ways, peer to, std::uint64_t bytes, job::message_kind) noexcept;
    /// Counts the message. Returns `is_relayed`.
    bool count(choice, bool is_relayed, std::uint64_t bytes) noexcept;
    [[nodiscard]] bool has_room(relay_path::place&, peer to, std::uint64_t bytes) noexcept;
    /// put(to, at, n) copies bytes [at, at + n) of the message. `past`: with stores past the caches.
    template <class Put>
    [[nodiscard]] bool pass_on(relay_path&, peer to, packed_envelope, std::uint64_t bytes, bool past, Put const& put) noexcept;
    [[nodiscard]] relay_block* block_of(relayed const&) const;
    [[nodiscard]] std::uint64_t wait_for_more(relay_block const&, relayed const&, peer from, std::uint64_t so_far) const noexcept;

    common& common_;
    sends const& sends_;
    job::way_board* const board_;  ///< null: nobody looks
    base::sparse_array<std::atomic<relay_path*>> paths_;  ///< by peer; null: none so far
    std::atomic<std::uint64_t> bytes_{0};                ///< of all blocks
    base::recent_blocks sent_{thresholds::relay_remembers};
};

} // namespace towline::matching
