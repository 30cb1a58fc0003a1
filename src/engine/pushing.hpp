#pragma once
// Plain memory that its sender pushes through a window of the receiver's arena (push_window.hpp).
//
// Owns, at the receiver, the table of its windows (mutex, held for a few stores); the windows themselves lie in the arena and are never
// freed, because a peer may look at one late. The poller alone touches, at the sender, the blocks that it pushes. Any thread fetches.

#include "engine/message_state.hpp"
#include "engine/outbox.hpp"
#include "engine/push_window.hpp"
#include "engine/sender.hpp"

#include "base/slot_table.hpp"

#include <deque>
#include <mutex>

namespace towline::engine {

class pushing {
public:
    pushing(common& c, sender& out, outbox& pending) : common_(c), out_(out), pending_(pending) {}
    void install(transport::component&);

    /// The receiver: calls the sender and copies what it pushes. Bytes of the block, from its first on, that came: all, none where the
    /// sender did not answer, or as many as came before it went away.
    [[nodiscard]] std::uint64_t receive_pushed(message_state&, std::size_t block, void* destination);

    /// The sender, the poller only: fills windows as far as they have room. How many of them moved.
    int serve();

private:
    /// A window, as its owner sees it.
    struct window_slot {
        push_window* window = nullptr;
        bool abandoned = false;  ///< closed on a sender at work: not free before that sender says that it is out
        peer from = 0;           ///< that sender
    };
    /// A block that this rank pushes.
    struct push {
        peer to;
        wire::push_message what;
        push_window* window;
        std::uint32_t next;  ///< piece
    };

    void on_push(peer source, std::span<std::byte const> payload);
    void on_pushed(peer source, std::span<std::byte const> payload);
    [[nodiscard]] bool may_be_pushed(message_state const&, block_state const&) const;
    /// Null where the arena is full.
    [[nodiscard]] window_slot* claim_window();
    void free_window(window_slot&);
    /// Waits for the sender to enter the window; false, and the window is closed, if it does not.
    [[nodiscard]] bool is_entered(push_window&, std::uint32_t number, peer_state&);
    [[nodiscard]] std::uint64_t copy_out(window_slot&, std::uint32_t number, peer from, std::uint64_t bytes, std::byte* to);
    /// Fills free places; true if nothing is left to do.
    [[nodiscard]] bool serve(push&);

    common& common_;
    sender& out_;
    outbox& pending_;
    part_mutex mutex_{common_};
    base::slot_table<window_slot> windows_;
    std::deque<push> pushes_;
};

} // namespace towline::engine
