#pragma once
// The engine: its parts, and what takes several of them. Each part's header says what it owns, which thread may touch it, and which lock
// guards what. No handler and no completion runs while one of the locks is held.
//
//   common       setup, peers, counters, the count of work that waits for the poller
//   poller       the token, one round of polling, waits                              (common's heir, and the base of this)
//   sender       messages to a peer, in order; queues of what found no room
//   outbox       messages whose end the sender waits for
//   arrivals     messages to the program's handlers
//   fetching     blocks that come in pieces, or by the transport
//   cooperation  blocks that both sides copy
//   pushing      plain memory that its sender pushes
//   attachments  plain memory that this process reads
//   background   the thread that polls when no other does
//   onloading    the thread that copies, too

#include "engine/arrivals.hpp"
#include "engine/attachments.hpp"
#include "engine/background.hpp"
#include "engine/cooperation.hpp"
#include "engine/fetching.hpp"
#include "engine/onloading.hpp"
#include "engine/outbox.hpp"
#include "engine/packet_watch.hpp"
#include "engine/poller.hpp"
#include "engine/pushing.hpp"
#include "engine/sender.hpp"

namespace towline::engine {

struct engine::impl final : poller {
    impl(engine& self, setup&& s);
    ~impl() override;

    sender out{*this};
    outbox pending{*this};
    arrivals in{*this, out};
    fetching fetches{*this, out, pending};
    cooperation tasks{*this, out, pending};
    pushing windows{*this, out, pending};
    attachments attached{*this, windows};
    background behind{*this};
    std::unique_ptr<packet_watch> packets_owned;
    onloading helpers{*this, behind, attached, tasks, fetches};

    // Sending (send.cpp).

    /// The shortest way: try_send_tiny, and try_send_small of up to 255 bytes. The peer and the handler are possible.
    [[nodiscard]] bool send_tiny(peer to, tiny, std::byte const* first, std::byte const* second);
    void send(outgoing const&);

    // What is seldom due in a poll (duties.cpp).

    void look_for_deaths(bool all = false) override;
    void (*death_function)(void*, peer) = nullptr;
    void* death_context = nullptr;

    // The end (engine.cpp).

    void close() noexcept;
    /// Takes the transports down and ends what only they could have ended. Closed before; not in a child.
    void end();

private:
    using when_busy = sender::when_busy;
    /// Sends one message; with when_busy::progress makes progress until there is room. False: the peer is gone.
    [[nodiscard]] bool post(peer to, peer_state&, transport::handler_id, std::span<std::byte const> head, std::span<std::byte const> body,
                            when_busy);
    /// The same for a message of several parts that is larger than one of the transport: cuts it into fragments.
    [[nodiscard]] bool post_stream(peer to, peer_state&, std::span<std::span<std::byte const> const> parts, std::uint64_t total, when_busy);
    std::atomic<std::uint64_t> next_stream_{1};

    int do_work() override;
    int end_copies() override { return helpers.end_copies(); }
    void waiter_left() noexcept override { behind.unpark(); }
    void bury(peer);
};

} // namespace towline::engine
