// The lock-free slab of calls.

#include "remote/calls.hpp"

#include <towline/error.hpp>

namespace towline::remoting {

call_table::call_table() : free_(0), chunks_(std::make_unique<std::atomic<chunk*>[]>(max_chunks)) {}

call_table::~call_table()
{
    for (std::uint32_t c = 0; c < chunks_made_.load(); ++c)
        delete chunks_[c].load();
}

void call_table::grow()
{
    std::scoped_lock lock(growing_);
    if (static_cast<std::uint32_t>(free_.load(std::memory_order_acquire)) != 0)
        return;
    std::uint32_t const c = chunks_made_.load(std::memory_order_relaxed);
    if (c == max_chunks)
        throw limit_error("more than 4 million remote calls are waiting for their replies; get some results before calling on");
    auto* const fresh = new chunk;
    for (std::uint32_t i = 0; i + 1 < chunk_slots; ++i)
        fresh->slots[i].next_free.store(c * chunk_slots + i + 2, std::memory_order_relaxed);
    chunks_[c].store(fresh, std::memory_order_release);
    chunks_made_.store(c + 1, std::memory_order_release);
    push(c * chunk_slots, c * chunk_slots + chunk_slots - 1);
}

void call_table::push(std::uint32_t first, std::uint32_t last) noexcept
{
    std::uint64_t head = free_.load(std::memory_order_relaxed);
    std::uint64_t next = 0;
    do {
        at(last).next_free.store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
        next = ((head >> 32) + 1) << 32 | (first + 1);
    } while (!free_.compare_exchange_weak(head, next, std::memory_order_acq_rel, std::memory_order_relaxed));
}

std::uint32_t call_table::pop()
{
    std::uint64_t head = free_.load(std::memory_order_acquire);
    while (true) {
        auto const first = static_cast<std::uint32_t>(head);
        if (first == 0) {
            grow();
            head = free_.load(std::memory_order_acquire);
            continue;
        }
        std::uint64_t const next = ((head >> 32) + 1) << 32 | at(first - 1).next_free.load(std::memory_order_relaxed);
        if (free_.compare_exchange_weak(head, next, std::memory_order_acq_rel, std::memory_order_acquire))
            return first - 1;
    }
}

call_id call_table::acquire(pending_call const& call, std::uint32_t peer)
{
    unsigned const n = engine::thread_shard();
    corner& mine = corners_[n];
    std::uint32_t const i = mine.kept != 0 ? mine.free[--mine.kept] : pop();
    slot& s = at(i);
    s.state.store(call.state, std::memory_order_relaxed);
    s.complete.store(call.complete, std::memory_order_relaxed);
    s.action.store(call.action, std::memory_order_relaxed);
    s.peer.store(peer, std::memory_order_relaxed);
    std::uint32_t const generation = s.generation.load(std::memory_order_relaxed) + 1;
    engine::add_to_shard(n, mine.begun, 1);
    s.generation.store(generation, std::memory_order_release);
    return {i, generation};
}

std::optional<pending_call> call_table::take(call_id id, std::uint32_t peer) noexcept
{
    if ((id.generation & 1) == 0 || id.slot / chunk_slots >= chunks_made_.load(std::memory_order_acquire))
        return std::nullopt;
    slot& s = at(id.slot);
    std::uint32_t expected = id.generation;
    if (s.peer.load(std::memory_order_relaxed) != peer ||
        !s.generation.compare_exchange_strong(expected, id.generation + 1, std::memory_order_acq_rel, std::memory_order_relaxed))
        return std::nullopt;
    pending_call const call{s.state.load(std::memory_order_relaxed), s.complete.load(std::memory_order_relaxed),
                            s.action.load(std::memory_order_relaxed)};
    unsigned const n = engine::thread_shard();
    corner& mine = corners_[n];
    if (n != engine::shared_shard && mine.kept < mine.free.size())
        mine.free[mine.kept++] = id.slot;
    else
        push(id.slot, id.slot);
    return call;
}

std::optional<call_table::outstanding_call> call_table::find(state_base const& state) noexcept
{
    std::uint32_t const slot_after = state.call_slot();
    if (slot_after == 0 || (slot_after - 1) / chunk_slots >= chunks_made_.load(std::memory_order_acquire))
        return std::nullopt;
    slot& s = at(slot_after - 1);
    outstanding_call const found{{slot_after - 1, s.generation.load(std::memory_order_acquire)}, s.peer.load(std::memory_order_acquire)};
    bool const its = s.state.load(std::memory_order_acquire) == &state;
    if ((found.id.generation & 1) == 0 || !its || s.generation.load(std::memory_order_relaxed) != found.id.generation)
        return std::nullopt;
    return found;
}

} // namespace towline::remoting
