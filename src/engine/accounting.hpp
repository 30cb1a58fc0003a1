#pragma once
// What the engine counts, and who counts it.
//
// The rule: each block is counted once per transfer in the job.
//   inside the message   the sender, when it sends; heads too                                   bytes_inline
//   every other block    the receiver, once it knows what became of it:
//     given              fetched: copied_once + bytes_mapped; taken, viewed or ignored: handed_over
//     staged             fetched: copied_twice + bytes_staged; otherwise copied_once + bytes_staged
//     mapped             fetched: copied_once + bytes_mapped (and bytes_cooperated: what of it the sender copied); looked at in place:
//                        nothing was moved, nothing is counted
//     attached           fetched: copied_once + bytes_xpmem or bytes_cma
//     exposed            fetched: wire
//     in pieces          fetched: wire, or copied_twice on a transport that maps (the bytes went through its rings); + bytes_pulled
//   nothing is counted for blocks that were not moved (ignored, lent) or whose peer died on the way.
// Heads and messages of the fast path, and blocks handed over inside heads, are counted per thread and published by the poller, so the
// job's counters are at most 64 polls behind; after `drain` they are exact.

#include "base/clock.hpp"
#include "base/counting.hpp"
#include "job/control.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

namespace towline::engine {

/// A small number of the calling thread, the same until it exits; given out again afterwards. `shared_shard` when there are too many
/// threads.
inline constexpr unsigned shards = 32;
inline constexpr unsigned shared_shard = shards - 1;
[[nodiscard]] unsigned thread_shard_slow() noexcept;
extern constinit thread_local unsigned thread_shard_number [[gnu::tls_model("initial-exec")]];  // 0: not yet asked
[[nodiscard]] inline unsigned thread_shard() noexcept
{
    unsigned const n = thread_shard_number;
    return n != 0 ? n - 1 : thread_shard_slow();
}

/// Adds to what only the threads of one shard write: no locked instruction for the first 31 threads.
inline void add_to_shard(unsigned number, std::atomic<std::uint64_t>& what, std::uint64_t amount) noexcept
{
    base::add(what, amount, number != shared_shard, std::memory_order_release);
}

class ledger {
public:
    /// `active_ns` (may be null) is told when the counts are published. `one_thread`: one thread at a time counts.
    void attach(std::span<std::atomic<std::uint64_t>> counters, std::atomic<std::int64_t>* active_ns = nullptr,
                bool one_thread = false) noexcept
    {
        counters_ = counters;
        active_ns_ = active_ns;
        one_thread_ = one_thread;
    }

    /// One message with `bytes` inside.
    void sent(std::uint64_t bytes) noexcept
    {
        unsigned const n = thread_shard();
        add_to_shard(n, shards_[n].messages, 1);
        add_to_shard(n, shards_[n].bytes, bytes);
    }
    /// One block of so many bytes that was handed over inside a head.
    void handed_over(std::uint64_t bytes) noexcept
    {
        unsigned const n = thread_shard();
        add_to_shard(n, shards_[n].blocks, 1);
        add_to_shard(n, shards_[n].block_bytes, bytes);
    }
    void add(job::counter c, std::uint64_t amount) noexcept
    {
        auto const i = static_cast<std::size_t>(c);
        if (i < counters_.size())
            base::add(counters_[i], amount, one_thread_);
    }
    void block(job::counter number, job::counter bytes, std::uint64_t size) noexcept
    {
        add(number, 1);
        add(bytes, size);
    }
    /// Writes what the threads counted into the job's counters.
    void publish() noexcept;
    void tell_active() noexcept
    {
        if (active_ns_ != nullptr)
            active_ns_->store(base::monotonic_ns(), std::memory_order_relaxed);
    }

private:
    struct alignas(64) shard {
        std::atomic<std::uint64_t> messages{0};
        std::atomic<std::uint64_t> bytes{0};
        std::atomic<std::uint64_t> blocks{0};
        std::atomic<std::uint64_t> block_bytes{0};
    };
    std::array<shard, shards> shards_{};
    std::mutex publishing_;
    std::uint64_t published_messages_ = 0;
    std::uint64_t published_bytes_ = 0;
    std::uint64_t published_blocks_ = 0;
    std::uint64_t published_block_bytes_ = 0;
    std::span<std::atomic<std::uint64_t>> counters_;
    std::atomic<std::int64_t>* active_ns_ = nullptr;
    bool one_thread_ = false;
};

} // namespace towline::engine
