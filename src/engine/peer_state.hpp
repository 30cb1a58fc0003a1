#pragma once
// A peer as this rank's sender sees it: the transport that reaches it, a word of flags that the fast path looks at, and a queue. All zeros:
// nothing was ever sent to it. Most peers of a big job stay so, and take no memory (base::sparse_array).

#include "transport/transport.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace towline::engine {

/// Messages that found no room at a peer, in order.
struct peer_queue {
    struct waiting_message {
        transport::handler_id kind;
        std::vector<std::byte> payload;
    };
    std::mutex mutex;  ///< of all here, and of the flags `queued` and `dead` of the peer
    std::deque<waiting_message> messages;
    std::size_t bytes = 0;
};

struct alignas(64) peer_state {
    // The fast path is open while `open` is set, and no other bit.
    static constexpr std::uint32_t open = 1;    ///< a transport is chosen
    static constexpr std::uint32_t queued = 2;  ///< a message waits in the queue: everything goes behind it
    static constexpr std::uint32_t dead = 4;
    static constexpr std::uint32_t closed = 8;  ///< the engine is closed, or this is a forked child

    std::atomic<std::uint32_t> flags{0};
    std::uint32_t max_eager = 0;   ///< this and the next four are set before `open` is
    transport::component* via = nullptr;
    std::uint8_t max_inline = 0;
    bool maps = false;   ///< copies of the transport's capabilities
    bool gets = false;

    std::atomic<peer_queue*> queue{nullptr};  ///< made when it is needed first; owned

    // The peer's process, whose memory process_vm_readv reads (attachments): a pid, or
    static constexpr std::int32_t unasked = 0;
    static constexpr std::int32_t no_process = -1;  ///< none that can be read
    std::atomic<std::int32_t> process{unasked};

    // Calls to push that the peer did not answer (pushing): how many fetches go without a call now, and after the next unanswered one.
    std::atomic<std::uint32_t> skip{0};
    std::atomic<std::uint32_t> absent{0};

    peer_state() = default;
    ~peer_state() { delete queue.load(std::memory_order_relaxed); }
    peer_state(peer_state const&) = delete;
    peer_state& operator=(peer_state const&) = delete;

    /// Any thread.
    [[nodiscard]] peer_queue& own_queue()
    {
        peer_queue* there = queue.load(std::memory_order_acquire);
        if (there != nullptr)
            return *there;
        auto made = std::make_unique<peer_queue>();
        if (queue.compare_exchange_strong(there, made.get(), std::memory_order_acq_rel, std::memory_order_acquire))
            return *made.release();
        return *there;
    }
};
static_assert(sizeof(peer_state) == 64);

} // namespace towline::engine
