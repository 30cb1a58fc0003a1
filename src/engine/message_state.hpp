#pragma once
// What stands behind an incoming message that is more than a head in the transport's memory: its blocks, what became of each, and the
// fetches that are under way. Built on the stack of the receiving poll; moved to the heap only if it is kept, or a fetch outlives the call.

#include "engine/accounting.hpp"
#include "engine/engine.hpp"
#include "engine/wire.hpp"

#include <array>
#include <atomic>
#include <memory>

namespace towline::engine {

struct block_state {
    std::uint64_t size = 0;
    wire::how how = wire::how::inside;
    bool taken = false;
    bool fetched = false;
    bool counted = false;
    void* data = nullptr;         ///< where the bytes are, if in reach; else the sender's pointer (attached)
    transport::region region{};   ///< exposed

    [[nodiscard]] bool owned() const noexcept
    {
        return how == wire::how::given || how == wire::how::staged || how == wire::how::given_here || how == wire::how::staged_here;
    }
    /// It lies where this rank may write, too. Not so inside a message, which is the transport's; a block lent to oneself may be read-only.
    [[nodiscard]] bool is_shared() const noexcept
    {
        return how == wire::how::given || how == wire::how::staged || how == wire::how::mapped;
    }
    [[nodiscard]] bool in_reach() const noexcept
    {
        return how != wire::how::attached && how != wire::how::exposed && how != wire::how::pulled;
    }
    /// Counts what became of a block that was in reach; once per block.
    void count(ledger&, bool copied) noexcept;
};

struct incoming::state {
    engine* owner = nullptr;
    peer source = 0;
    bool on_heap = false;
    bool kept = false;              ///< head and blocks inside the message were copied into `copy`
    std::uint64_t id_flags = 0;     ///< wants_released: tell the sender at the end
    std::uint32_t count = 0;
    block_state* blocks = nullptr;  ///< `few` or `many`
    std::array<block_state, 2> few;
    std::unique_ptr<block_state[]> many;
    std::unique_ptr<std::uint64_t[]> copy;  ///< of head and blocks inside, when kept

    /// Fetches under way, plus one for the incoming, or for when_ready. The thread that takes it to zero ends the state.
    std::atomic<std::uint32_t> running{1};
    std::atomic<bool> failed{false};
    void (*then)(void* context, bool ok, incoming& message) = nullptr;
    void* then_context = nullptr;
    std::byte const* head = nullptr;  ///< of the message given to when_ready
    std::size_t head_size = 0;

    void make_blocks(std::uint32_t n)
    {
        count = n;
        if (n <= few.size()) {
            blocks = few.data();
        } else {
            many = std::make_unique<block_state[]>(n);
            blocks = many.get();
        }
    }

    /// The same state on the heap; this one is empty afterwards.
    [[nodiscard]] state* promote();
    /// A fetch has ended; the state may be gone afterwards.
    void fetch_ended(bool ok)
    {
        if (!ok)
            failed.store(true, std::memory_order_relaxed);
        if (running.fetch_sub(1, std::memory_order_acq_rel) == 1)
            arrive(this);
    }
    /// After `running` went to zero: calls `then`, or ends the message.
    static void arrive(state*);
    /// Ends what a handler left of its message, and acknowledges it if the sender asked for that. `built`: the state on the poll's stack.
    static void handler_returned(incoming& message, state& built, std::uint64_t id_flags);
    /// Frees given blocks that were not taken, counts, tells the sender (adding `also`), and deletes a heap state.
    void finish(std::uint64_t also) noexcept;
};

using message_state = incoming::state;

} // namespace towline::engine
