#pragma once
// A simulated network of datagrams, for tests: seeded loss, duplication, reordering, corruption, bursts and delays, with a clock that the
// test moves, or the real one. What waits at a receiver is bounded, as in a socket: more is dropped, and counted. Thread-safe.

#include "transport/datagram/component.hpp"
#include "transport/datagram/faults.hpp"
#include "transport/datagram/link.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace towline::transport::datagram::sim {

/// Time that passes when a test says so.
class manual_clock {
public:
    explicit manual_clock(std::int64_t begin = 1'000'000'000) : now_(begin) {}
    void pass(std::int64_t ns) noexcept { now_.fetch_add(ns, std::memory_order_relaxed); }
    [[nodiscard]] std::int64_t now() const noexcept { return now_.load(std::memory_order_relaxed); }
    [[nodiscard]] time_source source() noexcept
    {
        return {[](void* p) { return static_cast<manual_clock*>(p)->now(); }, this};
    }

private:
    std::atomic<std::int64_t> now_;
};

struct network_options {
    faults bad;                        ///< of every datagram
    std::size_t max_datagram = 1472;
    train_limits trains{44, 65000};
    std::size_t receive_room = 1000;   ///< datagrams that wait at a receiver
};

/// Outlives its links.
class network {
public:
    network(network_options const&, time_source);
    ~network();
    network(network const&) = delete;
    network& operator=(network const&) = delete;

    /// A new end of the network.
    [[nodiscard]] std::unique_ptr<link> make();
    /// Changes what happens to datagrams from now on.
    void set_faults(faults const&);
    /// A datagram that somebody writes by hand, to the link made as number `to` (from 0), from number `from`.
    void inject(std::uint32_t from, std::uint32_t to, std::span<std::byte const>);
    /// Nobody receives at link number `at` any more, and its host says so to whoever sends there.
    void refuse(std::uint32_t at);
    /// Sees every datagram, before anything happens to it; true: it is dropped.
    void set_tap(bool (*tap)(void* context, std::uint32_t from, std::uint32_t to, std::span<std::byte const>), void* context);
    /// Is told of every datagram that will arrive, with the number of the link that it goes to.
    void set_arrival(void (*arrival)(void* context, std::uint32_t to), void* context);
    /// Datagrams for which there was no room at a receiver.
    [[nodiscard]] std::uint64_t overruns() const;
    /// When the next datagram is due, -1: none is on its way.
    [[nodiscard]] std::int64_t next_due() const;

    struct state;

private:
    std::unique_ptr<state> state_;
};

} // namespace towline::transport::datagram::sim
