#pragma once
// The simulated transport: hundreds of peers in one process, for tests of everything above the transport interface.
//
// Time is counted in steps: each `poll` of any peer is one step, so a test with one thread is deterministic from its seed. A message is
// due a seeded number of steps after it was sent; messages of one pair of peers keep their order, those of different pairs overtake each
// other. Nothing is lost; nothing is mapped. From several threads at once everything works too (one lock), only not reproducibly.

#include "base/event_count.hpp"
#include "transport/transport.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace towline::transport::sim {

/// Properties of the network. Delays are steps, drawn uniformly from [min_delay, max_delay].
struct options {
    std::size_t max_inline = 56;     ///< as capabilities::max_inline
    std::size_t max_eager = 256;     ///< as capabilities::max_eager
    bool can_get = false;            ///< with `expose`, `get` and `put`
    std::uint32_t min_delay = 0;
    std::uint32_t max_delay = 16;
    std::uint32_t max_in_flight = 64; ///< messages of one pair of peers, and gets and puts of one peer, before `busy`
};

/// The wire between `size` peers. Make it first and end it last: it must outlive the components, which it does not own. Thread-safe.
class network {
public:
    network(std::uint64_t seed, std::uint32_t size, options = {});
    ~network();
    network(network const&) = delete;
    network& operator=(network const&) = delete;

    /// The component of one peer; one per peer, once (usage_error). With its end the peer has left: it is `unreachable`, but no death is
    /// counted. A peer may send to itself. Its `poll` throws usage_error from inside a handler or on two threads at once.
    [[nodiscard]] std::unique_ptr<component> make(peer rank);

    [[nodiscard]] std::uint32_t size() const noexcept;
    [[nodiscard]] std::uint64_t steps() const noexcept;
    /// Lets time pass without a poll.
    void advance(std::uint64_t steps) noexcept;

    /// The peer dies now: what it sent is still delivered, what is on its way to it is lost, it can do nothing any more (its sends are
    /// `unreachable`, its polls find nothing). To others it is `unreachable` immediately; `deaths` moves.
    void kill(peer rank);
    /// The peer dies at that step (see steps()), or now if it has passed.
    void kill_at(peer rank, std::uint64_t step);
    [[nodiscard]] bool is_dead(peer rank) const noexcept;
    /// For engine::setup: counts deaths; `dead` is the query, `context` the network.
    [[nodiscard]] std::atomic<std::uint32_t> const& deaths() const noexcept;
    static bool dead(void* context, peer rank) { return static_cast<network*>(context)->is_dead(rank); }

    /// Where threads of a peer may sleep (as `fence_side::notifier_fences`); notified when something was sent to the peer, and by deaths.
    /// A sleeper must look again after component::sleep_limit_ns, since time passes by polls only.
    [[nodiscard]] base::event_count& event(peer rank) noexcept;

    /// Messages, gets and puts on their way, of all peers.
    [[nodiscard]] std::size_t in_flight() const noexcept;

    struct state;

private:
    std::unique_ptr<state> state_;
};

} // namespace towline::transport::sim
