#pragma once
// What a job counts. This list is the only one: the indexes of a rank's counters, the names in `towline run --stats` and in its JSON, the
// fields of towline::statistics and the table of docs/stats.md all come from it or are checked against it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace towline::job {

// clang-format off
/// X(name, unit, meaning). The order is that of the counters in the job file: add at the end.
#define TOWLINE_COUNTERS(X)                                                                                                              \
    X(calls_sent,         number, "remote calls and posts that this rank began")                                                         \
    X(calls_handled,      number, "remote calls and posts that this rank ran, for others or for itself")                                 \
    X(messages_sent,      number, "messages of the engine: those of MPI and of remote calls, and what the library tells itself")         \
    X(bytes_inline,       bytes,  "inside messages: small data, copied in and out with them")                                            \
    X(bytes_handed_over,  bytes,  "in blocks that changed owner, or were looked at where the sender had given them: not copied")         \
    X(bytes_copied_once,  bytes,  "in blocks copied straight from the sender's memory to their destination")                             \
    X(bytes_copied_twice, bytes,  "in blocks copied into shared memory and out again")                                                   \
    X(bytes_wire,         bytes,  "in blocks sent over a network")                                                                       \
    X(handed_over,        blocks, "how many blocks bytes_handed_over lay in")                                                            \
    X(copied_once,        blocks, "how many blocks bytes_copied_once lay in")                                                            \
    X(copied_twice,       blocks, "how many blocks bytes_copied_twice lay in")                                                           \
    X(wire,               blocks, "how many blocks bytes_wire lay in")                                                                   \
    X(bytes_cma,          bytes,  "of bytes_copied_once: by cross-memory attach (process_vm_readv)")                                     \
    X(bytes_staged,       bytes,  "of bytes_copied_once and bytes_copied_twice: by way of a block of shared memory of the sender")       \
    X(bytes_mapped,       bytes,  "of bytes_copied_once: read where the sender keeps them in shared memory")                             \
    X(sleeps,             number, "waits that gave their core away")                                                                     \
    X(bytes_cooperated,   bytes,  "of bytes_mapped: copied by the sender, while the receiver copied the rest")                           \
    X(bytes_xpmem,        bytes,  "of bytes_copied_once: read from the sender's memory, attached by XPMEM")                              \
    X(bytes_onloaded,     bytes,  "of bytes_copied_once and bytes_copied_twice: by a helper thread (TOWLINE_ONLOAD)")                    \
    X(collectives_shared, number, "collective operations of MPI and of teams that went by load and store in shared memory")              \
    X(bytes_offered,      bytes,  "in those operations: copied to where the other ranks read them")                                      \
    X(bytes_in_place,     bytes,  "in those operations: read from and written to buffers of other ranks where they are")                 \
    X(bytes_pushed,       bytes,  "of bytes_copied_twice: pushed by the sender while the receiver copied the rest")                      \
    X(bytes_relayed,      bytes,  "of bytes_copied_twice: copied into shared memory by the sender while the receiver copied out")        \
    X(bytes_pulled,       bytes,  "of bytes_copied_twice and bytes_wire: in pieces that the receiver asked for")                         \
    X(messages_queued,    number, "of what was sent: found no room at the peer, and waited for it in this process")                      \
    X(messages_cut,       number, "of messages_sent: larger than a message of the transport, and sent in fragments")               \
    X(bytes_laid,         bytes,  "of bytes_mapped: data of a derived datatype, copied from layout to layout")                          \
    X(packets_sent,       number, "packets to ranks of other nodes, those sent again and acknowledgements included")                     \
    X(packets_resent,     number, "of packets_sent: sent again, because the network had lost them")                                      \
    X(packets_received,   number, "packets that came from the network")
// clang-format on

/// Indexes into rank_slot::counters. Written by the owning rank only (relaxed).
enum class counter : std::uint32_t {
#define TOWLINE_NAME(name, unit, meaning) name,
    TOWLINE_COUNTERS(TOWLINE_NAME)
#undef TOWLINE_NAME
    count_
};

struct counter_facts {
    std::string_view name, unit, meaning;
};
/// Indexed by counter.
inline constexpr std::array<counter_facts, static_cast<std::size_t>(counter::count_)> counter_table{{
#define TOWLINE_FACTS(name, unit, meaning) {#name, #unit, meaning},
    TOWLINE_COUNTERS(TOWLINE_FACTS)
#undef TOWLINE_FACTS
}};

} // namespace towline::job
