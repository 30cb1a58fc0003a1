#pragma once
// Blocks that receiver and sender copy together (copy_task.hpp has the task that both share).
//
// Owns, at the receiver, the table of its tasks (mutex, held for a few stores); the tasks themselves lie in the arena and are never freed,
// because a peer may look at one late. The poller alone touches, at the sender, the blocks that it helps to copy. Any thread fetches.

#include "engine/copy_task.hpp"
#include "engine/message_state.hpp"
#include "engine/outbox.hpp"
#include "engine/sender.hpp"

#include "base/slot_table.hpp"

#include <deque>
#include <mutex>
#include <optional>
#include <span>

namespace towline::engine {

class cooperation {
public:
    cooperation(common& c, sender& out, outbox& pending) : common_(c), out_(out), pending_(pending) {}
    void install(transport::component&);

    // The receiver.

    /// The block may be copied by both sides: it is mapped and large enough, the destination lies in this rank's arena, and the sender has
    /// a core of its own.
    [[nodiscard]] bool may_cooperate(message_state const&, block_state const&, void const* destination) const noexcept;
    /// Copies a block of which `may_cooperate` holds. Null: all is there; else the state (on the heap now) of a fetch that ends later.
    [[nodiscard]] message_state* copy_together(message_state&, std::size_t block, void* destination);
    /// Ends the fetches that wait for what this peer (or any) has under way, once it is out of this process's memory.
    void end_tasks(std::optional<peer> from = {});

    // The sender; the poller only.

    /// Copies a portion of each block that a receiver asked for help with. How many blocks.
    int serve();

private:
    /// A task, as its owner sees it.
    struct task_slot {
        copy_task* task = nullptr;
        message_state* state = nullptr;  ///< a fetch that waits for what the sender has under way
        std::size_t block = 0;
        peer from = 0;
        std::uint32_t senders = 0;       ///< units
        std::uint64_t senders_bytes = 0;
    };
    /// A task in which the sender has units that it has not copied.
    struct task_wait {
        copy_task const* task;
        std::uint64_t number;
        peer from;
        std::uint32_t senders;
    };
    /// A block that this rank helps to copy.
    struct help {
        peer to;
        wire::help_message what;
        copy_task* task;
        std::byte* destination;
    };

    void on_help(peer source, std::span<std::byte const> payload);
    void on_helped(peer source, std::span<std::byte const> payload);
    /// Null where the arena is full.
    [[nodiscard]] task_slot* claim_task();
    void end_task(std::uint64_t number);
    /// Copies a portion; true if nothing is left to do.
    [[nodiscard]] bool serve(help const&);

    common& common_;
    sender& out_;
    outbox& pending_;
    part_mutex mutex_{common_};
    base::slot_table<task_slot> tasks_;
    std::span<copy_task> unused_tasks_;
    std::deque<help> helps_;
};

} // namespace towline::engine
