#pragma once
// The numbers by which the protocol works. Times are nanoseconds.

#include <cstddef>
#include <cstdint>
#include <optional>

namespace towline::transport::datagram {

struct config {
    bool sealed = false;   ///< encrypt and authenticate every packet
    bool summed = false;   ///< a checksum in every packet: for links that damage what they carry
    bool reliable = true;  ///< off: the link is reliable and ordered already; nothing is kept, acknowledged or sent again

    std::uint32_t most_in_flight = 1024;     ///< packets of one peer that are not acknowledged; a power of two, at most 2048
    std::uint32_t most_waiting = 96;         ///< packets of one peer that wait for room there, before `busy`
    std::uint32_t coalesce_from = 4;         ///< with so many packets in flight small messages wait for a poll, to share packets
    std::uint32_t first_level = 16;          ///< packets that a peer may send before it knows more
    std::uint32_t packet_threshold = 3;      ///< a packet is lost when one that was sent so much later has arrived (RFC 9002, 6.1.1)
    std::int64_t least_loss_delay = 200'000; ///< or when it is so old and one that was sent later has arrived (6.1.2)
    std::int64_t first_round_trip = 500'000; ///< believed before one was measured
    std::int64_t least_timeout = 1'000'000;  ///< part of the time-out that does not follow the measured round trips (6.2.1)
    std::int64_t most_timeout = 200'000'000; ///< however often nobody has answered
    std::int64_t ack_delay = 50'000;         ///< longest wait of an acknowledgement for company
    std::uint32_t small_acked_together = 8;  ///< packets, where they are not full
    std::int64_t hello_again = 2'000'000;    ///< first wait for a welcome; doubles
    std::int64_t patience = 60'000'000'000;  ///< without any answer: the link is lost
    std::int64_t silence = 1'000'000'000;    ///< of a peer, before it is asked for a sign of life by a thread that waits for long
    std::int64_t refusal_patience = 1'000'000'000; ///< of refusals without a packet: the peer's process has ended
    std::int64_t level_horizon = 5'000'000;  ///< as much as is drained in this time may wait at a receiver
    std::uint32_t idle_timeouts = 4;         ///< after so many time-outs of silence a peer's window is given back
    std::int64_t path_again = 100'000'000;   ///< between two questions by a path that carries nothing

    std::optional<std::uint32_t> first_number{};  ///< of each peer's packets, for tests; else random
};

} // namespace towline::transport::datagram
