#pragma once
// Memory that all ranks of a team on one node can load and store. In a job that is the heap; in a test it may be the memory of one process.

#include "base/event_count.hpp"
#include "matching/envelope.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace towline::engine {
class engine;
}

namespace towline::collective {

/// Thread-safe. A block that it gave is used by one thread at a time.
class node_memory {
public:
    virtual ~node_memory() = default;

    /// Aligned to 64; null if there is none left.
    [[nodiscard]] virtual void* allocate(std::uint64_t bytes) noexcept = 0;
    /// Called by the last process that uses the block.
    virtual void deallocate(void*) noexcept = 0;
    /// The word by which a peer finds these bytes; 0: no peer can.
    [[nodiscard]] virtual std::uint64_t find(void const* data, std::uint64_t bytes) const noexcept = 0;
    /// The bytes that a peer found by that word. Throws error for an impossible word.
    [[nodiscard]] virtual std::byte* attach(std::uint64_t word, std::uint64_t bytes) = 0;
    /// The peer attaches what is found here, and this process what is found there.
    [[nodiscard]] virtual bool is_shared_with(matching::peer) noexcept = 0;
    /// The node on which the peer runs, by a number that is the same for every rank.
    [[nodiscard]] virtual std::uint64_t node_of(matching::peer) const noexcept { return 0; }
    /// The sleeper to notify after a store for which the peer may wait.
    [[nodiscard]] virtual base::sleeper sleeper(matching::peer) noexcept = 0;
    /// Which side fences where two ranks each store and then load what the other stored (base::light_fence).
    [[nodiscard]] virtual base::fence_side fences() const noexcept { return base::fence_side::notifier_fences; }
    /// It is small enough to run out in an operation; the same for all ranks, which then agree before they go on.
    [[nodiscard]] virtual bool is_tight() const noexcept { return false; }
    /// The peer is dead.
    [[nodiscard]] virtual bool is_gone(matching::peer) const noexcept = 0;
    /// How often threads of this process went to sleep in a wait.
    [[nodiscard]] virtual std::atomic<std::uint64_t> const& sleeps() const noexcept = 0;

    struct counts {
        std::uint64_t operations = 0;
        std::uint64_t posted = 0;  ///< bytes offered by copy
        std::uint64_t moved = 0;   ///< bytes read from or written to other ranks' buffers where they are
    };
    /// Adds what was done since the last call to the counters.
    virtual void note(counts const&) noexcept {}
};

/// The heap, and the engine's peers. A peer for which `has_left` returns true (null: none) counts as dead.
[[nodiscard]] std::unique_ptr<node_memory> heap_memory(engine::engine&, bool (*has_left)(void* context, matching::peer) = nullptr,
                                                       void* context = nullptr);

} // namespace towline::collective
