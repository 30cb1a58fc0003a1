#pragma once
// Outstanding calls: a slab of slots. On the wire a slot has a number and a generation that changes with every use, so that a late,
// repeated or made-up reply matches nothing.

#include "engine/accounting.hpp"

#include <towline/detail/runtime_api.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

namespace towline::remoting {

using detail::action_entry;
using detail::complete_function;
using detail::state_base;

struct call_id {
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;  ///< odd while in use; 0: no reply wanted
};

/// The content of a slot. It owns the producer's reference to the state.
struct pending_call {
    state_base* state = nullptr;
    complete_function complete = nullptr;
    action_entry const* action = nullptr;
};

/// Thread-safe. Each of the first 31 threads keeps some free slots for itself; taking is one compare-and-swap.
class call_table {
public:
    static constexpr std::uint32_t chunk_slots = 1024, max_chunks = 4096;

    call_table();
    ~call_table();

    /// Throws limit_error when 4 million calls are outstanding.
    call_id acquire(pending_call const&, std::uint32_t peer);
    /// Frees the slot and returns its content, if the id is valid for that peer and was not taken before. The call is outstanding until
    /// `ended`.
    std::optional<pending_call> take(call_id, std::uint32_t peer) noexcept;
    /// A call whose reply has not arrived.
    struct outstanding_call {
        call_id id;
        std::uint32_t peer = 0;
    };
    /// The call that completes this state, of which the caller holds a reference; none if it was taken, or if the state belongs to no call.
    [[nodiscard]] std::optional<outstanding_call> find(state_base const&) noexcept;
    /// Called after a taken call is completed, and after its waiters have run or are queued as tasks.
    void ended() noexcept
    {
        unsigned const n = engine::thread_shard();
        engine::add_to_shard(n, corners_[n].ended, 1);
    }
    /// Takes every call to the peer and ends it.
    template <class F>
    void take_all(std::uint32_t peer, F&& each)
    {
        for (std::uint32_t c = 0, n = chunks_made_.load(std::memory_order_acquire); c < n; ++c)
            for (std::uint32_t i = 0; i < chunk_slots; ++i) {
                slot& s = chunks_[c].load(std::memory_order_acquire)->slots[i];
                call_id const id{c * chunk_slots + i, s.generation.load(std::memory_order_acquire)};
                if ((id.generation & 1) != 0 && (peer == any_peer || s.peer.load(std::memory_order_relaxed) == peer))
                    if (auto call = take(id, s.peer.load(std::memory_order_relaxed))) {
                        each(*call);
                        ended();
                    }
            }
    }
    static constexpr std::uint32_t any_peer = ~std::uint32_t{0};
    /// Calls each(state, action, peer) for calls in flight, without a lock; of very many it skips some. The state may be destroyed: only
    /// compare its address.
    template <class F>
    void look(F&& each) const
    {
        for (std::uint32_t c = 0, n = std::min(chunks_made_.load(std::memory_order_acquire), 64u); c < n; ++c)
            for (slot const& s : chunks_[c].load(std::memory_order_acquire)->slots) {
                std::uint32_t const before = s.generation.load(std::memory_order_acquire);
                state_base const* const state = s.state.load(std::memory_order_relaxed);
                action_entry const* const action = s.action.load(std::memory_order_relaxed);
                std::uint32_t const peer = s.peer.load(std::memory_order_relaxed);
                std::atomic_thread_fence(std::memory_order_acquire);
                if ((before & 1) != 0 && s.generation.load(std::memory_order_relaxed) == before)
                    each(state, action, peer);
            }
    }
    /// Calls that have ended so far.
    [[nodiscard]] std::uint64_t answered() const noexcept
    {
        std::uint64_t n = 0;
        for (corner const& c : corners_)
            n += c.ended.load(std::memory_order_relaxed);
        return n;
    }
    /// 0 only if at some moment no call was outstanding.
    [[nodiscard]] std::uint64_t outstanding() const noexcept
    {
        std::uint64_t ended = 0, begun = 0;
        for (corner const& c : corners_)
            ended += c.ended.load(std::memory_order_acquire);
        for (corner const& c : corners_)
            begun += c.begun.load(std::memory_order_acquire);
        return begun - ended;
    }

private:
    struct slot {
        std::atomic<std::uint32_t> generation{0};
        std::atomic<std::uint32_t> peer{0};
        std::atomic<std::uint32_t> next_free{0};
        // Written by the thread that acquires the slot. Read by the thread that frees it, and at any time by `look` and `find`.
        std::atomic<state_base*> state{nullptr};
        std::atomic<complete_function> complete{nullptr};
        std::atomic<action_entry const*> action{nullptr};
    };
    struct chunk {
        std::array<slot, chunk_slots> slots;
    };
    /// One thread's part of the table. All threads beyond the first 31 share the last corner, which keeps no slots.
    struct alignas(64) corner {
        std::atomic<std::uint64_t> begun{0};
        std::atomic<std::uint64_t> ended{0};
        std::uint32_t kept = 0;
        std::array<std::uint32_t, 75> free;  ///< `kept` of them; six cache lines with the rest
    };
    slot& at(std::uint32_t i) noexcept { return chunks_[i / chunk_slots].load(std::memory_order_acquire)->slots[i % chunk_slots]; }
    std::uint32_t pop();
    void push(std::uint32_t first, std::uint32_t last) noexcept;
    void grow();

    std::atomic<std::uint64_t> free_;  ///< number of a slot + 1, and in the upper half a count against ABA
    std::array<corner, engine::shards> corners_{};
    std::atomic<std::uint32_t> chunks_made_{0};
    std::mutex growing_;
    std::unique_ptr<std::atomic<chunk*>[]> chunks_;
};

} // namespace towline::remoting
