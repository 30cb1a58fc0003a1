#pragma once
// The counters of this process, as `towline run --stats` prints them.

#include <towline/detail/language.hpp>

#include <cstdint>

namespace towline {

/// Totals since the process joined, in bytes unless noted. Subtract two to measure an interval. `towline run --stats` and its JSON use the
/// same names; docs/stats.md describes each.
struct statistics {
    std::uint64_t calls_sent = 0;         ///< remote calls and posts that this rank started (number)
    std::uint64_t calls_handled = 0;      ///< calls that it ran, for others or for itself (number)
    std::uint64_t messages_sent = 0;      ///< (number)
    std::uint64_t bytes_inline = 0;       ///< inside messages
    std::uint64_t bytes_handed_over = 0;  ///< in blocks that changed owner: not copied
    std::uint64_t bytes_copied_once = 0;
    std::uint64_t bytes_copied_twice = 0;
    std::uint64_t bytes_wire = 0;         ///< over a network
    std::uint64_t handed_over = 0;        ///< blocks of bytes_handed_over (number); and so on
    std::uint64_t copied_once = 0;
    std::uint64_t copied_twice = 0;
    std::uint64_t wire = 0;
    std::uint64_t bytes_cma = 0;          ///< of bytes_copied_once: by cross-memory attach
    std::uint64_t bytes_staged = 0;       ///< of both: through a block of shared memory of the sender
    std::uint64_t bytes_mapped = 0;       ///< of bytes_copied_once: read from the sender's shared memory
    std::uint64_t sleeps = 0;             ///< waits that released their core (number)
    std::uint64_t bytes_cooperated = 0;   ///< of bytes_mapped: copied by the sender, while the receiver copied the rest
    std::uint64_t bytes_xpmem = 0;        ///< of bytes_copied_once: read from the sender's memory, attached by XPMEM
    std::uint64_t bytes_onloaded = 0;     ///< of both: by a helper thread (TOWLINE_ONLOAD)

    // Collective operations of teams and of MPI over lanes. The counts of a living team may be up to 63 operations late.
    std::uint64_t collectives_shared = 0; ///< (number)
    std::uint64_t bytes_offered = 0;      ///< copied to memory where the other ranks read them
    std::uint64_t bytes_in_place = 0;     ///< read from and written to buffers of other ranks directly

    std::uint64_t bytes_pushed = 0;       ///< of bytes_copied_twice: pushed by the sender while the receiver copied the rest
    std::uint64_t bytes_relayed = 0;      ///< of bytes_copied_twice: copied into shared memory by the sender while the receiver copied out
    std::uint64_t bytes_pulled = 0;       ///< of bytes_copied_twice and bytes_wire: in pieces that the receiver asked for
    std::uint64_t messages_queued = 0;    ///< found no room at the peer, and waited in this process (number)
    std::uint64_t messages_cut = 0;       ///< of messages_sent: larger than a message of the transport (number)
    std::uint64_t bytes_laid = 0;         ///< of bytes_mapped: data of a derived datatype, copied from layout to layout
    std::uint64_t packets_sent = 0;       ///< packets to ranks of other nodes, those sent again and acknowledgements included
    std::uint64_t packets_resent = 0;     ///< of packets_sent: sent again, because the network had lost them
    std::uint64_t packets_received = 0;   ///< packets that came from the network

    /// The difference of all counters since `before`.
    [[nodiscard]] statistics since(statistics const& before) const noexcept;
};

/// This process's totals. Any thread; counts of other running threads may lag. Needs no world (zeros before the first), but joins the job,
/// and throws what joining throws.
[[nodiscard]] statistics stats();

} // namespace towline
