#pragma once
// One send or receive under way. The caller's object, or one of the matcher's pool; it may be used again as often as wanted, so that a
// persistent operation costs no more than an ordinary one.

#include "matching/envelope.hpp"
#include "matching/fifo_table.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace towline::matching {

class matcher;
struct core;
struct laid_sink;

/// Where the bytes of a message go: into `data`, or, if `unpack` is set, through that function, whole and once (truncated to `capacity`).
/// That function sees the bytes where they lie if they are in reach, else in a temporary.
struct sink {
    void* data = nullptr;  ///< may be null with capacity 0; with `unpack`: its context
    std::uint64_t capacity = 0;
    /// False: the bytes cannot be what was sent for this receive (outcome::unlike). Must not throw, wait, or keep the bytes. Runs on a
    /// thread that polls (long ones: between its polls), or inside the call that starts the receive.
    bool (*unpack)(void* context, std::span<std::byte const> bytes) = nullptr;
    /// With `unpack`: where that would put so many bytes, so that they can be copied there directly. False as from `unpack`. May be null.
    bool (*lay)(void* context, std::uint64_t bytes, laid_sink& where) = nullptr;

    /// Only with `unpack`.
    void take(std::span<std::byte const> bytes, status& result) const
    {
        if (!unpack(data, bytes) && result.error == outcome::ok) [[unlikely]]
            result.error = outcome::unlike;
    }
};

enum class operation : std::uint8_t { none, send, receive };

class request {
public:
    request() = default;
    request(request const&) = delete;
    request& operator=(request const&) = delete;

    /// Nothing is under way: never started, or ended. Any thread; no lock. True acquires the operation's effects. A request with a `then`
    /// may be used again or destroyed only after that was called.
    [[nodiscard]] bool done() const noexcept { return state_.load(std::memory_order_acquire) < state::pending; }
    /// How it ended. After `done()` only.
    [[nodiscard]] status const& result() const noexcept { return result_; }
    /// Its place in the order in which the matcher's operations ended, from 1 on; two that ended at the same time on two threads may share
    /// one. After `done()` only.
    [[nodiscard]] std::uint64_t place() const noexcept { return place_; }

    /// Called when the operation has ended, after `done()` is true, on a thread that polls or inside the call that starts it. Null: not
    /// wanted. May start operations and use this request again; must not wait or throw. Set before the start.
    void (*then)(request&) = nullptr;
    /// The owner's; the matcher never reads it.
    void* user = nullptr;

private:
    friend struct core;
    friend class deliveries;
    friend class matcher;
    friend struct posted_access;
    friend class requests;
    friend class sends;

    enum class state : std::uint8_t {
        idle,
        ended,
        detached,  ///< pending, and goes back to the pool at its end
        pending,
        awaited,   ///< pending, and the thread that has the berth in `waiter_` sleeps
    };

    std::atomic<state> state_{state::idle};
    std::atomic<engine::berth*> waiter_{nullptr};
    operation what_ = operation::none;
    bool posted_ = false;      ///< a receive that waits in the queue
    pattern pattern_;          ///< of a send: its envelope
    peer peer_ = no_peer;      ///< the other side, as far as known
    std::uint64_t sequence_ = 0;
    std::uint64_t place_ = 0;
    chain_link<request> link_; ///< in the queue, or in the pool
    sink sink_;
    void* behind_ = nullptr;   ///< the sending_slot or landing by which it will end
    status result_;
};

} // namespace towline::matching
