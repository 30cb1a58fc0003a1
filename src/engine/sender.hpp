#pragma once
// Brings encoded messages to a peer in order: straight into the transport, or behind what already waits for room.
//
// Owns the queues of messages that found no room (peer_queue), the list of peers that have one, and the list
// of peers that a transport called unreachable. Any thread posts; only the poller flushes.

#include "engine/common.hpp"

#include <mutex>
#include <span>
#include <vector>

namespace towline::engine {

class sender {
public:
    explicit sender(common& c) : common_(c) {}

    /// What a send does where the peer has no room.
    enum class when_busy {
        progress,  ///< the caller makes progress and tries again: a plain thread, whose memory stays bounded
        queue,     ///< the message is queued: inside handlers, for messages of the protocol, for sends that must not wait
    };
    enum class outcome { taken, busy, gone };
    /// Sends one message, or queues a copy of it; `busy`, with when_busy::progress only: neither. `gone`: the peer is dead, lost, or the
    /// engine closed.
    [[nodiscard]] outcome try_post(peer to, peer_state&, transport::handler_id, std::span<std::byte const> head,
                                   std::span<std::byte const> body, when_busy);
    /// A message of the protocol itself. Never waits; does nothing if the peer is gone.
    template <class T>
    void post_control(peer to, wire::kind kind, T const& value)
    {
        (void)try_post(to, common_.peers[to], kind, wire::bytes_of(value), {}, when_busy::queue);
    }

    /// Notes a peer that a transport cannot reach any more; the poller treats it as dead.
    void suspect(peer);

    // The poller only.

    /// Sends what is queued, as far as there is room.
    void flush_queues();
    /// What is queued for a peer that has died is dropped; marks the peer as dead in the same step, so that nothing is queued later.
    void bury_queue(peer);
    [[nodiscard]] std::vector<peer> take_suspects();

private:
    void enqueue(peer to, peer_state&, transport::handler_id, std::span<std::byte const> head, std::span<std::byte const> body);
    [[nodiscard]] bool flush(peer to, peer_state&);
    void left_queue(std::size_t messages) noexcept;

    common& common_;
    std::mutex mutex_;  ///< of the two lists; held for a push or a swap
    std::vector<peer> queued_peers_;
    std::vector<peer> suspects_;
};

} // namespace towline::engine
