// Numbers of threads, and publishing what the threads have counted.

#include "engine/accounting.hpp"

#include <mutex>

namespace towline::engine {
namespace {

std::mutex numbers_mutex;
std::uint32_t numbers_taken = 0;
std::atomic<unsigned> numbers_used{0};  // the highest ever given out + 1

struct number_holder {
    unsigned number = shared_shard;
    ~number_holder()
    {
        if (number == shared_shard)
            return;
        std::lock_guard lock(numbers_mutex);
        numbers_taken &= ~(std::uint32_t{1} << number);
        thread_shard_number = shared_shard + 1;  // whatever this thread still does is counted with locked adds
    }
};

} // namespace

constinit thread_local unsigned thread_shard_number [[gnu::tls_model("initial-exec")]] = 0;

unsigned thread_shard_slow() noexcept
{
    thread_local number_holder holder;
    std::lock_guard lock(numbers_mutex);
    for (unsigned n = 0; n < shared_shard; ++n) {
        if ((numbers_taken >> n & 1) == 0) {
            numbers_taken |= std::uint32_t{1} << n;
            holder.number = n;
            break;
        }
    }
    unsigned const used = holder.number + 1;
    if (numbers_used.load(std::memory_order_relaxed) < used)
        numbers_used.store(used, std::memory_order_relaxed);
    thread_shard_number = used;
    return holder.number;
}

void ledger::publish() noexcept
{
    std::lock_guard lock(publishing_);
    tell_active();
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t blocks = 0;
    std::uint64_t block_bytes = 0;
    unsigned const used = numbers_used.load(std::memory_order_relaxed);
    for (unsigned n = 0; n < used; ++n) {
        messages += shards_[n].messages.load(std::memory_order_relaxed);
        bytes += shards_[n].bytes.load(std::memory_order_relaxed);
        blocks += shards_[n].blocks.load(std::memory_order_relaxed);
        block_bytes += shards_[n].block_bytes.load(std::memory_order_relaxed);
    }
    // No other thread writes these two counters, so a plain add is lossless.
    auto advance = [this](job::counter c, std::uint64_t now, std::uint64_t& before) {
        auto const i = static_cast<std::size_t>(c);
        if (now != before && i < counters_.size())
            base::add(counters_[i], now - before, true);
        before = now;
    };
    advance(job::counter::messages_sent, messages, published_messages_);
    advance(job::counter::bytes_inline, bytes, published_bytes_);
    // These two others count as well: blocks that travelled with a message of their own.
    auto share = [this](job::counter c, std::uint64_t now, std::uint64_t& before) {
        if (now != before)
            add(c, now - before);
        before = now;
    };
    share(job::counter::handed_over, blocks, published_blocks_);
    share(job::counter::bytes_handed_over, block_bytes, published_block_bytes_);
}

} // namespace towline::engine
