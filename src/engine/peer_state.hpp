#pragma once
// A peer as this rank's sender sees it: the transport that reaches it, a word of flags that the fast path looks at, and a queue.

#include "transport/transport.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace towline::engine {

struct alignas(64) peer_state {
    // While a bit is set, the fast path is closed.
    static constexpr std::uint32_t unresolved = 1; ///< no transport chosen yet
    static constexpr std::uint32_t queued = 2;     ///< a message waits in `queue`: everything goes behind it
    static constexpr std::uint32_t dead = 4;
    static constexpr std::uint32_t closed = 8;     ///< the engine is closed, or this is a forked child

    std::atomic<std::uint32_t> flags{unresolved};
    std::uint32_t max_inline = 0;  ///< at most 255; this and the next four are set before `unresolved` is cleared
    std::uint32_t max_eager = 0;
    transport::component* via = nullptr;
    bool maps = false;   ///< copies of the transport's capabilities
    bool gets = false;

    struct waiting_message {
        transport::handler_id kind;
        std::vector<std::byte> payload;
    };
    std::mutex mutex;  ///< of the queue, and of changes to flags
    std::deque<waiting_message> queue;
    std::size_t queue_bytes = 0;

    // The peer's process, whose memory process_vm_readv reads (attachments): a pid, or
    static constexpr std::int32_t unasked = 0;
    static constexpr std::int32_t no_process = -1;  ///< none that can be read
    std::atomic<std::int32_t> process{unasked};

    // Calls to push that the peer did not answer (pushing): how many fetches go without a call now, and after the next unanswered one.
    std::atomic<std::uint32_t> skip{0};
    std::atomic<std::uint32_t> absent{0};
};

} // namespace towline::engine
